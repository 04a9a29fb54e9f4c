// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/additions.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>

#include "analyzer/match/describe.h"
#include "analyzer/match/findings.h"
#include "analyzer/metrics/timing.h"
#include "analyzer/report/numbers.h"

namespace ringside::merge {
namespace {

// A viewer reads times as doubles, which late in a base period are 1 to 2 ns coarse: what shall be
// later must be so by more.
constexpr std::int64_t kRounding_ns = 3;

class Adder {
 public:
  Adder(const model::Traces& traces, const match::Matches& matches,
        const align::Alignment& alignment, bool has_arrows, Plan& plan)
      : traces_(traces),
        matches_(matches),
        alignment_(alignment),
        has_arrows_(has_arrows),
        arrows_(plan.arrows),
        processes_(traces.files.size()),
        first_(plan.processes.data()) {
    for (ProcessPlan& process : plan.processes) {
      processes_[process.file] = &process;
    }
  }

  void add(const match::MatchedOperation& operation) {
    if (metrics::is_synchronising(traces_, operation)) {
      add_collective(operation);
    } else if (has_arrows_ && operation.way == match::Way::kPair && operation.part_count == 2 &&
               !match::is_to_self(operation)) {
      const auto parts = match::parts_of(matches_, operation);
      add_transfer(parts[0], parts[1]);
    } else if (has_arrows_ && operation.way == match::Way::kGroup) {
      add_group(operation);
    }
  }

 private:
  std::int64_t common_ns(const match::Part& part, std::int64_t time_ns) const {
    return alignment_.to_common_ns(part.file, time_ns);
  }

  void add_end(const match::Part& part, std::uint64_t operation, std::int64_t at_ns, bool begins) {
    processes_[part.file]->arrow_ends.push_back({operation, at_ns, arrows_, begins});
  }

  // Else a rank that left no trace may have been the last.
  bool is_whole(const match::MatchedOperation& operation) const {
    return match::ranks_seen(matches_, operation) == match::ranks_expected(matches_, operation);
  }

  void add_collective(const match::MatchedOperation& operation) {
    const auto timing = metrics::timing_of(traces_, matches_, alignment_, operation);
    if (!timing || !timing->has_ends || timing->is_impossible || !is_whole(operation)) {
      return;
    }
    const match::Part& last = matches_.parts[timing->arrivals.back().part];
    const model::Operation last_one = match::operation_of(traces_, last);
    const std::int64_t last_ns = common_ns(last, *last_one.start_ns);
    const bool has_arrow = has_arrows_ && timing->is_decided();
    bool has_begun = false;
    for (std::size_t i = 0; i + 1 < timing->arrivals.size(); ++i) {
      const match::Part& part = matches_.parts[timing->arrivals[i].part];
      const model::Operation one = match::operation_of(traces_, part);
      const std::int64_t end_ns = common_ns(part, *one.end_ns);
      const auto uncertainty_ns = alignment_.uncertainty_ns(part.file, last.file, last_ns);
      const std::int64_t until_ns = std::min(timing->last_start_ns(), end_ns);
      if (uncertainty_ns &&
          until_ns - common_ns(part, *one.start_ns) > *uncertainty_ns + metrics::kStampNoise_ns) {
        processes_[part.file]->waits.push_back(
            {one.id, until_ns, *uncertainty_ns,
             static_cast<std::uint32_t>(processes_[last.file] - first_)});
      }
      if (has_arrow && end_ns > last_ns + kRounding_ns) {
        if (!has_begun) {
          ++arrows_;
          add_end(last, last_one.id, last_ns, true);
          has_begun = true;
        }
        add_end(part, one.id, end_ns, false);
      }
    }
  }

  void add_transfer(const match::Part& from, const match::Part& to) {
    const model::Operation send = match::operation_of(traces_, from);
    const model::Operation receive = match::operation_of(traces_, to);
    if (!metrics::ran_to_its_end(send) || !metrics::ran_to_its_end(receive)) {
      return;
    }
    const std::int64_t begin_ns = common_ns(from, *send.start_ns);
    const std::int64_t end_ns = common_ns(to, *receive.end_ns);
    if (!alignment_.uncertainty_ns(from.file, to.file, begin_ns)) {
      return;
    }
    if (end_ns > begin_ns + kRounding_ns) {
      ++arrows_;
      add_end(from, send.id, begin_ns, true);
      add_end(to, receive.id, end_ns, false);
    }
  }

  // The k-th send to a rank is what that rank's k-th receive from here takes.
  void add_group(const match::MatchedOperation& group) {
    const auto& members = matches_.communicators[group.communicator].members;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<match::Part>> sends;
    for (const bool is_for_sends : {true, false}) {
      for (const match::Part& part : match::parts_of(matches_, group)) {
        const model::Operation one = match::operation_of(traces_, part);
        const auto rank = members[part.member].rank;
        const bool is_send = traces_.names.text(one.func) == std::string_view("Send");
        if (!rank || !one.peer || *rank == *one.peer || is_send != is_for_sends) {
          continue;
        }
        if (is_send) {
          sends[{*rank, *one.peer}].push_back(part);
        } else if (auto& of_pair = sends[{*one.peer, *rank}]; !of_pair.empty()) {
          add_transfer(of_pair.front(), part);
          of_pair.pop_front();
        }
      }
    }
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  bool has_arrows_;
  std::uint64_t& arrows_;
  std::vector<ProcessPlan*> processes_;  // by file
  const ProcessPlan* first_;
};

std::string communicator_text(const match::Communicator& communicator) {
  return communicator.name.empty() ? communicator.hash : communicator.name;
}

void add_late_marks(const model::Traces& traces, const match::Matches& matches,
                    const align::Alignment& alignment, std::size_t count,
                    const std::vector<ProcessPlan*>& processes) {
  std::vector<std::pair<std::int64_t, std::size_t>> late;  // less is later
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    if (!metrics::is_synchronising(traces, operation) ||
        match::ranks_seen(matches, operation) != match::ranks_expected(matches, operation)) {
      continue;
    }
    const auto timing = metrics::timing_of(traces, matches, alignment, operation);
    if (timing && timing->is_decided() && !timing->is_impossible) {
      late.emplace_back(-timing->margin_ns(), i);
    }
  }
  count = std::min(count, late.size());
  std::partial_sort(late.begin(), late.begin() + static_cast<std::ptrdiff_t>(count), late.end());
  late.resize(count);
  for (const auto& [negative_ns, i] : late) {
    const match::MatchedOperation& operation = matches.operations[i];
    const auto timing = metrics::timing_of(traces, matches, alignment, operation);
    ProcessPlan& process = *processes[matches.parts[timing->arrivals.back().part].file];
    const char* const did =
        timing->from == metrics::ArrivalFrom::kExecution ? " began " : " called ";
    process.marks.push_back(
        {timing->last_start_ns(),
         "late: " + process.label + did + match::operation_text(traces, operation) + " of " +
             communicator_text(matches.communicators[operation.communicator]) + ' ' +
             report::fixed(static_cast<double>(timing->margin_ns()) / 1e6, 3) +
             " ms after all others"});
  }
}

void add_findings(const model::Traces& traces, const match::Matches& matches,
                  const align::Alignment& alignment,
                  const std::vector<match::Judgement>& judgements, std::size_t count,
                  const std::vector<ProcessPlan*>& processes) {
  for (const auto& findings : match::find_findings(traces, matches, judgements, count)) {
    for (const std::size_t i : findings.described) {
      if (match::gravity(judgements[i].verdict) < 2) {
        continue;
      }
      const match::MatchedOperation& operation = matches.operations[i];
      const std::string text = std::string(match::verdict_name(judgements[i].verdict)) + ": " +
                               match::describe(traces, matches, judgements, i) + " (" +
                               communicator_text(matches.communicators[operation.communicator]) +
                               ')';
      std::optional<std::uint32_t> member;  // a rank of a group has several parts
      for (const match::Part& part : match::parts_of(matches, operation)) {
        const model::Operation one = match::operation_of(traces, part);
        const auto time_ns = one.enqueue_start_ns ? one.enqueue_start_ns : one.start_ns;
        if (time_ns && member != part.member) {
          processes[part.file]->marks.push_back(
              {alignment.to_common_ns(part.file, *time_ns), text});
          member = part.member;
        }
      }
    }
  }
}

}  // namespace

void add_waits_and_arrows(const model::Traces& traces, const match::Matches& matches,
                          const align::Alignment& alignment,
                          const std::vector<match::Judgement>& judgements,
                          const PlanOptions& options, Plan& plan) {
  Adder adder(traces, matches, alignment, options.has_arrows, plan);
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    if (!match::disagrees(judgements[i])) {
      adder.add(matches.operations[i]);
    }
  }
}

void add_marks(const model::Traces& traces, const match::Matches& matches,
               const align::Alignment& alignment, const std::vector<match::Judgement>& judgements,
               const PlanOptions& options, Plan& plan) {
  std::vector<ProcessPlan*> processes(traces.files.size());  // by file
  for (ProcessPlan& process : plan.processes) {
    processes[process.file] = &process;
  }
  add_late_marks(traces, matches, alignment, options.marks, processes);
  add_findings(traces, matches, alignment, judgements, options.marks, processes);
}

}  // namespace ringside::merge
