// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/kineto/step_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/kineto/step_text.h"
#include "analyzer/report/kineto/step_waits.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using metrics::Gain;
using metrics::PathKind;
using metrics::PathNode;
using metrics::ProcessGraph;
using metrics::StepPart;
using metrics::StepPath;
using metrics::StepPaths;
using metrics::StepWait;

constexpr std::array<std::string_view, metrics::kPathKinds> kKindKeys = {
    "kernel", "copy", "operator", "launch", "communication", "data_loader", "idle", "unknown"};

double percent_of(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns > 0 ? 100 * static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0;
}

std::string share_text(std::int64_t part_ns, std::int64_t whole_ns) {
  return human_duration(part_ns) + " (" + fixed(percent_of(part_ns, whole_ns), 1) + " %)";
}

class Maker {
 public:
  Maker(const StepPaths& paths, const std::vector<ProcessGraph>& graphs, const facts::Facts& facts,
        metrics::RowsBy by, std::size_t most_parts)
      : paths_(paths), graphs_(graphs), facts_(facts), by_(by), most_parts_(most_parts) {
    waits_ = metrics::find_wait_paths(facts, graphs, paths.steps);
    std::stable_sort(waits_.begin(), waits_.end(),
                     [](const metrics::WaitPath& a, const metrics::WaitPath& b) {
                       return a.length_ns() > b.length_ns();
                     });
    for (const StepPath& step : paths.steps) {
      whole_ns_ += step.length_ns();
      for (std::size_t k = 0; k < spent_ns_.size(); ++k) {
        spent_ns_[k] += step.spent_ns[k];
      }
    }
  }

  Document make() {
    Document document;
    document.command = "critical-path";
    add_sentences(document.sentences);
    const bool has_gpu =
        std::any_of(graphs_.begin(), graphs_.end(),
                    [](const ProcessGraph& process) { return process.graph.has_gpu; });
    if (!has_gpu) {
      // The path does not show what the CPU waited for.
      for (std::string& one : step_wait_sentences(waits_, graphs_, facts_)) {
        document.sentences.push_back(std::move(one));
      }
    }
    document.tables.push_back(shares_table());
    document.tables.push_back(steps_table());
    document.tables.push_back(ranks_table());
    document.tables.push_back(exposed_table());
    if (Table waits = step_waits_table(waits_, graphs_, facts_); !waits.rows.empty()) {
      document.tables.push_back(std::move(waits));
    }
    document.tables.push_back(operations_table());
    document.tables.push_back(work_table());
    document.tables.push_back(path_table());
    add_notes(document.notes);
    return document;
  }

 private:
  template <typename Chosen>
  Gain gain(const Chosen& is_chosen) const {
    Gain sum;
    for (const StepPath& step : paths_.steps) {
      const Gain one = step.gain([&](const StepPart& part) { return is_chosen(step, part); });
      sum.least_ns += one.least_ns;
      sum.most_ns += std::min(one.most_ns, step.length_ns());
    }
    return sum;
  }

  bool is_unsure() const {
    return std::any_of(paths_.steps.begin(), paths_.steps.end(),
                       [](const StepPath& step) { return step.unsure_ns > 0; });
  }

  std::string rank_of(std::uint32_t process) const {
    const model::Process& known = facts_.traces().files[graphs_[process].file].process;
    return known.launcher_rank ? "rank " + std::to_string(*known.launcher_rank)
                               : known.host + ':' + std::to_string(known.pid);
  }
  const std::string& host_of(std::uint32_t process) const {
    return facts_.traces().files[graphs_[process].file].process.host;
  }
  const PathNode* node_of(const StepPart& part) const {
    const auto& nodes = graphs_[part.process].graph.nodes;
    return part.node < nodes.size() ? &nodes[part.node] : nullptr;
  }
  const metrics::PathLabel& names_of(const StepPart& part, const PathNode& node) const {
    return graphs_[part.process].graph.label_of(node);
  }
  std::string_view text(const StepPart& part, model::NameId id) const {
    return graphs_[part.process].graph.names.text(id);
  }
  std::string operation_of(std::uint32_t operation) const {
    return match::operation_text(facts_.traces(), facts_.matches().operations[operation]);
  }
  std::string communicator_of(std::uint32_t operation) const {
    const match::Matches& matches = facts_.matches();
    return label_of(matches.communicators[matches.operations[operation].communicator]);
  }

  // How long the operation was on the path behind the last arrival.
  static std::int64_t moved_ns(const StepPath& step, const StepWait& wait) {
    std::int64_t moved_ns = 0;
    for (const StepPart& part : step.parts) {
      if (part.kind == PathKind::kCommunication && part.operation == wait.operation) {
        moved_ns += part.end_ns - part.start_ns;
      }
    }
    return moved_ns;
  }

  std::string line_of(const StepPart& part) const {
    const PathNode* const node = node_of(part);
    return node == nullptr ? std::string() : std::string(text(part, names_of(part, *node).line));
  }

  void add_sentences(std::vector<std::string>& sentences) const {
    std::vector<std::int64_t> lengths_ns;
    for (const StepPath& step : paths_.steps) {
      lengths_ns.push_back(step.length_ns());
    }
    std::sort(lengths_ns.begin(), lengths_ns.end());
    const StepPath& first = paths_.steps.front();
    std::string begin = paths_.steps.size() == 1
                            ? capitalised(first.name) + " takes " + human_duration(whole_ns_)
                            : counted(paths_.steps.size(), "step") + " (" + first.name + " to " +
                                  paths_.steps.back().name + ") take " + human_duration(whole_ns_) +
                                  ", " + human_duration(lengths_ns[lengths_ns.size() / 2]) +
                                  " each (median)";
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < spent_ns_.size(); ++k) {
      if (spent_ns_[k] > 0) {
        order.push_back(k);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return spent_ns_[a] > spent_ns_[b]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      begin += (i > 0                      ? ", "
                : paths_.steps.size() == 1 ? ". Its end waited for "
                                           : ". Their ends waited for ") +
               share_text(spent_ns_[order[i]], whole_ns_) + ' ' +
               std::string(path_kind_text(static_cast<PathKind>(order[i])));
    }
    sentences.push_back(begin + '.');
    std::vector<std::pair<const StepPath*, std::uint32_t>> waits;
    for (const StepPath& step : paths_.steps) {
      for (std::uint32_t i = 0; i < step.waits.size(); ++i) {
        waits.emplace_back(&step, i);
      }
    }
    std::stable_sort(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
      return a.first->waits[a.second].waited_ns > b.first->waits[b.second].waited_ns;
    });
    for (std::size_t i = 0; i < std::min<std::size_t>(3, waits.size()); ++i) {
      if (waits[i].first->waits[waits[i].second].waited_ns > 0) {
        sentences.push_back(wait_sentence(*waits[i].first, waits[i].second));
      }
    }
  }

  std::string wait_sentence(const StepPath& step, std::uint32_t index) const {
    const StepWait& wait = step.waits[index];
    std::string sentence =
        operation_of(wait.operation) + " of communicator " + communicator_of(wait.operation) +
        " is exposed for " + human_duration(wait.waited_ns + moved_ns(step, wait)) + " on " +
        rank_of(wait.by) + " in " + step.name + ", " + (wait.is_sure ? "" : "perhaps ") +
        "waiting " + human_duration(wait.waited_ns) + " of it for " + rank_of(wait.waits_for);
    const auto [most, most_ns] = mostly_in(facts_, graphs_, step, index);
    if (most == nullptr || most->kind == PathKind::kUnknown) {
      return sentence + "; what that rank did then is not recorded.";
    }
    const std::string line = line_of(*most);
    const std::string whose = most->process == wait.waits_for
                                  ? "which"
                                  : "which waited for " + rank_of(most->process) + ", which";
    return sentence + ", " + whose + " was in " + step_part_text(facts_, graphs_, *most) +
           (line.empty() ? "" : " (" + line + ")") + " for " + human_duration(most_ns) + '.';
  }

  Table shares_table() const {
    Table table{"shares",
                "Time on the path, by what it was spent on",
                {{"kind", "spent on"},
                 {"key", "", Shown::kNot},
                 {"spent_ns", "time", Shown::kDuration},
                 {"spent_percent", "of the steps", Shown::kNumber, "%", 1},
                 {"gain_least_ns", "gain without it, least", Shown::kDuration},
                 {"gain_most_ns", "most", Shown::kDuration}},
                {}};
    table.is_whole = true;
    for (std::size_t k = 0; k < spent_ns_.size(); ++k) {
      if (spent_ns_[k] == 0 && (!is_unsure() || k == std::size_t(PathKind::kUnknown))) {
        continue;
      }
      const Gain one = gain([&](const StepPath&, const StepPart& part) {
        return part.kind == static_cast<PathKind>(k);
      });
      table.rows.push_back({std::string(path_kind_text(static_cast<PathKind>(k))),
                            std::string(kKindKeys[k]), spent_ns_[k],
                            percent_of(spent_ns_[k], whole_ns_), one.least_ns, one.most_ns});
    }
    std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
      return std::get<std::int64_t>(a[2]) > std::get<std::int64_t>(b[2]);
    });
    return table;
  }

  Table steps_table() const {
    Table table{"steps",
                "Steps, in the order of time",
                {{"step", "step"},
                 {"start_ns", "at", Shown::kMoment},
                 {"duration_ns", "time", Shown::kDuration},
                 {"last", "ended last"},
                 {"ranks", "ranks", Shown::kInteger},
                 {"waited_ns", "waiting for ranks", Shown::kDuration},
                 {"uncertain_ns", "uncertain", is_unsure() ? Shown::kDuration : Shown::kNot}},
                {}};
    for (std::size_t k = 0; k < kKindKeys.size(); ++k) {
      table.columns.push_back({std::string(kKindKeys[k]) + "_ns",
                               std::string(path_kind_text(static_cast<PathKind>(k))),
                               spent_ns_[k] > 0 ? Shown::kDuration : Shown::kNot});
    }
    table.gives_way = {"ranks",      "start_ns",       "idle_ns", "copy_ns",
                       "unknown_ns", "data_loader_ns", "last"};
    for (const StepPath& step : paths_.steps) {
      std::int64_t waited_ns = 0;
      for (const StepPart& part : step.parts) {
        waited_ns += part.waited_in != StepPart::kNone ? part.end_ns - part.start_ns : 0;
      }
      std::vector<Cell>& row = table.rows.emplace_back();
      row = {step.name,
             step.start_ns,
             step.length_ns(),
             rank_of(step.last),
             std::uint64_t{step.processes},
             waited_ns,
             step.unsure_ns};
      for (const std::int64_t spent_ns : step.spent_ns) {
        row.emplace_back(spent_ns);
      }
    }
    return table;
  }

  Table ranks_table() const {
    struct Sum {
      std::int64_t spent_ns = 0;
      std::int64_t waited_ns = 0;
      std::uint64_t times = 0;
    };
    // A rank may have several profiles: the first one stands for it.
    std::vector<std::uint32_t> whose(graphs_.size());
    std::map<std::uint32_t, std::uint32_t> first;  // by file
    for (std::uint32_t i = 0; i < graphs_.size(); ++i) {
      whose[i] = first.try_emplace(graphs_[i].file, i).first->second;
    }
    std::map<std::uint32_t, Sum> sums;
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        Sum& sum = sums[whose[part.process]];
        sum.spent_ns += part.end_ns - part.start_ns;
        sum.waited_ns += part.waited_in != StepPart::kNone ? part.end_ns - part.start_ns : 0;
      }
      for (const StepWait& wait : step.waits) {
        ++sums[whose[wait.waits_for]].times;
      }
    }
    Table table{"ranks",
                "Ranks, by the time that others waited for them on the path",
                {{"rank", "rank", Shown::kRank},
                 {"host", "host"},
                 {"spent_ns", "on the path", Shown::kDuration},
                 {"spent_percent", "of the steps", Shown::kNumber, "%", 1},
                 {"times", "waited for", Shown::kInteger, "times"},
                 {"waited_ns", "waited for it", Shown::kDuration},
                 {"gain_least_ns", "gain if on time, least", Shown::kDuration},
                 {"gain_most_ns", "most", Shown::kDuration}},
                {}};
    table.gives_way = {"host", "spent_percent", "times"};
    for (const auto& [process, sum] : sums) {
      const Gain one = gain([&, at = process](const StepPath&, const StepPart& part) {
        return whose[part.process] == at && part.waited_in != StepPart::kNone;
      });
      table.rows.push_back({rank_of(process), host_of(process), sum.spent_ns,
                            percent_of(sum.spent_ns, whole_ns_), sum.times, sum.waited_ns,
                            one.least_ns, one.most_ns});
    }
    std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
      return std::get<std::int64_t>(a[5]) > std::get<std::int64_t>(b[5]);
    });
    return table;
  }

  Table exposed_table() const {
    Table table{"exposed",
                "Operations on the path that waited for another rank, the longest first",
                {{"step", "step"},
                 {"operation", "operation"},
                 {"communicator", "communicator"},
                 {"rank", "exposed on", Shown::kRank},
                 {"exposed_ns", "exposed", Shown::kDuration},
                 {"waits_for", "waiting for", Shown::kRank},
                 {"waited_ns", "waiting", Shown::kDuration},
                 {"is_sure", "", Shown::kNot},
                 {"was_in", "which was in"},
                 {"was_in_ns", "for", Shown::kDuration},
                 {"was_in_rank", "", Shown::kNot},
                 {"line", "line"}},
                {}};
    table.gives_way = {"communicator", "was_in_ns", "step"};
    for (const StepPath& step : paths_.steps) {
      for (std::uint32_t i = 0; i < step.waits.size(); ++i) {
        const StepWait& wait = step.waits[i];
        const auto [most, most_ns] = mostly_in(facts_, graphs_, step, i);
        const std::string line = most == nullptr ? std::string() : line_of(*most);
        table.rows.push_back(
            {step.name, operation_of(wait.operation), communicator_of(wait.operation),
             rank_of(wait.by), wait.waited_ns + moved_ns(step, wait), rank_of(wait.waits_for),
             wait.waited_ns, wait.is_sure,
             most == nullptr ? Cell() : Cell(step_part_text(facts_, graphs_, *most)),
             most == nullptr ? Cell() : Cell(most_ns),
             most == nullptr ? Cell() : cell_of(rank_number(rank_of(most->process))),
             line.empty() ? Cell() : Cell(line)});
      }
    }
    std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
      return std::get<std::int64_t>(a[6]) > std::get<std::int64_t>(b[6]);
    });
    return table;
  }

  Table operations_table() const {
    using Kind = std::tuple<std::string, std::string, std::uint64_t, std::string>;
    const match::Matches& matches = facts_.matches();
    const metrics::Grouping grouping(facts_.traces(), matches, by_);
    const auto kind_of = [&](std::uint32_t index) {
      const match::MatchedOperation& operation = matches.operations[index];
      const auto& one = match::operation_of(facts_.traces(), matches.parts[operation.first_part]);
      return Kind{communicator_of(index),
                  std::string(metrics::function_of(facts_.traces(), operation)),
                  one.bytes.value_or(0), grouping.text_of(grouping.group_of(operation))};
    };
    struct Sum {
      std::uint64_t operations = 0;
      std::uint64_t on_path = 0;
      std::int64_t transfer_ns = 0;
      std::int64_t exposed_ns = 0;
    };
    std::map<Kind, Sum> sums;
    std::map<std::uint32_t, const Kind*> on_path;  // operations
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        if (part.kind == PathKind::kCommunication && part.operation != StepPart::kNone) {
          const auto at = sums.try_emplace(kind_of(part.operation)).first;
          at->second.exposed_ns += part.end_ns - part.start_ns;
          at->second.on_path += on_path.emplace(part.operation, &at->first).second ? 1 : 0;
        }
      }
    }
    const auto& all = facts_.operations();
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const bool is_in =
          std::any_of(paths_.steps.begin(), paths_.steps.end(), [&](const StepPath& step) {
            return all[i].last_end_ns > step.start_ns && all[i].last_end_ns <= step.end_ns;
          });
      if (is_in && all[i].ranks_timed > 0) {
        Sum& sum = sums[kind_of(i)];
        ++sum.operations;
        sum.transfer_ns += all[i].busy ? all[i].best_busy_ns : 0;
      }
    }
    Table table{"operations",
                "Operations of the steps: exposed on the path, and hidden behind other work",
                {{"communicator", "communicator"},
                 {"function", "function"},
                 {"bytes", "size", Shown::kBytes},
                 {"operations", "operations", Shown::kInteger},
                 {"on_path", "on the path", Shown::kInteger},
                 {"transfer_ns", "transfer, all", Shown::kDuration},
                 {"exposed_ns", "exposed", Shown::kDuration},
                 {"exposed_percent", "of the steps", Shown::kNumber, "%", 1},
                 {"gain_least_ns", "gain without it, least", Shown::kDuration},
                 {"gain_most_ns", "most", Shown::kDuration}},
                {}};
    table.gives_way = {"exposed_percent", "communicator", "transfer_ns"};
    if (by_ != metrics::RowsBy::kKind) {
      table.columns.insert(table.columns.begin(), {column_of(by_), title_of(by_)});
    }
    std::vector<std::pair<const Kind*, const Sum*>> order;
    order.reserve(sums.size());
    for (const auto& [kind, sum] : sums) {
      order.emplace_back(&kind, &sum);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second->exposed_ns > b.second->exposed_ns;
    });
    for (const auto& [kind, sum] : order) {
      const Gain one = gain([&, at = kind](const StepPath&, const StepPart& part) {
        const auto found = on_path.find(part.operation);
        return part.kind == PathKind::kCommunication && found != on_path.end() &&
               found->second == at;
      });
      std::vector<Cell>& row = table.rows.emplace_back();
      if (by_ != metrics::RowsBy::kKind) {
        row.push_back(group_cell(by_, std::get<3>(*kind)));
      }
      row.insert(row.end(), {std::get<0>(*kind), std::get<1>(*kind), std::get<2>(*kind),
                             sum->operations, sum->on_path, sum->transfer_ns, sum->exposed_ns,
                             percent_of(sum->exposed_ns, whole_ns_), one.least_ns, one.most_ns});
    }
    return table;
  }

  Table work_table() const {
    using Key = std::tuple<PathKind, std::string, std::string, std::string, std::string>;
    std::map<Key, std::pair<std::int64_t, std::uint64_t>> sums;
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        const PathNode* const node = node_of(part);
        if (node == nullptr || part.end_ns == part.start_ns ||
            part.kind == PathKind::kCommunication) {
          continue;
        }
        const metrics::PathLabel& label = names_of(part, *node);
        const bool is_between = part.is_gap && part.kind != node->kind;
        const std::string name = is_between ? "to its start" : short_kernel(text(part, label.name));
        auto& [sum_ns, times] =
            sums[{part.kind, std::string(text(part, label.where)), name,
                  std::string(text(part, label.module)), std::string(text(part, label.line))}];
        sum_ns += part.end_ns - part.start_ns;
        ++times;
      }
    }
    std::vector<std::pair<Key, std::pair<std::int64_t, std::uint64_t>>> order(sums.begin(),
                                                                              sums.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    Table table{"work",
                "Work on the path, by operator and module",
                {{"kind", "spent on"},
                 {"operator", "operator"},
                 {"name", "kernel or call"},
                 {"module", "module"},
                 {"line", "line"},
                 {"times", "times", Shown::kInteger},
                 {"spent_ns", "time", Shown::kDuration},
                 {"spent_percent", "of the steps", Shown::kNumber, "%", 1}},
                {}};
    table.gives_way = {"line", "times", "module"};
    const auto cell = [](const std::string& value) { return value.empty() ? Cell() : Cell(value); };
    for (const auto& [key, sum] : order) {
      table.rows.push_back({std::string(path_kind_text(std::get<0>(key))), cell(std::get<1>(key)),
                            cell(std::get<2>(key)), cell(std::get<3>(key)), cell(std::get<4>(key)),
                            sum.second, sum.first, percent_of(sum.first, whole_ns_)});
    }
    return table;
  }

  Table path_table() const {
    Table table{"path",
                "The path, in the order of time",
                {{"step", "step"},
                 {"start_ns", "at", Shown::kMoment},
                 {"duration_ns", "time", Shown::kDuration},
                 {"rank", "rank", Shown::kRank},
                 {"spent", "spent on"},
                 {"what", "in"},
                 {"waited_for", "waited for"},
                 {"is_inferred", "", Shown::kNot}},
                {}};
    table.gives_way = {"step"};
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        if (part.end_ns == part.start_ns) {
          continue;
        }
        if (most_parts_ > 0 && table.rows.size() == most_parts_) {
          ++table.left_out;
        } else {
          table.rows.push_back(
              {step.name, part.start_ns, part.end_ns - part.start_ns, rank_of(part.process),
               std::string(path_kind_text(part.kind)), step_part_text(facts_, graphs_, part),
               part.waited_in == StepPart::kNone ? Cell() : Cell(true), part.is_inferred});
        }
      }
    }
    return table;
  }

  void add_notes(std::vector<std::string>& notes) const {
    if (paths_.undecided > 0) {
      notes.push_back("for " + counted(paths_.undecided, "operation") +
                      " of the path it is not sure for which rank the others waited");
    }
    if (paths_.inferred > 0) {
      notes.push_back(
          counted(paths_.inferred, "part") +
          " of the path follow from times alone: which thread waited for another, and where no "
          "cuda_sync events were recorded "
          "(_ExperimentalConfig(enable_cuda_sync_events=True)) what a stream or a call waited for");
    }
    if (is_unsure()) {
      notes.push_back(
          "the clocks of the hosts leave the time of a step open by what the table says, and so do "
          "they each gain; where ranks came within that time of each other, the path may be "
          "another rank's");
    }
    std::size_t without_gpu = 0;
    std::map<std::uint32_t, bool> has_steps;  // by file: a rank may have several profiles
    for (const ProcessGraph& process : graphs_) {
      without_gpu += !process.graph.has_gpu && !process.graph.steps.empty() ? 1 : 0;
      has_steps[process.file] |= !process.graph.steps.empty();
    }
    const auto without_profile = std::count_if(has_steps.begin(), has_steps.end(),
                                               [](const auto& one) { return !one.second; });
    if (without_gpu > 0) {
      notes.push_back(
          "Profiles without work of a GPU: " + std::to_string(without_gpu) +
          ". Neither what the GPU computes nor how long the CPU waits for it is known there");
    }
    if (without_profile > 0) {
      notes.push_back(counted(static_cast<std::uint64_t>(without_profile), "rank") +
                      (without_profile == 1 ? " has" : " have") +
                      " no profile with such steps: only the operations are known there");
    }
    notes.push_back(
        "a gain is what the steps would be shorter if that took no time and all else as long as it "
        "did; the least counts what else was ready how much earlier, and docs/metrics.md states "
        "when the bounds hold");
  }

  const StepPaths& paths_;
  const std::vector<ProcessGraph>& graphs_;
  const facts::Facts& facts_;
  metrics::RowsBy by_;
  std::size_t most_parts_;
  std::vector<metrics::WaitPath> waits_;  // of all operations, the longest first
  std::int64_t whole_ns_ = 0;
  std::array<std::int64_t, metrics::kPathKinds> spent_ns_{};
};

}  // namespace

Document step_path_document(const StepPaths& paths, const std::vector<ProcessGraph>& graphs,
                            const facts::Facts& facts, metrics::RowsBy by, std::size_t most_parts) {
  if (paths.steps.empty()) {
    Document document;
    document.command = "critical-path";
    document.sentences.push_back("No profile has such a step: there is no path to follow.");
    return document;
  }
  return Maker(paths, graphs, facts, by, most_parts).make();
}

}  // namespace ringside::report
