// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/alike_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analyzer/match/calls/digest.h"
#include "analyzer/match/untrusted/untrusted.h"
#include "analyzer/model/parallel.h"

namespace ringside::match {
namespace {

// Names have other numbers in other files.
std::vector<Digest> digests_of(const model::NameTable& names) {
  std::vector<Digest> digests;
  for (model::NameId id = 0; id < names.size(); ++id) {
    Digest& digest = digests.emplace_back(Digest{1, 2});
    for (const char c : names.text(id)) {
      mix_in(static_cast<unsigned char>(c), digest);
    }
  }
  return digests;
}

struct MadeCall {
  std::uint32_t context = 0;
  std::int64_t call_ns = 0;
  std::uint64_t id = 0;
  std::uint32_t operation = 0;

  auto order() const { return std::tie(context, call_ns, id, operation); }
};

// The calls of each context in the order in which its rank made them.
std::vector<MadeCall> calls_in_order(const model::Operations& operations) {
  std::vector<MadeCall> calls(operations.size());
  for (std::uint32_t i = 0; i < calls.size(); ++i) {
    calls[i] = {operations.context(i), operations.call_ns(i), operations.id(i), i};
  }
  const auto comes_before = [](const MadeCall& a, const MadeCall& b) {
    return a.order() < b.order();
  };
  if (!std::is_sorted(calls.begin(), calls.end(), comes_before)) {
    std::sort(calls.begin(), calls.end(), comes_before);
  }
  return calls;
}

bool is_whole_trace(const model::TraceFile& file) {
  const model::Process& process = file.process;
  return process.tells_begin && process.tells_moment && process.tells_start &&
         process.segment == 1 && file.segments_missing == 0 && !file.next_segment &&
         file.doubtful.empty();
}

// A process that died may hang in a call that was not seen to run, and then all its calls are
// looked at one by one (metrics/last_calls.h).
bool has_unseen_calls(const model::TraceFile& file) {
  const model::Operations& operations = file.operations;
  for (std::uint32_t i = 0; file.recovered && i < operations.size(); ++i) {
    if (operations.execution(i).state == model::State::kEnqueued) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<model::ContextCalls>> sum_up_calls(const model::NameTable& names,
                                                             const model::TraceFile& file) {
  if (!is_whole_trace(file)) {
    return std::nullopt;
  }
  const model::Operations& operations = file.operations;
  const std::vector<Digest> digests = digests_of(names);
  struct OfFunction {
    std::uint64_t calls = 0;
    std::uint64_t last_number = 0;
  };
  std::vector<model::ContextCalls> all;
  std::map<model::NameId, OfFunction> functions;  // of the last context
  std::optional<std::uint64_t> last_group;        // likewise; nothing: none has one
  const auto end_context = [&] {
    for (const auto& [function, of_it] : functions) {
      all.back().functions.emplace_back(function, of_it.calls);
    }
    functions.clear();
    last_group.reset();
  };
  const bool is_looked_at = has_unseen_calls(file);
  for (const MadeCall& one : calls_in_order(operations)) {
    if (all.empty() || all.back().context != one.context) {
      end_context();
      all.emplace_back().context = one.context;
      mix_in(static_cast<std::uint64_t>(file.process.abi), all.back().digest);
    }
    const model::CallIdentity call = operations.call(one.operation);
    const model::Terms terms = operations.terms(one.operation);
    const std::string_view function = names.text(call.func);
    OfFunction& of_it = functions[call.func];
    // Numbers of groups differ from rank to rank, and calls of one group follow each other.
    const std::optional<std::uint64_t> group = operations.group(one.operation);
    if (is_looked_at || !call.seq || call.graph || terms.in_flight || function == "Send" ||
        function == "Recv" || (of_it.calls > 0 && *call.seq <= of_it.last_number) ||
        (group && group < last_group)) {
      all.back().has_digest = false;
    }
    ++of_it.calls;
    if (!all.back().has_digest) {
      continue;
    }
    of_it.last_number = *call.seq;
    const std::uint64_t is_in_group = !group ? 0 : group == last_group ? 1 : 2;
    last_group = group ? group : last_group;
    Digest& digest = all.back().digest;
    mix_in(digests[call.func][0], digest);
    mix_in(digests[terms.datatype][0], digest);
    mix_in(*call.seq, digest);
    mix_in(is_in_group, digest);
    mix_in(terms.count, digest);
    mix_in(terms.bytes, digest);
    mix_in(terms.root, digest);
  }
  end_context();
  const std::map<std::uint32_t, model::NameId> groups = operations.process_groups();
  for (model::ContextCalls& calls : all) {
    const auto group = groups.find(calls.context);
    calls.process_group = group != groups.end() ? group->second : model::kNoName;
  }
  return all;
}

std::map<std::pair<std::uint32_t, model::NameId>, std::vector<std::uint32_t>> calls_by_number(
    const model::Operations& operations) {
  std::map<std::pair<std::uint32_t, model::NameId>, std::vector<std::uint32_t>> calls;
  auto last = calls.end();  // it is often that of the next one, too
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const std::pair key(operations.context(i), operations.call(i).func);
    last = last != calls.end() && last->first == key ? last : calls.try_emplace(key).first;
    last->second.push_back(i);
  }
  for (auto& [key, indices] : calls) {
    const auto comes_before = [&](std::uint32_t a, std::uint32_t b) {
      return operations.call(a).seq < operations.call(b).seq;
    };
    if (!std::is_sorted(indices.begin(), indices.end(), comes_before)) {
      std::sort(indices.begin(), indices.end(), comes_before);
    }
  }
  return calls;
}

std::uint64_t AlikeCalls::operations(std::uint32_t communicator) const {
  std::uint64_t all = 0;
  for (const auto& [function, calls] : functions[communicator]) {
    all += calls;
  }
  return all;
}

std::vector<std::vector<std::uint32_t>> AlikeCalls::contexts_needed(
    const model::Traces& traces) const {
  std::vector<std::vector<std::uint32_t>> contexts(traces.files.size());
  for (std::uint32_t c = 0; c < functions.size(); ++c) {
    if (needs_rows(c)) {
      for (const Member& member : matches.communicators[c].members) {
        contexts[member.file].push_back(member.context);
      }
    }
  }
  return contexts;
}

Matches match_rows(const model::Traces& traces, const AlikeCalls& calls) {
  using Calls = std::map<std::pair<std::uint32_t, model::NameId>, std::vector<std::uint32_t>>;
  std::vector<Calls> calls_of(traces.files.size());
  for_each_on_cores(traces.files.size(), [&](std::size_t /*thread*/, std::size_t i) {
    calls_of[i] = calls_by_number(traces.files[i].operations);
  });
  Matches here;
  here.runs = calls.matches.runs;
  here.communicators = calls.matches.communicators;
  for (std::uint32_t c = 0; c < calls.functions.size(); ++c) {
    const std::vector<Member>& members = here.communicators[c].members;
    here.everywhere.push_back(calls.operations(c));
    for (const auto& [function, count] : calls.functions[c]) {
      std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> rows;  // by member
      for (std::uint32_t m = 0; m < members.size(); ++m) {
        Calls& of_file = calls_of[members[m].file];
        if (const auto found = of_file.find({members[m].context, function});
            found != of_file.end()) {
          rows.emplace_back(m, std::move(found->second));
        }
      }
      for (std::size_t i = 0; !rows.empty() && i < rows.front().second.size(); ++i) {
        const std::uint32_t first = members[rows.front().first].file;
        MatchedOperation& operation = here.operations.emplace_back();
        operation.communicator = c;
        operation.func = function;
        operation.number =
            traces.files[first].operations.call(rows.front().second[i]).seq.value_or(0);
        operation.first_part = here.parts.size();
        operation.part_count = static_cast<std::uint32_t>(rows.size());
        for (const auto& [member, indices] : rows) {
          here.parts.push_back({member, members[member].file, indices.at(i)});
        }
      }
    }
  }
  return here;
}

std::optional<AlikeCalls> match_alike(const model::Traces& traces) {
  std::vector<std::map<std::uint32_t, const model::ContextCalls*>> calls_of(traces.files.size());
  std::set<std::string_view> run_ids;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    // Of two files of one run one is left out.
    const bool is_only_one =
        file.process.run_id.empty() || run_ids.insert(file.process.run_id).second;
    if (!file.elsewhere.calls || !is_only_one) {
      return std::nullopt;
    }
    for (const model::ContextCalls& calls : *file.elsewhere.calls) {
      calls_of[i][calls.context] = &calls;
    }
  }
  AlikeCalls alike;
  alike.matches.runs = find_runs(traces);
  alike.matches.communicators = find_communicators(traces, alike.matches.runs);
  for (const Communicator& communicator : alike.matches.communicators) {
    const Member& first = communicator.members.front();
    const auto usual = calls_of[first.file].find(first.context);
    auto& functions = alike.functions.emplace_back();
    const bool are_alike = std::all_of(
        communicator.members.begin(), communicator.members.end(), [&](const Member& member) {
          const auto own = calls_of[member.file].find(member.context);
          // Numbers that count only while recording are shifted where one rank began later.
          const model::TraceFile& file = traces.files[member.file];
          const bool may_be_shifted = counts_only_while_recording(file.process) &&
                                      !(member.is_from_start && file.windows.size() == 1);
          return usual != calls_of[first.file].end() && own != calls_of[member.file].end() &&
                 own->second->has_digest && own->second->digest == usual->second->digest &&
                 member.rank && !may_be_shifted;
        });
    if (are_alike) {
      functions = usual->second->functions;
      std::sort(functions.begin(), functions.end());
    }
  }
  const bool stays_any = std::any_of(alike.functions.begin(), alike.functions.end(),
                                     [](const auto& functions) { return !functions.empty(); });
  return stays_any ? std::optional(std::move(alike)) : std::nullopt;
}

}  // namespace ringside::match
