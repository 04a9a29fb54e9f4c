// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/kineto/dependencies_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/metrics/steps/step_path.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/kineto/profile_join_report.h"
#include "analyzer/report/kineto/step_text.h"

namespace ringside::report {
namespace {

using metrics::GpuWait;
using metrics::LeftOut;
using model::KinetoCall;

constexpr std::string_view kSteps = "ProfilerStep";

std::string_view proof_text(metrics::WaitProof proof) {
  constexpr std::string_view kNames[] = {"recorded", "copy", "inferred"};
  return kNames[static_cast<std::size_t>(proof)];
}

Cell left_out_cell(LeftOut why) {
  return why == LeftOut::kNot
             ? Cell()
             : cell_of(why == LeftOut::kSameId ? "same External id" : "no External id");
}

// The name of a kernel for a table: "gemm_kernel" of "void at::gemm_kernel<float>(float*)".
std::string short_name(std::string_view name) {
  constexpr std::size_t kMost = 48;
  if (name.starts_with("Mem")) {  // "Memcpy DtoH (Device -> Pageable)"
    return std::string(name);
  }
  std::string text = short_kernel(name);
  if (const std::size_t colon = text.rfind("::"); colon != text.npos) {
    text.erase(0, colon + 2);
  }
  if (text.size() > kMost) {
    text.resize(kMost - 3);
    text += "...";
  }
  return text;
}

Cell id_cell(std::int64_t id) {
  return id == model::kNoId ? Cell() : cell_of(id);
}

// Ranges of the user's that calls are in, by start.
class Ranges {
 public:
  Ranges() = default;
  Ranges(const model::KinetoTrace& trace, const DependencyChoice& choice) {
    const std::string_view wanted = choice.annotation ? *choice.annotation : kSteps;
    for (const KinetoCall& one : trace.annotations) {
      if (trace.names.text(one.name).find(wanted) != std::string_view::npos) {
        add(one);
      }
    }
  }

  std::size_t size() const { return ranges_.size(); }

  /// This one alone.
  Ranges one(std::size_t at) const {
    Ranges made;
    made.add(*ranges_[at]);
    return made;
  }

  // The one that began last, of those in which a moment is; nullptr if it is in none.
  const KinetoCall* around(std::int64_t at_ns) const {
    auto next = std::upper_bound(
        ranges_.begin(), ranges_.end(), at_ns,
        [](std::int64_t time_ns, const KinetoCall* one) { return time_ns < one->start_ns; });
    for (auto i = static_cast<std::size_t>(next - ranges_.begin()); i > 0; --i) {
      if (last_ns_[i - 1] < at_ns) {
        break;
      }
      if (ranges_[i - 1]->end_ns >= at_ns) {
        return ranges_[i - 1];
      }
    }
    return nullptr;
  }

 private:
  void add(const KinetoCall& one) {
    ranges_.push_back(&one);
    last_ns_.push_back(last_ns_.empty() ? one.end_ns : std::max(last_ns_.back(), one.end_ns));
  }

  std::vector<const KinetoCall*> ranges_;
  std::vector<std::int64_t> last_ns_;  // when all of them up to this one are over
};

// The waits of a trace, from which all its parts are made.
class Waits {
 public:
  Waits(const model::KinetoTrace& trace, const DependencyChoice& choice)
      : found_(metrics::find_gpu_waits(trace)) {
    if (choice.is_critical) {
      find_critical(trace, choice);
    }
  }

  const metrics::GpuWaits& found() const { return found_; }
  bool is_critical(std::size_t call) const { return critical_.contains(call); }

 private:
  // The calls that waited on the path from the end of each range backwards.
  void find_critical(const model::KinetoTrace& trace, const DependencyChoice& choice) {
    const metrics::RankGraph graph = metrics::build_rank_graph(trace, {}, choice.annotation);
    for (const metrics::StepPath& path : metrics::find_step_paths(graph)) {
      for (const metrics::StepPart& part : path.parts) {
        if (part.node < graph.nodes.size() &&
            graph.nodes[part.node].call != metrics::PathNode::kNone) {
          critical_.insert(graph.nodes[part.node].call);
        }
      }
    }
  }

  metrics::GpuWaits found_;
  std::set<std::size_t> critical_;  // calls
};

class PartMaker {
 public:
  PartMaker(const model::KinetoTrace& trace, const DependencyChoice& choice, const Waits& waits,
            Ranges ranges)
      : trace_(trace), choice_(choice), waits_(waits), ranges_(std::move(ranges)) {}

  DependencyPart make() {
    const metrics::GpuWaits& found = waits_.found();
    part_.path = trace_.path;
    part_.rank = trace_.rank;
    part_.pid = trace_.pid;
    part_.time = match::profiled_time(trace_);
    part_.events = trace_.events;
    part_.ranges = ranges_.size();
    part_.damaged = trace_.damaged;
    part_.has_syncs = found.has_syncs;
    part_.has_gpu = !trace_.activities.empty();
    for (const std::int64_t thread : choice_.threads) {
      if (has_calls(trace_.operators, thread) || has_calls(trace_.annotations, thread) ||
          has_calls(trace_.runtime, thread)) {
        part_.threads.insert(thread);
      }
    }
    part_.unresolved = found.unresolved;
    for (std::size_t i = 0; i < found.waits.size();) {
      const std::size_t call = found.waits[i].call;
      std::size_t end = i;
      while (end < found.waits.size() && found.waits[end].call == call) {
        ++end;
      }
      add_call(trace_.runtime[call], &found.waits[i], end - i);
      i = end;
    }
    for (auto& [key, sum] : sums_) {
      part_.sums.push_back(std::move(sum));
    }
    return std::move(part_);
  }

 private:
  bool is_chosen_thread(const KinetoCall& call) const {
    return choice_.threads.empty() || std::find(choice_.threads.begin(), choice_.threads.end(),
                                                call.thread) != choice_.threads.end();
  }

  static bool has_calls(const std::vector<KinetoCall>& calls, std::int64_t thread) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const KinetoCall& call) { return call.thread == thread; });
  }

  void add_call(const KinetoCall& call, const GpuWait* waits, std::size_t count) {
    if (choice_.is_critical && !waits_.is_critical(waits->call)) {
      return;
    }
    const KinetoCall* const range = ranges_.around(call.start_ns);
    if (!is_chosen_thread(call) || ((choice_.annotation || choice_.instance) && range == nullptr)) {
      return;
    }
    ++part_.calls;
    std::int64_t waited_ns = 0;
    std::uint64_t listed = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const GpuWait& wait = waits[i];
      if (choice_.is_critical && !wait.is_last) {
        continue;
      }
      part_.same_id += wait.left_out == LeftOut::kSameId ? 1 : 0;
      part_.no_id += wait.left_out == LeftOut::kNoId ? 1 : 0;
      waited_ns = std::max(waited_ns, wait.waited_ns);
      if (choice_.has_left_out || wait.left_out == LeftOut::kNot) {
        part_.inferred += wait.proof == metrics::WaitProof::kInferred ? 1 : 0;
        part_.rows.push_back({wait.waited_ns, cells(call, wait, range)});
        ++listed;
      }
    }
    const Cell range_cell = name_cell(range);
    DependencyPart::Sum& sum =
        sums_[{range == nullptr ? std::int64_t{0} : range->start_ns, call.thread}];
    sum.key = {cell_of(trace_.rank), range_cell, cell_of(call.thread)};
    ++sum.calls;
    sum.dependencies += listed;
    sum.waited_ns += waited_ns;
    sum.most_ns = std::max(sum.most_ns, waited_ns);
  }

  Cell name_cell(const KinetoCall* call) const {
    return call == nullptr ? Cell() : cell_of(trace_.names.text(call->name));
  }

  std::vector<Cell> cells(const KinetoCall& call, const GpuWait& wait,
                          const KinetoCall* range) const {
    const model::GpuActivity& activity = trace_.activities[wait.activity];
    const KinetoCall* const next = wait.operation ? &trace_.operators[*wait.operation] : nullptr;
    const KinetoCall* const launcher = wait.launcher ? &trace_.operators[*wait.launcher] : nullptr;
    const std::string_view kernel = trace_.names.text(activity.name);
    return {cell_of(trace_.rank),
            name_cell(range),
            cell_of(call.thread),
            cell_of(short_name(kernel)),
            cell_of(kernel),
            id_cell(activity.external_id),
            id_cell(activity.correlation),
            name_cell(launcher),
            cell_of(activity.device),
            cell_of(activity.stream),
            cell_of(activity.start_ns),
            cell_of(activity.end_ns),
            cell_of(trace_.names.text(call.name)),
            id_cell(call.external_id),
            id_cell(call.correlation),
            cell_of(call.start_ns),
            cell_of(call.end_ns - call.start_ns),
            cell_of(wait.waited_ns),
            cell_of(wait.is_last),
            cell_of(proof_text(wait.proof)),
            name_cell(next),
            next == nullptr ? Cell() : id_cell(next->external_id),
            next == nullptr ? Cell() : cell_of(next->start_ns),
            left_out_cell(wait.left_out)};
  }

  const model::KinetoTrace& trace_;
  const DependencyChoice& choice_;
  const Waits& waits_;
  Ranges ranges_;
  DependencyPart part_;
  // By start of the range, and thread.
  std::map<std::pair<std::int64_t, std::int64_t>, DependencyPart::Sum> sums_;
};

Table dependencies_table(bool is_longest_first) {
  return {"dependencies",
          is_longest_first ? "GPU work that operators of the CPU depend on, the longest waits first"
                           : "GPU work that operators of the CPU depend on, by rank and time",
          {{"rank", "rank", Shown::kInteger},
           {"range", "range"},
           {"thread", "thread", Shown::kInteger},
           {"kernel_short", "kernel or copy"},
           {"kernel", "", Shown::kNot},
           {"kernel_external_id", "External", Shown::kInteger, "id"},
           {"kernel_correlation", "", Shown::kNot},
           {"launched_by", "", Shown::kNot},
           {"device", "", Shown::kNot},
           {"stream", "stream", Shown::kInteger},
           {"kernel_start_ns", "", Shown::kNot},
           {"kernel_end_ns", "", Shown::kNot},
           {"call", "call that waited"},
           {"call_external_id", "External", Shown::kInteger, "id"},
           {"call_correlation", "", Shown::kNot},
           {"call_start_ns", "at", Shown::kMoment},
           {"call_duration_ns", "", Shown::kNot},
           {"waited_ns", "waited", Shown::kDuration},
           {"is_last", "", Shown::kNot},
           {"known_by", "known by"},
           {"next_operator", "next operator"},
           {"next_external_id", "External", Shown::kInteger, "id"},
           {"next_start_ns", "", Shown::kNot},
           {"left_out", "left out for"}},
          {}};
}

Table threads_table() {
  return {"threads",
          "By rank, range and thread",
          {{"rank", "rank", Shown::kInteger},
           {"range", "range"},
           {"thread", "thread", Shown::kInteger},
           {"calls", "calls", Shown::kInteger, "that wait"},
           {"dependencies", "dependencies", Shown::kInteger},
           {"waited_ns", "waited", Shown::kDuration},
           {"longest_ns", "longest", Shown::kDuration}},
          {}};
}

std::string who(const DependencyPart& part) {
  return part.rank ? "Rank " + std::to_string(*part.rank) : part.path;
}

void add_notes(const std::vector<DependencyPart>& parts, const DependencyChoice& choice,
               std::vector<std::string>& notes) {
  std::uint64_t same_id = 0;
  std::uint64_t no_id = 0;
  std::uint64_t unresolved = 0;
  std::uint64_t damaged = 0;
  std::uint64_t inferred = 0;
  std::size_t without_syncs = 0;
  for (const DependencyPart& part : parts) {
    same_id += part.same_id;
    no_id += part.no_id;
    unresolved += part.unresolved;
    damaged += part.damaged;
    inferred += part.inferred;
    without_syncs += part.inferred > 0 && !part.has_syncs ? 1 : 0;
    if (!part.has_gpu) {
      notes.push_back(who(part) + " has no work of a GPU in its trace: " +
                      (part.unresolved > 0 ? "calls of CUDA are there, so what the GPU did was not "
                                             "recorded, or only as ranges of CUPTI's counters."
                                           : "it was recorded without ProfilerActivity.CUDA."));
    }
  }
  const std::string end = choice.has_left_out ? "." : "; --all lists them.";
  if (same_id > 0) {
    notes.push_back("Within one operator, by equal External ids: " +
                    counted(same_id, "dependency", "dependencies") + end);
  }
  if (no_id > 0) {
    notes.push_back("Without an External id of the kernel or of the call: " +
                    counted(no_id, "dependency", "dependencies") + end);
  }
  if (without_syncs > 0) {
    notes.push_back("Traces without cuda_sync events: " + std::to_string(without_syncs) + " of " +
                    std::to_string(parts.size()) + ": " +
                    counted(inferred, "dependency is", "dependencies are") +
                    " inferred from streams and times. "
                    "_ExperimentalConfig(enable_cuda_sync_events=True) records them.");
  }
  if (unresolved > 0) {
    notes.push_back("It is not known what " + counted(unresolved, "call") +
                    " waited for, in all ranges and threads together.");
  }
  if (damaged > 0) {
    notes.push_back(damaged_events_text(damaged));
  }
}

void drop_empty_column(Table& table, std::string_view key) {
  const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const CellColumn& one) { return one.key == key; });
  const auto at = column - table.columns.begin();
  const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    return std::holds_alternative<std::monostate>(row[static_cast<std::size_t>(at)]);
  });
  if (is_empty) {
    column->shown = Shown::kNot;
  }
}

std::int64_t first_ns(const DependencyPart& part) {
  return part.time ? part.time->first_ns : 0;
}

}  // namespace

std::vector<DependencyPart> dependency_parts(const model::KinetoTrace& trace,
                                             const DependencyChoice& choice) {
  const Waits waits(trace, choice);
  const Ranges ranges(trace, choice);
  std::vector<DependencyPart> parts;
  if (!choice.instance) {
    parts.push_back(PartMaker(trace, choice, waits, ranges).make());
    return parts;
  }
  for (std::size_t i = 0; i < ranges.size() && i <= *choice.instance; ++i) {
    parts.push_back(PartMaker(trace, choice, waits, ranges.one(i)).make());
  }
  parts.push_back(PartMaker(trace, choice, waits, {}).make());
  return parts;
}

std::vector<DependencyPart> choose_parts(std::vector<std::vector<DependencyPart>> traces,
                                         std::optional<std::size_t> instance) {
  std::sort(traces.begin(), traces.end(), [](const auto& one, const auto& other) {
    return std::tuple(first_ns(one.front()), std::string_view(one.front().path)) <
           std::tuple(first_ns(other.front()), std::string_view(other.front().path));
  });
  std::map<std::pair<bool, std::int64_t>, std::size_t> counted;  // ranges, by rank or else by pid
  std::vector<DependencyPart> chosen;
  for (std::vector<DependencyPart>& parts : traces) {
    std::size_t at = 0;
    if (instance) {
      const DependencyPart& first = parts.front();
      const std::size_t ranges = parts.size() - 1;  // up to the chosen one
      std::size_t none = 0;
      std::size_t& before =
          first.rank || first.pid
              ? counted[{first.rank.has_value(), first.rank ? *first.rank : *first.pid}]
              : none;
      const bool is_here = before <= *instance && *instance - before < ranges;
      at = is_here ? *instance - before : ranges;
      before += ranges;
    }
    chosen.push_back(std::move(parts[at]));
  }
  return chosen;
}

Document dependencies_document(std::vector<DependencyPart> parts, const DependencyChoice& choice) {
  std::sort(parts.begin(), parts.end(), [](const DependencyPart& a, const DependencyPart& b) {
    return std::tuple(a.rank, first_ns(a), std::string_view(a.path)) <
           std::tuple(b.rank, first_ns(b), std::string_view(b.path));
  });
  Document document;
  document.command = "dependencies";
  Table table = dependencies_table(choice.is_longest_first);
  Table threads = threads_table();
  std::vector<DependencyPart::Row> rows;
  std::uint64_t calls = 0;
  std::uint64_t dependencies = 0;  // there may be more than rows
  std::int64_t waited_ns = 0;
  for (DependencyPart& part : parts) {
    calls += part.calls;
    std::move(part.rows.begin(), part.rows.end(), std::back_inserter(rows));
    for (DependencyPart::Sum& sum : part.sums) {
      dependencies += sum.dependencies;
      waited_ns += sum.waited_ns;
      threads.rows.push_back(std::move(sum.key));
      auto& row = threads.rows.back();
      row.insert(row.end(), {cell_of(sum.calls), cell_of(sum.dependencies), cell_of(sum.waited_ns),
                             cell_of(sum.most_ns)});
    }
  }
  if (choice.is_longest_first) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
      return one.waited_ns > other.waited_ns;
    });
  }
  for (DependencyPart::Row& row : rows) {
    table.rows.push_back(std::move(row.cells));
  }
  table.left_out = dependencies - table.rows.size();
  document.sentences.push_back(counted(dependencies, "dependency", "dependencies") +
                               " of operators of the CPU on the GPU; " + counted(calls, "call") +
                               " waited " + human_duration(waited_ns) + " in all; " +
                               counted(parts.size(), "trace") + " of PyTorch's profiler.");
  add_notes(parts, choice, document.notes);
  drop_empty_column(table, "range");
  drop_empty_column(table, "rank");
  drop_empty_column(table, "left_out");
  drop_empty_column(threads, "range");
  drop_empty_column(threads, "rank");
  document.tables.push_back(std::move(table));
  document.tables.push_back(std::move(threads));
  return document;
}

}  // namespace ringside::report
