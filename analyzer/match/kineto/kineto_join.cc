// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/kineto_join.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analyzer/match/calls/call_stack.h"
#include "analyzer/match/communicators/duplicate_files.h"
#include "analyzer/match/communicators/recorded_from_start.h"
#include "analyzer/match/group_calls.h"
#include "analyzer/match/kineto/kineto_calls.h"
#include "analyzer/model/kineto/torch_dtype.h"
#include "analyzer/model/saturating.h"

namespace ringside::match {
namespace {

using model::KinetoCall;
using model::KinetoComm;

// Both clocks are CLOCK_REALTIME, read in different ways.
constexpr std::int64_t kSlack_ns = 20'000;

struct CommCall {
  std::size_t comm = 0;  // of KinetoTrace::comms
  ProfiledCall call;
  std::optional<std::uint64_t> seq;  // if it is numbered
};

// Goes through what the profiler saw in a group, and the calls of NCCL, both in their order.
class GroupPairing {
 public:
  /// `is_complete`: no call of NCCL is missing. `is_from_start`: nor is one before the first.
  GroupPairing(const std::vector<KinetoComm>& comms, std::span<const CommCall> entries,
               const GroupCalls& calls, std::span<const std::uint32_t> threads, bool is_complete,
               bool is_from_start)
      : comms_(comms),
        entries_(entries),
        calls_(calls),
        threads_(threads),
        is_complete_(is_complete),
        is_from_start_(is_from_start) {}

  /// Calls found(entry, first index into the calls, how many, proof) for each pair.
  template <typename Found>
  void pair(const Found& found) {
    PairProof proof = PairProof::kClock;
    bool is_in_step = false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      is_in_step = is_in_step && is_complete_ && follows(i);
      std::size_t count = is_in_step ? calls_from(i, next_) : 0;
      if (count == 0) {
        if (const auto place = anchor(i)) {
          proof = *place;
          count = calls_from(i, next_);
        }
      }
      is_in_step = count > 0;
      if (count == 0) {
        continue;
      }
      found(entries_[i], next_, count, proof);
      next_ += count;
    }
  }

 private:
  std::size_t calls_from(std::size_t i, std::size_t at) const {
    return at < calls_.calls.size()
               ? calls_made(entries_[i].call, std::span<const NcclCall>(calls_.calls).subspan(at))
               : 0;
  }

  // Whether `Seq` allows that nothing is between this call and the one before. Calls that are made
  // together may share a number.
  bool follows(std::size_t i) const {
    if (i == 0 || !entries_[i].seq || !entries_[i - 1].seq) {
      return true;
    }
    return *entries_[i].seq == *entries_[i - 1].seq || *entries_[i].seq == *entries_[i - 1].seq + 1;
  }

  // How many calls of NCCL all entries from i on make, if they begin at this one; 0 if they do not
  // fit.
  std::size_t fit_from(std::size_t i, std::size_t at) {
    const std::size_t begin = at;
    for (; i < entries_.size(); ++i) {
      const std::size_t count = calls_from(i, at);
      --work_left_;
      if (count == 0 || work_left_ == 0) {
        return 0;
      }
      at += count;
    }
    return at - begin;
  }

  // Finds where an entry's calls begin, and puts next_ there.
  std::optional<PairProof> anchor(std::size_t i) {
    if (i == 0 && is_from_start_ && entries_[0].seq == 1 && calls_from(0, 0) > 0) {
      next_ = 0;
      return PairProof::kFromStart;
    }
    if (i == 0 && is_complete_) {
      if (const auto only = only_place()) {
        next_ = *only;
        return PairProof::kOnlyPlace;
      }
    }
    const KinetoComm& comm = comms_[entries_[i].comm];
    const auto from = calls_.called_ns.begin() + static_cast<std::ptrdiff_t>(next_);
    auto at = std::lower_bound(from, calls_.called_ns.end(), comm.start_ns - kSlack_ns);
    for (; at != calls_.called_ns.end() && *at <= add_saturating(comm.end_ns, kSlack_ns); ++at) {
      const auto index = static_cast<std::size_t>(at - calls_.called_ns.begin());
      if (std::int64_t{threads_[index]} == comm.thread && calls_from(i, index) > 0) {
        next_ = index;
        return PairProof::kClock;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> only_place() {
    const bool knows_all = std::all_of(entries_.begin(), entries_.end(), [](const CommCall& entry) {
      return is_known_call(entry.call.name);
    });
    for (std::size_t i = 1; i < entries_.size(); ++i) {
      if (!follows(i)) {
        return std::nullopt;
      }
    }
    std::optional<std::size_t> only;
    work_left_ = kMostWork;
    for (std::size_t at = 0; knows_all && at < calls_.calls.size(); ++at) {
      if (fit_from(0, at) > 0) {
        if (only) {
          return std::nullopt;
        }
        only = at;
      }
      if (work_left_ == 0) {
        return std::nullopt;
      }
    }
    return only;
  }

  // A training repeats itself, and nearly fits nearly everywhere.
  static constexpr std::uint64_t kMostWork = 50'000'000;

  const std::vector<KinetoComm>& comms_;
  std::span<const CommCall> entries_;
  const GroupCalls& calls_;
  std::span<const std::uint32_t> threads_;  // of the calls
  bool is_complete_;
  bool is_from_start_;
  std::size_t next_ = 0;
  std::uint64_t work_left_ = 0;
};

class FileJoin {
 public:
  FileJoin(const model::KinetoTrace& trace, std::uint32_t file, model::Traces& traces)
      : trace_(trace), traces_(traces), file_(traces.files[file]) {
    joined_.path = trace.path;
    joined_.file = file;
    for (const KinetoCall& call : trace.operators) {
      stacks_[call.thread].add(call);
    }
    for (const KinetoCall& call : trace.annotations) {
      // Each step has another, and is no place in the program.
      if (trace.names.text(call.name).starts_with("ProfilerStep#")) {
        add_step(call);
      } else {
        stacks_[call.thread].add(call);
      }
    }
    for (const KinetoCall& call : trace.python) {
      if (is_of_program(trace.names.text(call.name))) {
        python_[call.thread].add(call);
      }
    }
    for (auto* const stacks : {&stacks_, &python_}) {
      for (auto& [thread, stack] : *stacks) {
        stack.settle();
      }
    }
  }

  KinetoFileJoin join() {
    std::map<std::string_view, std::vector<CommCall>> groups;
    for (std::size_t i = 0; i < trace_.comms.size(); ++i) {
      const KinetoComm& comm = trace_.comms[i];
      const std::string_view name = trace_.names.text(comm.collective);
      // NCCL reports nothing of groups of one rank.
      if (!makes_no_call(name) && !name.empty() && comm.group_size != 1) {
        groups[trace_.names.text(comm.group)].push_back(entry_of(i, comm, name));
      }
    }
    for (const auto& [name, entries] : groups) {
      join_group(name, entries);
    }
    return finish();
  }

  KinetoFileJoin join_own(std::vector<FramedOperation> framed) {
    for (const FramedOperation& one : framed) {
      const KinetoComm& comm = trace_.comms[one.comm];
      KinetoGroupJoin group;
      group.name = trace_.names.text(comm.group);
      const model::KinetoGroup* const listed = group_named(group.name);
      group.description = listed != nullptr ? listed->description : "";
      fill(entry_of(one.comm, comm, trace_.names.text(comm.collective)), one.operation, group);
    }
    joined_.framed = std::move(framed);
    joined_.is_alone = true;
    return finish();
  }

 private:
  KinetoFileJoin finish() {
    joined_.kernels = join_kineto_kernels(trace_, joined_.framed, traces_.names, file_);
    joined_.gpu = find_gpu_time(trace_);
    joined_.time = profiled_time(trace_);
    joined_.events = trace_.events;
    joined_.damaged = trace_.damaged;
    joined_.cut = trace_.cut;
    return std::move(joined_);
  }

  // A mark with an end, as a range would be around all others of the program.
  void add_step(const KinetoCall& call) {
    const HostClock clock(file_);
    const std::uint64_t number = file_.marks.empty() ? 1 : file_.marks.rbegin()->first + 1;
    model::Mark& step = file_.marks[number];
    step.name = traces_.names.id(trace_.names.text(call.name));
    step.tid = static_cast<std::uint32_t>(call.thread);
    step.start_ns = clock.when(call.start_ns);
    step.end_ns = clock.when(call.end_ns);
  }

  CommCall entry_of(std::size_t index, const KinetoComm& comm, std::string_view name) const {
    CommCall entry;
    entry.comm = index;
    entry.call.name = name;
    entry.seq = is_numbered(name) ? comm.seq : std::nullopt;
    if (const auto size = model::element_bytes(trace_.names.text(comm.dtype))) {
      const auto bytes = [&](const std::optional<std::uint64_t>& elements) {
        std::uint64_t product = 0;
        return elements && !__builtin_mul_overflow(*elements, *size, &product)
                   ? std::optional(product)
                   : std::nullopt;
      };
      entry.call.input_bytes = bytes(comm.inputs);
      entry.call.output_bytes = bytes(comm.outputs);
    }
    return entry;
  }

  const model::KinetoGroup* group_named(std::string_view name) const {
    const auto found = std::find_if(trace_.groups.begin(), trace_.groups.end(),
                                    [&](const auto& group) { return group.name == name; });
    return found != trace_.groups.end() ? &*found : nullptr;
  }

  std::set<std::uint32_t> contexts_of(std::string_view name,
                                      const model::KinetoGroup* group) const {
    std::set<std::uint32_t> named;
    std::set<std::uint32_t> of_ranks;
    bool has_names = false;
    for (const auto& [number, context] : file_.contexts) {
      has_names = has_names || !context.name.empty();
      // Pairs of ranks have communicators of their own, with the name of the group's.
      const bool fits = group == nullptr || group->ranks.empty() ||
                        context.nranks.value_or(0) <= group->ranks.size();
      if (!context.name.empty() && fits && group_of_communicator(context.name) == name) {
        named.insert(number);
      }
      if (group != nullptr && trace_.rank && context.nranks == group->ranks.size() &&
          context.rank && *context.rank < group->ranks.size() &&
          group->ranks[*context.rank] == *trace_.rank) {
        of_ranks.insert(number);
      }
    }
    if (has_names || of_ranks.size() != 1) {
      return named;
    }
    return of_ranks;
  }

  void join_group(std::string_view name, const std::vector<CommCall>& entries) {
    KinetoGroupJoin& group = joined_.groups.emplace_back();
    const model::KinetoGroup* const listed = group_named(name);
    group.name = name;
    group.description = listed != nullptr ? listed->description : "";
    group.calls = entries.size();
    group.unknown = static_cast<std::uint64_t>(
        std::count_if(entries.begin(), entries.end(),
                      [](const CommCall& entry) { return !is_known_call(entry.call.name); }));
    const std::set<std::uint32_t> contexts = contexts_of(name, listed);
    const GroupCalls calls = group_calls(traces_.names, file_, contexts);
    std::vector<std::uint32_t> threads;
    for (const std::size_t index : calls.index) {
      threads.push_back(file_.operations[index].tid);
    }
    const bool is_complete = has_all_calls(file_) && file_.windows.size() == 1;
    const bool is_from_start =
        is_complete && !contexts.empty() &&
        std::all_of(contexts.begin(), contexts.end(),
                    [&](std::uint32_t context) { return is_recorded_from_start(file_, context); });
    GroupPairing pairing(trace_.comms, entries, calls, threads, is_complete, is_from_start);
    pairing.pair([&](const CommCall& entry, std::size_t first, std::size_t count, PairProof proof) {
      ++group.pairs[static_cast<std::size_t>(proof)];
      group.operations += count;
      if (count == 1) {
        compare_clocks(trace_.comms[entry.comm], calls.index[first], group);
      }
      for (std::size_t k = 0; k < count; ++k) {
        fill(entry, calls.index[first + k], group);
        joined_.framed.push_back({entry.comm, calls.index[first + k]});
      }
    });
  }

  void compare_clocks(const KinetoComm& comm, std::size_t index, KinetoGroupJoin& group) const {
    const HostClock clock(file_);
    const model::Operation operation = file_.operations[index];
    if (!operation.enqueue_start_ns || operation.kind == model::Kind::kPointToPoint) {
      return;  // sends that are made together are called after what the profiler sees of them
    }
    const std::int64_t start_ns = clock.at(*operation.enqueue_start_ns);
    const std::int64_t end_ns =
        clock.at(operation.enqueue_end_ns.value_or(*operation.enqueue_start_ns));
    const std::int64_t least_ns = subtract_saturating(end_ns, comm.end_ns);
    const std::int64_t most_ns = subtract_saturating(start_ns, comm.start_ns);
    ++group.compared;
    group.within += least_ns <= 0 && most_ns >= 0 ? 1 : 0;
    group.least_offset_ns = std::max(group.least_offset_ns.value_or(least_ns), least_ns);
    group.most_offset_ns = std::min(group.most_offset_ns.value_or(most_ns), most_ns);
  }

  void fill(const CommCall& entry, std::size_t index, const KinetoGroupJoin& group) {
    const KinetoComm& comm = trace_.comms[entry.comm];
    model::Operation operation = file_.operations[index];
    if (operation.called_by == model::kNoName) {
      operation.called_by = traces_.names.id(callers_of(comm));
    }
    if (operation.process_group == model::kNoName) {
      operation.process_group =
          traces_.names.id(group.description.empty() ? group.name : group.description);
    }
    if (!operation.torch_seq) {
      operation.torch_seq = entry.seq;
    }
    file_.operations.set(index, operation);
  }

  // Operators, and behind them lines of the program. An operator called for a function of
  // torch.distributed ("c10d::allreduce_") says no more than the function, and stands there only if
  // nothing else does.
  std::string callers_of(const KinetoComm& comm) const {
    std::string text;
    std::string_view own;
    const auto add = [&](std::string_view line) {
      text.append(text.empty() ? "" : "\n").append(line);
    };
    for (const KinetoCall* const call : open_around(stacks_, comm)) {
      const std::string_view name = trace_.names.text(call->name);
      if (name.starts_with("c10d::")) {
        own = name;
      } else if (name != "record_param_comms" && !name.empty()) {
        add(name);
      }
    }
    for (const KinetoCall* const call : open_around(python_, comm)) {
      add(frame_of(trace_.names.text(call->name)));
    }
    return text.empty() ? std::string(own) : text;
  }

  using Stacks = std::map<std::int64_t, CallStack>;  // by thread

  static std::vector<const KinetoCall*> open_around(const Stacks& stacks, const KinetoComm& comm) {
    const auto stack = stacks.find(comm.thread);
    return stack != stacks.end() ? stack->second.around(comm.start_ns, comm.end_ns)
                                 : std::vector<const KinetoCall*>();
  }

  const model::KinetoTrace& trace_;
  model::Traces& traces_;
  model::TraceFile& file_;
  Stacks stacks_;  // of operators and ranges
  Stacks python_;  // of functions of the program
  KinetoFileJoin joined_;
};

}  // namespace

std::optional<ProfiledTime> profiled_time(const model::KinetoTrace& trace) {
  std::optional<ProfiledTime> time;
  const auto see = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (!time) {
        time = ProfiledTime{row.start_ns, row.end_ns};
      }
      time->first_ns = std::min(time->first_ns, row.start_ns);
      time->last_ns = std::max(time->last_ns, row.end_ns);
    }
  };
  see(trace.operators);
  see(trace.runtime);
  if (!time) {
    see(trace.activities);
  }
  return time;
}

std::optional<std::uint32_t> profiled_file(const model::KinetoTrace& trace,
                                           const model::Traces& traces,
                                           const std::vector<KinetoFileJoin>& joins) {
  const std::optional<ProfiledTime> time = profiled_time(trace);
  // Greater is better.
  const auto worth = [&](std::uint32_t i) {
    const bool is_joined =
        std::any_of(joins.begin(), joins.end(), [&](const auto& one) { return one.file == i; });
    const auto extent = traces.files[i].operations.extent_ns();
    const HostClock clock(traces.files[i]);
    return std::pair(is_joined,
                     extent && time
                         ? subtract_saturating(std::min(clock.at(extent->second), time->last_ns),
                                               std::max(clock.at(extent->first), time->first_ns))
                         : std::numeric_limits<std::int64_t>::min());
  };
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    const model::Process& process = traces.files[i].process;
    const bool is_it =
        (trace.rank || trace.pid) &&
        (!trace.rank || !process.launcher_rank || process.launcher_rank == trace.rank) &&
        (!trace.pid || process.pid == *trace.pid);
    if (is_it && found &&
        (process.run_id.empty() || process.run_id != traces.files[*found].process.run_id)) {
      return std::nullopt;
    }
    if (is_it &&
        (!found || worth(i) > worth(*found) ||
         (worth(i) == worth(*found) && is_better_file(traces.files[i], traces.files[*found])))) {
      found = i;
    }
  }
  return found;
}

std::string why_of_another_job(const model::KinetoTrace& trace, const model::TraceFile& file) {
  // Both clocks are the host's, which may have been set meanwhile.
  constexpr std::int64_t kMostStep_ns = 10'000'000'000;
  const std::optional<ProfiledTime> time = profiled_time(trace);
  const HostClock clock(file);
  if (time && add_saturating(time->last_ns, kMostStep_ns) < clock.at(file.process.start_ns)) {
    return "it ended before that process began";
  }
  if (time && file.closed && !file.process.dump && file.last_ns &&
      subtract_saturating(time->first_ns, kMostStep_ns) > clock.at(*file.last_ns)) {
    return "it began after that process had ended";
  }
  std::size_t world = 0;
  for (const model::KinetoGroup& group : trace.groups) {
    world = std::max(world, group.ranks.size());
  }
  for (const auto& [number, context] : file.contexts) {
    if (world > 0 && context.nranks.value_or(0) > world) {
      return "its job has " + std::to_string(world) + " ranks, and a communicator there has " +
             std::to_string(*context.nranks);
    }
  }
  return {};
}

const KinetoFileJoin* find_same_time(const model::KinetoTrace& trace, std::uint32_t file,
                                     const std::vector<KinetoFileJoin>& joins) {
  const std::optional<ProfiledTime> time = profiled_time(trace);
  const auto length_ns = [](const ProfiledTime& one) {
    return subtract_saturating(one.last_ns, one.first_ns);
  };
  for (const KinetoFileJoin& join : joins) {
    if (!time || !join.time || join.file != file) {
      continue;
    }
    // An operator in which one profile ended may be in the next one, too.
    const ProfiledTime both{std::max(time->first_ns, join.time->first_ns),
                            std::min(time->last_ns, join.time->last_ns)};
    if (length_ns(both) > std::min(length_ns(*time), length_ns(*join.time)) / 2) {
      return &join;
    }
  }
  return nullptr;
}

KinetoFileJoin join_kineto(const model::KinetoTrace& trace, std::uint32_t file,
                           model::Traces& traces) {
  return FileJoin(trace, file, traces).join();
}

KinetoFileJoin join_own_kineto(const model::KinetoTrace& trace, std::vector<FramedOperation> framed,
                               model::Traces& traces) {
  const auto file = static_cast<std::uint32_t>(traces.files.size() - 1);
  return FileJoin(trace, file, traces).join_own(std::move(framed));
}

}  // namespace ringside::match
