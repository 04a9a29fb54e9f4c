// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/keeper.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "analyzer/load/segments.h"
#include "analyzer/load/trace/callers.h"
#include "analyzer/match/alike_calls.h"
#include "analyzer/model/archive.h"
#include "analyzer/model/parallel.h"
#include "analyzer/mpi/messages.h"

namespace ringside::mpi {
namespace {

// One thread takes so many operations at a time.
constexpr std::size_t kPortion = 256;
// Sizes of files whose partials are in memory at one time.
constexpr std::uint64_t kTaken_bytes = std::uint64_t{64} << 20;

// What a file has beside what is needed to match operations whose rows are not there.
struct Rest {
  model::Operations operations;
  std::deque<model::ProxyOperation> proxies;
  std::deque<model::Step> steps;
  std::map<std::uint64_t, model::Mark> marks;
  std::map<std::int64_t, topology::Machine> machines;

  void swap_with(model::TraceFile& file, bool has_machines) {
    std::swap(operations, file.operations);
    std::swap(proxies, file.proxies);
    std::swap(steps, file.steps);
    std::swap(marks, file.marks);
    if (!has_machines) {
      std::swap(machines, file.machines);
    }
  }
};

}  // namespace

void Keeper::read(std::vector<std::uint64_t> numbers, std::vector<std::string> paths) {
  clear();
  numbers_ = std::move(numbers);
  paths_ = std::move(paths);
  loaded_ = load::load_each(paths_);
}

std::vector<load::KeptFile> Keeper::heads(bool has_machines) {
  std::vector<Rest> rests(loaded_.size());
  const auto swap_rests = [&] {
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      if (!loaded_[i].traces.files.empty()) {
        rests[i].swap_with(loaded_[i].traces.files.front(), has_machines);
      }
    }
  };
  swap_rests();
  std::vector<std::string> heads = load::encode_files(paths_, loaded_);
  swap_rests();
  std::vector<load::KeptFile> files(paths_.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].number = numbers_[i];
    files[i].head = std::move(heads[i]);
    files[i].elsewhere.calls.emplace();
  }
  load::join_segments(loaded_);
  std::vector<std::optional<std::vector<model::ContextCalls>>> calls(loaded_.size());
  for_each_on_cores(loaded_.size(), [&](std::size_t /*thread*/, std::size_t i) {
    model::Traces& traces = loaded_[i].traces;
    load::find_callers(traces);
    if (!traces.files.empty()) {
      calls[i] = match::sum_up_calls(traces.names, traces.files.front());
    }
  });
  std::vector<bool> is_known(paths_.size());
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    load::KeptFile& file = files[loaded_[i].file];
    const model::Traces& traces = loaded_[i].traces;
    // A partial may be of several traces.
    if (is_known[loaded_[i].file] || (!traces.files.empty() && !calls[i])) {
      file.elsewhere.calls.reset();
    }
    is_known[loaded_[i].file] = true;
    if (traces.files.empty()) {
      continue;
    }
    const model::Operations& operations = traces.files.front().operations;
    file.elsewhere.operations = operations.size();
    file.elsewhere.extent_ns = operations.extent_ns();
    file.elsewhere.steps = traces.files.front().steps.size();
    if (file.elsewhere.calls) {
      file.elsewhere.calls = std::move(calls[i]);
      for (model::NameId id = 0; id < traces.names.size(); ++id) {
        file.names.emplace_back(traces.names.text(id));
      }
    }
  }
  return files;
}

RowsOfFile Keeper::rows(const ContextsOfFile& wanted) const {
  const auto& [number, contexts] = wanted;
  RowsOfFile rows{number, {}, {}};
  for (const load::LoadedTrace& one : loaded_) {
    if (numbers_[one.file] != number || one.traces.files.empty()) {
      continue;
    }
    for (model::NameId id = 0; id < one.traces.names.size(); ++id) {
      rows.names.emplace_back(one.traces.names.text(id));
    }
    const model::Operations& operations = one.traces.files.front().operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (std::find(contexts.begin(), contexts.end(), operations.context(i)) != contexts.end()) {
        rows.operations.push_back(operations[i]);
      }
    }
  }
  return rows;
}

std::vector<load::ReadFile> Keeper::take_some(std::uint64_t& rows) {
  const bool is_joined = std::any_of(loaded_.begin(), loaded_.end(), [](const auto& one) {
    return !one.traces.files.empty() && one.traces.files.front().segments > 1;
  });
  if (is_joined) {
    loaded_ = load::load_each(paths_);  // partials are of files as they are
  }
  std::vector<std::vector<std::size_t>> loaded_of(paths_.size());  // by file
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    loaded_of[loaded_[i].file].push_back(i);
  }
  std::vector<load::LoadedTrace> some;
  some.reserve(loaded_.size());  // a vector that grows would copy them
  std::vector<std::string> paths;
  std::vector<load::ReadFile> taken;
  for (std::uint64_t bytes = 0; taken_ < paths_.size() && bytes < kTaken_bytes; ++taken_) {
    for (const std::size_t i : loaded_of[taken_]) {
      load::LoadedTrace one = std::move(loaded_[i]);
      if (!one.traces.files.empty()) {
        bytes += one.traces.files.front().size_bytes;
        rows += one.traces.files.front().operations.size();
      }
      one.file = paths.size();
      some.push_back(std::move(one));
      loaded_[i].traces = {};
    }
    taken.push_back({numbers_[taken_], {}});
    paths.push_back(paths_[taken_]);
  }
  std::vector<std::string> partials = load::encode_files(paths, some);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken[i].partial = std::move(partials[i]);
  }
  return taken;
}

void Keeper::give_rows(model::Traces& traces) {
  std::map<std::string_view, model::TraceFile*> files;
  for (model::TraceFile& file : traces.files) {
    files[file.path] = &file;
  }
  for (load::LoadedTrace& one : loaded_) {
    if (one.traces.files.empty()) {
      continue;
    }
    std::vector<model::NameId> names;
    for (model::NameId id = 0; id < one.traces.names.size(); ++id) {
      names.push_back(traces.names.find(one.traces.names.text(id)));
    }
    model::TraceFile& file = one.traces.files.front();
    model::TraceFile& given = *files.at(file.path);
    given.operations.append(std::move(file.operations), names);
    given.proxies = std::move(file.proxies);
    given.steps = std::move(file.steps);
    one.traces = {};
  }
  clear();
}

void Keeper::place(std::vector<KeptCommunicator> communicators) {
  communicators_ = std::move(communicators);
  std::map<std::uint64_t, std::size_t> loaded_of;  // by number of the file
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    loaded_of[numbers_[loaded_[i].file]] = i;
  }
  using Calls = std::map<std::pair<std::uint32_t, std::string_view>, std::vector<std::uint32_t>>;
  std::vector<Calls> calls(loaded_.size());
  errors_.resize(loaded_.size());
  for_each_on_cores(loaded_.size(), [&](std::size_t /*thread*/, std::size_t i) {
    const model::Traces& traces = loaded_[i].traces;
    if (!traces.files.empty()) {
      for (auto& [call, indices] : match::calls_by_number(traces.files.front().operations)) {
        calls[i][{call.first, traces.names.text(call.second)}] = std::move(indices);
      }
    }
  });
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    errors_[i] = align::StampErrors(loaded_[i].traces);
  }
  for (const KeptCommunicator& communicator : communicators_) {
    std::vector<Rows>& rows = rows_.emplace_back();
    for (const KeptCommunicator::Member& member : communicator.members) {
      Rows& own = rows.emplace_back();
      own.loaded = loaded_of.at(member.file);
      for (const std::string& function : communicator.functions) {
        own.by_function.push_back(std::move(calls[own.loaded].at({member.context, function})));
      }
    }
  }
}

std::vector<align::HostBounds> Keeper::bounds(const align::RangeElsewhere& range) const {
  const KeptCommunicator& communicator = communicators_[range.communicator];
  std::vector<align::HostBounds> made(range.count * communicator.hosts);
  const align::Waits waits = align::rule_of(communicator.functions[range.function])->waits;
  for_each_on_cores(range.count / kPortion + 1, [&](std::size_t /*thread*/, std::size_t portion) {
    const std::size_t begin = portion * kPortion;
    const std::size_t end = std::min<std::size_t>(begin + kPortion, range.count);
    for (std::size_t m = 0; m < communicator.members.size(); ++m) {
      const KeptCommunicator::Member& member = communicator.members[m];
      const Rows& rows = rows_[range.communicator][m];
      const model::Operations& operations = loaded_[rows.loaded].traces.files.front().operations;
      for (std::size_t i = begin; i < end; ++i) {
        const model::Execution one =
            operations.execution(rows.by_function[range.function][range.first + i]);
        if (one.bytes == 0U || (waits != align::Waits::kAllForAll && !one.root)) {
          continue;
        }
        made[i * communicator.hosts + member.host].take(
            align::times_of(member.since_zero_ns, errors_[rows.loaded].of(0, one), one), waits,
            one.root == member.rank);
      }
    }
  });
  return made;
}

std::vector<align::Chunk> Keeper::chunks(KeptSteps&& wanted, Messages& messages) const {
  for (std::size_t c = 0; c < communicators_.size(); ++c) {
    for (std::size_t m = 0; m < communicators_[c].members.size(); ++m) {
      const KeptCommunicator::Member& member = communicators_[c].members[m];
      const auto file = wanted.files.find(static_cast<std::uint32_t>(member.file));
      for (std::size_t f = 0; file != wanted.files.end() && f < wanted.before[c].size(); ++f) {
        const Rows& rows = rows_[c][m];
        const model::Operations& operations = loaded_[rows.loaded].traces.files.front().operations;
        const std::uint64_t before = wanted.before[c][f];
        const std::vector<std::uint32_t>& of_function = rows.by_function[f];
        for (std::uint64_t i = (wanted.stride - before % wanted.stride) % wanted.stride;
             i < of_function.size(); i += wanted.stride) {
          file->second.operations.push_back(
              {operations.id(of_function[i]), static_cast<std::uint32_t>(before + i), member.rank});
        }
      }
    }
  }
  std::vector<align::StepEnd> ends;
  for (const load::LoadedTrace& one : loaded_) {
    const auto file = wanted.files.find(static_cast<std::uint32_t>(numbers_[one.file]));
    if (file != wanted.files.end()) {
      align::add_ends(one.traces.files.front().steps, std::move(file->second), ends);
    }
  }
  const auto processes = static_cast<std::size_t>(messages.processes());
  std::vector<model::ArchiveWriter> writers(processes);
  for (align::StepEnd& end : ends) {
    writers[end.matched / wanted.stride % processes](end);
  }
  ends.clear();
  std::vector<std::string> texts;
  texts.reserve(processes);
  for (model::ArchiveWriter& writer : writers) {
    texts.push_back(writer.take());
  }
  for (const std::string& text : messages.exchange(std::move(texts))) {
    model::ArchiveReader reader(text);
    while (!reader.is_at_end()) {
      reader(ends.emplace_back());
    }
  }
  return align::join_ends(std::move(ends));
}

}  // namespace ringside::mpi
