// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/kineto/step_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/columns.h"
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

std::string share_text(std::int64_t part_ns, std::int64_t whole_ns) {
  return human_duration(part_ns) + " (" + fixed(percent_of(part_ns, whole_ns), 1) + " %)";
}

// An operation on the path that waited for another rank, and what that rank was in meanwhile.
struct Exposed {
  const StepPath* step;
  const StepWait* wait;
  const StepPart* most;  // nullptr: not known
  std::int64_t most_ns;
};

// Steps, or a part of them, and what they would gain without it.
template <typename What>
struct SpentOn {
  What what = {};
  std::int64_t spent_ns = 0;
  Gain gain = {};
};

constexpr auto kLeastGain = [](const auto& one) { return one.gain.least_ns; };
constexpr auto kMostGain = [](const auto& one) { return one.gain.most_ns; };

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
      for (std::uint32_t i = 0; i < step.waits.size(); ++i) {
        const auto [most, most_ns] = mostly_in(facts, graphs, step, i);
        exposed_.push_back({&step, &step.waits[i], most, most_ns});
      }
    }
    std::stable_sort(exposed_.begin(), exposed_.end(), [](const Exposed& a, const Exposed& b) {
      return a.wait->waited_ns > b.wait->waited_ns;
    });
  }

  Document make() {
    Document document{"critical-path"};
    std::set<std::string> with_gpu, without_gpu;  // ranks, which may have several profiles
    for (std::uint32_t i = 0; i < graphs_.size(); ++i) {
      if (const metrics::RankGraph& graph = graphs_[i].graph; !graph.steps.empty()) {
        (graph.has_gpu ? with_gpu : without_gpu).insert(rank_of(i));
      }
    }
    std::erase_if(without_gpu, [&](const std::string& one) { return with_gpu.contains(one); });
    document.is_open = !with_gpu.empty() && !without_gpu.empty();
    if (document.is_open) {
      document.sentences.push_back(
          "The path is not known where it is on " + model::joined(without_gpu, 3) +
          ", of which there are no kernels: record all ranks with ProfilerActivity.CUDA.");
    }
    add_sentences(document.sentences);
    if (with_gpu.empty()) {
      document.notes.emplace_back(
          "no profile has work of a GPU: what that computes, and who waits for it, is unknown");
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

  // With the time for which the operation was on the path behind the last arrival.
  static std::int64_t exposed_ns(const Exposed& one) {
    std::int64_t exposed_ns = one.wait->waited_ns;
    for (const StepPart& part : one.step->parts) {
      if (part.kind == PathKind::kCommunication && part.operation == one.wait->operation) {
        exposed_ns += part.end_ns - part.start_ns;
      }
    }
    return exposed_ns;
  }

  std::string line_of(const Exposed& one) const {
    const PathNode* const node = one.most == nullptr ? nullptr : node_of(*one.most);
    return node == nullptr ? "" : std::string(text(*one.most, names_of(*one.most, *node).line));
  }

  // The kinds that the path was spent on, the longest first; with `is_any` those of no time, too.
  std::vector<std::size_t> kinds_by_time(bool is_any) const {
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < spent_ns_.size(); ++k) {
      if (spent_ns_[k] > 0 || (is_any && k != std::size_t(PathKind::kUnknown))) {
        order.push_back(k);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return spent_ns_[a] > spent_ns_[b]; });
    return order;
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
    const std::vector<std::size_t> order = kinds_by_time(false);
    for (std::size_t i = 0; i < order.size(); ++i) {
      begin += (i > 0                      ? ", "
                : paths_.steps.size() == 1 ? ". Its end waited for "
                                           : ". Their ends waited for ") +
               share_text(spent_ns_[order[i]], whole_ns_) + ' ' +
               std::string(path_kind_text(static_cast<PathKind>(order[i])));
    }
    sentences.push_back(begin + '.');
    for (std::size_t i = 0; i < std::min<std::size_t>(3, exposed_.size()); ++i) {
      if (exposed_[i].wait->waited_ns > 0) {
        sentences.push_back(wait_sentence(exposed_[i]));
      }
    }
  }

  std::string wait_sentence(const Exposed& one) const {
    const StepWait& wait = *one.wait;
    const std::string sentence =
        operation_of(wait.operation) + " of communicator " + communicator_of(wait.operation) +
        " is exposed for " + human_duration(exposed_ns(one)) + " on " + rank_of(wait.by) + " in " +
        one.step->name + ", " + (wait.is_sure ? "" : "perhaps ") + "waiting " +
        human_duration(wait.waited_ns) + " of it for " + rank_of(wait.waits_for);
    if (one.most == nullptr || one.most->kind == PathKind::kUnknown) {
      return sentence + "; what that rank did then is not recorded.";
    }
    const std::string line = line_of(one);
    const std::string whose = one.most->process == wait.waits_for
                                  ? "which"
                                  : "which waited for " + rank_of(one.most->process) + ", which";
    return sentence + ", " + whose + " was in " + step_part_text(facts_, graphs_, *one.most) +
           (line.empty() ? "" : " (" + line + ")") + " for " + human_duration(one.most_ns) + '.';
  }

  // The columns of a time on the path.
  template <typename Row>
  ColumnOf<Row> percent_column() const {
    return {"spent_percent", "of the steps", Shown::kNumber, "%", 1, [this](const Row& row) {
              return percent_of(row.spent_ns, whole_ns_);
            }};
  }

  Table shares_table() const {
    using Share = SpentOn<std::size_t>;
    std::vector<Share> shares;
    for (const std::size_t k : kinds_by_time(is_unsure())) {
      shares.push_back({k, spent_ns_[k], gain([&](const StepPath&, const StepPart& part) {
                          return part.kind == static_cast<PathKind>(k);
                        })});
    }
    Table table =
        table_of("shares", "Time on the path, by what it was spent on", shares,
                 {{"kind", "spent on",
                   [](auto& one) { return path_kind_text(static_cast<PathKind>(one.what)); }},
                  {"key", "", Shown::kNot, [](auto& one) { return kKindKeys[one.what]; }},
                  {"spent_ns", "time", Shown::kDuration, &Share::spent_ns},
                  percent_column<Share>(),
                  {"gain_least_ns", "gain without it, least", Shown::kDuration, kLeastGain},
                  {"gain_most_ns", "most", Shown::kDuration, kMostGain}});
    table.is_whole = true;
    return table;
  }

  Table steps_table() const {
    Columns<StepPath> columns = {
        {"step", "step", &StepPath::name},
        {"start_ns", "at", Shown::kMoment, &StepPath::start_ns},
        {"duration_ns", "time", Shown::kDuration, &StepPath::length_ns},
        {"last", "ended last", [&](auto& step) { return rank_of(step.last); }},
        {"ranks", "ranks", Shown::kInteger, &StepPath::processes},
        {"waited_ns", "waiting for ranks", Shown::kDuration,
         [](auto& step) {
           std::int64_t waited_ns = 0;
           for (const StepPart& part : step.parts) {
             waited_ns += part.waited_in != StepPart::kNone ? part.end_ns - part.start_ns : 0;
           }
           return waited_ns;
         }},
        {"uncertain_ns", "uncertain", is_unsure() ? Shown::kDuration : Shown::kNot,
         &StepPath::unsure_ns}};
    for (std::size_t k = 0; k < kKindKeys.size(); ++k) {
      columns.push_back({std::string(kKindKeys[k]) + "_ns",
                         std::string(path_kind_text(static_cast<PathKind>(k))),
                         spent_ns_[k] > 0 ? Shown::kDuration : Shown::kNot,
                         [k](auto& step) { return step.spent_ns[k]; }});
    }
    return table_of(
        "steps", "Steps, in the order of time", paths_.steps, columns,
        {"ranks", "start_ns", "idle_ns", "copy_ns", "unknown_ns", "data_loader_ns", "last"});
  }

  Table ranks_table() const {
    struct Sum : SpentOn<std::uint32_t> {
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
    std::vector<Sum> ranks;
    for (auto& [process, sum] : sums) {
      sum.what = process;
      sum.gain = gain([&, at = process](const StepPath&, const StepPart& part) {
        return whose[part.process] == at && part.waited_in != StepPart::kNone;
      });
      ranks.push_back(sum);
    }
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const Sum& a, const Sum& b) { return a.waited_ns > b.waited_ns; });
    return table_of("ranks", "Ranks, by the time that others waited for them on the path", ranks,
                    {{"rank", "rank", Shown::kRank, [&](auto& one) { return rank_of(one.what); }},
                     {"host", "host", [&](auto& one) { return host_of(one.what); }},
                     {"spent_ns", "on the path", Shown::kDuration, &Sum::spent_ns},
                     percent_column<Sum>(),
                     {"times", "waited for", Shown::kInteger, "times", &Sum::times},
                     {"waited_ns", "waited for it", Shown::kDuration, &Sum::waited_ns},
                     {"gain_least_ns", "gain if on time, least", Shown::kDuration, kLeastGain},
                     {"gain_most_ns", "most", Shown::kDuration, kMostGain}},
                    {"host", "spent_percent", "times"});
  }

  Table exposed_table() const {
    const auto most = [](auto value) {
      return [=](const Exposed& one) { return one.most == nullptr ? Cell() : cell_of(value(one)); };
    };
    return table_of(
        "exposed", "Operations on the path that waited for another rank, the longest first",
        exposed_,
        {{"step", "step", [](auto& one) { return one.step->name; }},
         {"operation", "operation", [&](auto& one) { return operation_of(one.wait->operation); }},
         {"communicator", "communicator",
          [&](auto& one) { return communicator_of(one.wait->operation); }},
         {"rank", "exposed on", Shown::kRank, [&](auto& one) { return rank_of(one.wait->by); }},
         {"exposed_ns", "exposed", Shown::kDuration, exposed_ns},
         {"waits_for", "waiting for", Shown::kRank,
          [&](auto& one) { return rank_of(one.wait->waits_for); }},
         {"waited_ns", "waiting", Shown::kDuration, [](auto& one) { return one.wait->waited_ns; }},
         {"is_sure", "", Shown::kNot, [](auto& one) { return one.wait->is_sure; }},
         {"was_in", "which was in",
          most([&](auto& one) { return step_part_text(facts_, graphs_, *one.most); })},
         {"was_in_ns", "for", Shown::kDuration, most([](auto& one) { return one.most_ns; })},
         {"was_in_rank", "", Shown::kNot,
          most([&](auto& one) { return rank_number(rank_of(one.most->process)); })},
         {"line", "line", [&](auto& one) { return text_cell(line_of(one)); }}},
        {"communicator", "was_in_ns", "step"});
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
    struct Sum : SpentOn<const Kind*> {
      std::uint64_t operations = 0;
      std::uint64_t on_path = 0;
      std::int64_t transfer_ns = 0;
    };
    std::map<Kind, Sum> sums;
    std::map<std::uint32_t, const Kind*> on_path;  // operations
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        if (part.kind == PathKind::kCommunication && part.operation != StepPart::kNone) {
          const auto at = sums.try_emplace(kind_of(part.operation)).first;
          at->second.spent_ns += part.end_ns - part.start_ns;
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
    std::vector<Sum> kinds;
    for (auto& [kind, sum] : sums) {
      sum.what = &kind;
      sum.gain = gain([&, what = sum.what](const StepPath&, const StepPart& part) {
        const auto found = on_path.find(part.operation);
        return part.kind == PathKind::kCommunication && found != on_path.end() &&
               found->second == what;
      });
      kinds.push_back(sum);
    }
    std::stable_sort(kinds.begin(), kinds.end(),
                     [](const Sum& a, const Sum& b) { return a.spent_ns > b.spent_ns; });
    return table_of(
        "operations", "Operations of the steps: exposed on the path, and hidden behind other work",
        kinds,
        {{group_column(by_), [&](auto& one) { return group_cell(by_, std::get<3>(*one.what)); }},
         {"communicator", "communicator", [](auto& one) { return std::get<0>(*one.what); }},
         {"function", "function", [](auto& one) { return std::get<1>(*one.what); }},
         {"bytes", "size", Shown::kBytes, [](auto& one) { return std::get<2>(*one.what); }},
         {"operations", "operations", Shown::kInteger, &Sum::operations},
         {"on_path", "on the path", Shown::kInteger, &Sum::on_path},
         {"transfer_ns", "transfer, all", Shown::kDuration, &Sum::transfer_ns},
         {"exposed_ns", "exposed", Shown::kDuration, &Sum::spent_ns},
         {"exposed_percent", "of the steps", Shown::kNumber, "%", 1, percent_column<Sum>().value},
         {"gain_least_ns", "gain without it, least", Shown::kDuration, kLeastGain},
         {"gain_most_ns", "most", Shown::kDuration, kMostGain}},
        {"exposed_percent", "communicator", "transfer_ns"});
  }

  Table work_table() const {
    using Key = std::tuple<PathKind, std::string, std::string, std::string, std::string>;
    struct Sum : SpentOn<Key> {
      std::uint64_t times = 0;
    };
    std::map<Key, Sum> sums;
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        const PathNode* const node = node_of(part);
        if (node == nullptr || part.end_ns == part.start_ns ||
            part.kind == PathKind::kCommunication) {
          continue;
        }
        const metrics::PathLabel& label = names_of(part, *node);
        const bool is_between = part.is_gap && part.kind != node->kind;
        const Key key = {part.kind, std::string(text(part, label.where)),
                         is_between ? "to its start" : short_kernel(text(part, label.name)),
                         std::string(text(part, label.module)),
                         std::string(text(part, label.line))};
        Sum& sum = sums[key];
        sum.what = key;
        sum.spent_ns += part.end_ns - part.start_ns;
        ++sum.times;
      }
    }
    std::vector<Sum> order;
    order.reserve(sums.size());
    for (const auto& [key, sum] : sums) {
      order.push_back(sum);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Sum& a, const Sum& b) { return a.spent_ns > b.spent_ns; });
    return table_of(
        "work", "Work on the path, by operator and module", order,
        {{"kind", "spent on", [](auto& one) { return path_kind_text(std::get<0>(one.what)); }},
         {"operator", "operator", [](auto& one) { return text_cell(std::get<1>(one.what)); }},
         {"name", "kernel or call", [](auto& one) { return text_cell(std::get<2>(one.what)); }},
         {"module", "module", [](auto& one) { return text_cell(std::get<3>(one.what)); }},
         {"line", "line", [](auto& one) { return text_cell(std::get<4>(one.what)); }},
         {"times", "times", Shown::kInteger, &Sum::times},
         {"spent_ns", "time", Shown::kDuration, &Sum::spent_ns},
         percent_column<Sum>()},
        {"line", "times", "module"});
  }

  Table path_table() const {
    std::vector<std::pair<const StepPath*, const StepPart*>> parts;
    for (const StepPath& step : paths_.steps) {
      for (const StepPart& part : step.parts) {
        if (part.end_ns > part.start_ns) {
          parts.emplace_back(&step, &part);
        }
      }
    }
    const std::size_t all = parts.size();
    parts.resize(most_parts_ == 0 ? all : std::min(all, most_parts_));
    Table table = table_of(
        "path", "The path, in the order of time", parts,
        {{"step", "step", [](auto& one) { return one.first->name; }},
         {"start_ns", "at", Shown::kMoment, [](auto& one) { return one.second->start_ns; }},
         {"duration_ns", "time", Shown::kDuration,
          [](auto& one) { return one.second->end_ns - one.second->start_ns; }},
         {"rank", "rank", Shown::kRank, [&](auto& one) { return rank_of(one.second->process); }},
         {"spent", "spent on", [](auto& one) { return path_kind_text(one.second->kind); }},
         {"what", "in", [&](auto& one) { return step_part_text(facts_, graphs_, *one.second); }},
         {"waited_for", "waited for",
          [](auto& one) { return one.second->waited_in == StepPart::kNone ? Cell() : Cell(true); }},
         {"is_inferred", "", Shown::kNot, [](auto& one) { return one.second->is_inferred; }}},
        {"step"});
    table.left_out = all - parts.size();
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
    std::map<std::uint32_t, bool> has_steps;  // by file: a rank may have several profiles
    for (const ProcessGraph& process : graphs_) {
      has_steps[process.file] |= !process.graph.steps.empty();
    }
    const auto without_profile = std::count_if(has_steps.begin(), has_steps.end(),
                                               [](const auto& one) { return !one.second; });
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
  std::vector<Exposed> exposed_;          // the longest first
  std::int64_t whole_ns_ = 0;
  std::array<std::int64_t, metrics::kPathKinds> spent_ns_{};
};

}  // namespace

Document step_path_document(const StepPaths& paths, const std::vector<ProcessGraph>& graphs,
                            const facts::Facts& facts, metrics::RowsBy by, std::size_t most_parts) {
  if (paths.steps.empty()) {
    Document document{"critical-path"};
    document.sentences.push_back("No profile has such a step: there is no path to follow.");
    return document;
  }
  return Maker(paths, graphs, facts, by, most_parts).make();
}

}  // namespace ringside::report
