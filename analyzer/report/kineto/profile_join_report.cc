// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/kineto/profile_join_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "analyzer/model/saturating.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::report {
namespace {

using match::KinetoGroupJoin;
using match::PairProof;

std::uint64_t pairs_by(const KinetoGroupJoin& group, PairProof proof) {
  return group.pairs[static_cast<std::size_t>(proof)];
}

std::uint64_t pairs_of(const KinetoGroupJoin& group) {
  return pairs_by(group, PairProof::kFromStart) + pairs_by(group, PairProof::kOnlyPlace) +
         pairs_by(group, PairProof::kClock);
}

std::string rank_text(const model::TraceFile& file) {
  return file.process.launcher_rank ? "rank " + std::to_string(*file.process.launcher_rank)
                                    : "pid " + std::to_string(file.process.pid);
}

std::string kernels_text(const std::vector<match::KinetoFileJoin>& joins) {
  std::uint64_t kernels = 0;
  std::uint64_t operations = 0;
  std::uint64_t timed = 0;
  std::array<std::uint64_t, match::kKernelProofs> by_proof{};
  for (const match::KinetoFileJoin& join : joins) {
    kernels += join.kernels.kernels;
    operations += join.kernels.pairs.size();
    timed += join.kernels.timed;
    for (std::size_t i = 0; i < by_proof.size(); ++i) {
      by_proof[i] += join.kernels.joined[i];
    }
  }
  if (kernels == 0) {
    return {};
  }
  const std::uint64_t joined = by_proof[0] + by_proof[1] + by_proof[2];
  return "NCCL's kernels in them: " + std::to_string(joined) + " of " + std::to_string(kernels) +
         (joined == 1 ? " is" : " are") + " joined with " + counted(operations, "operation") +
         ": " + std::to_string(by_proof[0]) + " launched within the call, " +
         std::to_string(by_proof[1]) + " by the order on the stream, " +
         std::to_string(by_proof[2]) + " by the clock." +
         (timed > 0 ? " They give the times of " + counted(timed, "operation") + '.' : "");
}

// Profiles that are the traces themselves.
std::string alone_text(const std::vector<match::KinetoFileJoin>& joins,
                       const model::Traces& traces) {
  std::uint64_t calls = 0;
  std::uint64_t kernels = 0;
  std::uint64_t joined = 0;
  std::int64_t all_ns = 0;
  std::int64_t others_ns = 0;
  for (const match::KinetoFileJoin& join : joins) {
    calls += join.framed.size();
    kernels += join.kernels.kernels;
    joined += join.kernels.activities.size();
    const model::TraceFile& file = traces.files[join.file];
    for (std::size_t i = 0; i < file.operations.size(); ++i) {
      const model::Operation operation = file.operations[i];
      if (operation.times_from == model::TimesFrom::kKineto) {
        const std::int64_t time_ns = subtract_saturating(*operation.end_ns, *operation.start_ns);
        all_ns = add_saturating(all_ns, time_ns);
        // NCCL's own has a process group, or a stream that has no name.
        if (i >= join.framed.size() && !file.contexts.at(operation.context).name.empty()) {
          others_ns = add_saturating(others_ns, time_ns);
        }
      }
    }
  }
  std::string text =
      counted(joins.size(), "trace") +
      " of PyTorch's profiler, and none of Ringside's: " + counted(calls, "call") +
      " of torch.distributed, and " + (calls > 0 ? std::to_string(joined) + " of " : "") +
      counted(kernels, "kernel") + " of NCCL" + (calls > 0 ? " joined with them" : "") + '.';
  if (others_ns > 0) {
    text += " Kernels that communicate without NCCL take " +
            fixed(100 * static_cast<double>(others_ns) / static_cast<double>(all_ns), 1) +
            " % of the time in operations.";
  }
  return text;
}

std::string_view proof_name(match::KernelProof proof) {
  constexpr std::array<std::string_view, match::kKernelProofs> kNames = {"launch", "order",
                                                                         "clock"};
  return kNames.at(static_cast<std::size_t>(proof));
}

// The fault of a process's clocks, as all of its groups show; empty if there is none.
std::string clock_text(const match::KinetoFileJoin& join) {
  std::optional<std::int64_t> least_ns;
  std::optional<std::int64_t> most_ns;
  for (const KinetoGroupJoin& group : join.groups) {
    if (group.least_offset_ns) {
      least_ns = std::max(least_ns.value_or(*group.least_offset_ns), *group.least_offset_ns);
      most_ns = std::min(most_ns.value_or(*group.most_offset_ns), *group.most_offset_ns);
    }
  }
  if (!least_ns || (*least_ns <= 0 && *most_ns >= 0)) {
    return {};
  }
  if (*least_ns > *most_ns) {
    return "the profiler's clock drifts against the trace's";
  }
  const std::int64_t offset_ns = *least_ns > 0 ? *least_ns : -*most_ns;
  return "the trace's clock is " + human_duration(offset_ns) + " or more " +
         (*least_ns > 0 ? "ahead of" : "behind") + " the profiler's";
}

}  // namespace

std::uint64_t damaged_events(const std::vector<match::KinetoFileJoin>& joins) {
  std::uint64_t damaged = 0;
  for (const match::KinetoFileJoin& join : joins) {
    damaged += join.damaged;
  }
  return damaged;
}

std::string damaged_events_text(std::uint64_t events) {
  return "Damaged, or without a phase (ph), a category (cat), a thread or stream, a time or a "
         "duration, and left out: " +
         counted(events, "event") + '.';
}

std::string unused_profile_text(const model::Problem& unused) {
  std::string text = "A trace of PyTorch's profiler is not used: ";
  return text.append(unused.path).append(", ").append(unused.reason).append(".");
}

std::vector<std::string> profile_join_notes(const std::vector<match::KinetoFileJoin>& joins,
                                            const model::Traces& traces) {
  std::uint64_t calls = 0;
  std::uint64_t unknown = 0;
  std::uint64_t operations = 0;
  std::array<std::uint64_t, match::kPairProofs> pairs{};
  std::uint64_t compared = 0;
  std::uint64_t within = 0;
  std::vector<std::string> notes;
  for (const match::KinetoFileJoin& join : joins) {
    for (const KinetoGroupJoin& group : join.groups) {
      calls += group.calls;
      unknown += group.unknown;
      operations += group.operations;
      compared += group.compared;
      within += group.within;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] += group.pairs[i];
      }
    }
    if (const std::string clocks = clock_text(join); !clocks.empty()) {
      notes.push_back("For " + rank_text(traces.files[join.file]) + ' ' + clocks + '.');
    }
    if (!join.cut.empty()) {
      notes.push_back(join.path + ": " + join.cut);
    }
  }
  if (joins.empty()) {
    return notes;
  }
  if (joins.front().is_alone) {
    notes.insert(notes.begin(), alone_text(joins, traces));
    return notes;
  }
  const std::uint64_t joined = pairs[0] + pairs[1] + pairs[2];
  notes.insert(notes.begin(),
               "PyTorch's profiler, " + counted(joins.size(), "trace") + ": " +
                   std::to_string(joined) + " of " + counted(calls, "call") +
                   " of torch.distributed " + (calls == 1 ? "is" : "are") + " joined with " +
                   counted(operations, "operation") + ", by the order of calls: " +
                   std::to_string(pairs[0]) + " counted from the first of the group, " +
                   std::to_string(pairs[1]) + " at the only place where they fit, " +
                   std::to_string(pairs[2]) + " at the one that the clock shows." +
                   (unknown > 0 ? " It is not known which calls of NCCL " +
                                      counted(unknown, "other makes", "others make") + '.'
                                : "") +
                   " By both clocks, " + std::to_string(within) + " of " +
                   std::to_string(compared) + " that can be compared lie where they should.");
  if (std::string kernels = kernels_text(joins); !kernels.empty()) {
    notes.insert(notes.begin() + 1, std::move(kernels));
  }
  if (const std::uint64_t damaged = damaged_events(joins); damaged > 0) {
    notes.push_back(damaged_events_text(damaged));
  }
  return notes;
}

Table kernel_join_table(const std::vector<match::KinetoFileJoin>& joins,
                        const model::Traces& traces) {
  Table table = {"kernels",
                 "Kernels of operations in traces of PyTorch's profiler, by the proof",
                 {{"rank", "rank", Shown::kInteger},
                  {"communicator", "communicator"},
                  {"function", "function"},
                  {"seq", "seq", Shown::kInteger},
                  {"operation", "", Shown::kNot},
                  {"kernel", "kernel"},
                  {"correlation", "", Shown::kNot},
                  {"device", "", Shown::kNot},
                  {"stream", "stream", Shown::kInteger},
                  {"start_ns", "at", Shown::kMoment},
                  {"duration_ns", "time", Shown::kDuration},
                  {"proof", "proof"}},
                 {}};
  table.gives_way = {"stream", "at", "seq"};
  for (const match::KinetoFileJoin& join : joins) {
    const model::TraceFile& file = traces.files[join.file];
    for (const match::KernelPair& pair : join.kernels.pairs) {
      const model::Operation operation = file.operations[pair.operation];
      const auto context = file.contexts.find(operation.context);
      Cell communicator;
      if (context != file.contexts.end()) {
        communicator = context->second.name.empty() ? cell_of(context->second.comm)
                                                    : cell_of(context->second.name);
      }
      const std::string_view kernel = traces.names.text(pair.kernel);
      table.rows.push_back({cell_of(file.process.launcher_rank), communicator,
                            cell_of(traces.names.text(operation.func)), cell_of(operation.seq),
                            cell_of(operation.id), cell_of(kernel.substr(0, kernel.find('('))),
                            pair.correlation == model::kNoId ? Cell() : cell_of(pair.correlation),
                            cell_of(pair.device), cell_of(pair.stream), cell_of(pair.start_ns),
                            cell_of(pair.end_ns - pair.start_ns), cell_of(proof_name(pair.proof))});
    }
  }
  return table;
}

Table profile_join_table(const std::vector<match::KinetoFileJoin>& joins,
                         const model::Traces& traces) {
  Table table = {"profiler",
                 "Calls in traces of PyTorch's profiler, by the proof of what they are",
                 {{"rank", "rank", Shown::kInteger},
                  {"process_group", "process group"},
                  {"calls", "calls", Shown::kInteger},
                  {"from_start", "from the", Shown::kInteger, "first call"},
                  {"only_place", "only", Shown::kInteger, "place"},
                  {"clock", "clock", Shown::kInteger},
                  {"not_joined", "not", Shown::kInteger, "joined"},
                  {"operations", "operations", Shown::kInteger},
                  {"compared", "clocks", Shown::kInteger, "compared"},
                  {"within", "agree", Shown::kInteger},
                  {"least_offset_ns", "", Shown::kNot},
                  {"most_offset_ns", "", Shown::kNot}},
                 {}};
  for (const match::KinetoFileJoin& join : joins) {
    for (const KinetoGroupJoin& group : join.groups) {
      table.rows.push_back({cell_of(traces.files[join.file].process.launcher_rank),
                            cell_of(group.description.empty() ? group.name : group.description),
                            cell_of(group.calls), cell_of(pairs_by(group, PairProof::kFromStart)),
                            cell_of(pairs_by(group, PairProof::kOnlyPlace)),
                            cell_of(pairs_by(group, PairProof::kClock)),
                            cell_of(group.calls - pairs_of(group)), cell_of(group.operations),
                            cell_of(group.compared), cell_of(group.within),
                            cell_of(group.least_offset_ns), cell_of(group.most_offset_ns)});
    }
  }
  return table;
}

}  // namespace ringside::report
