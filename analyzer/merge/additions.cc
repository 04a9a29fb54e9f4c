// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/additions.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/findings.h"
#include "analyzer/merge/slice_rows.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::merge {
namespace {

// Where the slice of a rank's operation ends in the merged file.
struct SliceEnd {
  std::uint64_t operation = 0;  // its index in its file
  std::int64_t end_ns = 0;
};

// An operation as it was read.
struct Known {
  facts::OperationFacts facts;
  std::vector<facts::RankTimes> rows;
  std::vector<SliceEnd> ends;  // by row; of ranks that waited
};

class Adder {
 public:
  Adder(const facts::Facts& facts, bool has_arrows, Plan& plan)
      : traces_(facts.traces()),
        matches_(facts.matches()),
        alignment_(facts.alignment()),
        has_arrows_(has_arrows),
        arrows_(plan.arrows),
        processes_(traces_.files.size()),
        first_(plan.processes.data()) {
    for (ProcessPlan& process : plan.processes) {
      processes_[process.file] = &process;
    }
  }

  void add(std::size_t index, const Known& known) {
    const match::MatchedOperation& operation = matches_.operations[index];
    add_waits(index, known.facts, known.rows, known.ends);
    if (!has_arrows_ || match::is_to_self(operation)) {
      return;
    }
    if (operation.way == match::Way::kPair && operation.part_count == 2) {
      const auto parts = match::parts_of(matches_, operation);
      add_transfer(parts[0], parts[1]);
    } else if (operation.way == match::Way::kGroup && !is_of_all(operation)) {
      add_group(operation);
    }
  }

 private:
  std::int64_t common_ns(const match::Part& part, std::int64_t time_ns) const {
    return alignment_.to_common_ns(part.file, time_ns);
  }

  std::uint32_t process_of(std::uint32_t file) const {
    return static_cast<std::uint32_t>(processes_[file] - first_);
  }

  void add_begin(const match::Part& part, std::int64_t at_ns) {
    ++arrows_;
    processes_[part.file]->arrow_ends.push_back(
        {part.operation, at_ns, arrows_, process_of(part.file), true});
  }

  // `from` is the file where the last arrow begins.
  void add_end(std::uint32_t file, std::uint64_t operation, std::int64_t at_ns,
               std::uint32_t from) {
    processes_[file]->arrow_ends.push_back({operation, at_ns, arrows_, process_of(from), false});
  }

  // Adds what each rank surely waited, and an arrow from the arrival of the rank that it waited for
  // to its own end.
  void add_waits(std::size_t index, const facts::OperationFacts& known,
                 const std::vector<facts::RankTimes>& rows, const std::vector<SliceEnd>& ends) {
    if (known.is_impossible || known.ranks_timed < 2) {
      return;
    }
    const bool has_arrows =
        has_arrows_ && known.has_all_ranks && is_of_all(matches_.operations[index]);
    std::vector<bool> has_begun(has_arrows ? rows.size() : 0);  // by row of the rank waited for
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const facts::RankTimes& row = rows[i];
      if (row.waits_for == facts::RankTimes::kNobody || row.wait.least_ns == 0) {
        continue;
      }
      const facts::RankTimes& last = rows[row.waits_for];
      if (subtract_saturating(last.arrival_ns, row.arrival_ns) <=
          facts::clock_error_ns(row, last)) {
        continue;
      }
      const std::int64_t end_ns = std::min(row.end_ns, ends[i].end_ns);
      const std::int64_t until_ns =
          std::min(add_saturating(row.arrival_ns, row.best_wait_ns), end_ns);
      const std::int64_t uncertainty_ns =
          std::max(subtract_saturating(row.best_wait_ns, row.wait.least_ns),
                   subtract_saturating(row.wait.most_ns, row.best_wait_ns));
      processes_[row.file]->waits.push_back(
          {ends[i].operation, until_ns, uncertainty_ns, process_of(last.file)});
      if (has_arrows && end_ns > last.arrival_ns + kRounding_ns) {
        if (!has_begun[row.waits_for]) {
          has_begun[row.waits_for] = true;
          add_begin(matches_.parts[last.part], last.arrival_ns);
        }
        add_end(row.file, ends[i].operation, end_ns, last.file);
      }
    }
  }

  // Pairs, and groups that are made of them, have the arrows of their messages instead.
  static bool is_of_all(const match::MatchedOperation& operation) {
    return operation.way != match::Way::kPair &&
           (operation.way != match::Way::kGroup || operation.pattern == match::Pattern::kAlltoAll ||
            operation.pattern == match::Pattern::kAlltoAllv);
  }

  void add_transfer(const match::Part& from, const match::Part& to) {
    const model::Operation send = match::operation_of(traces_, from);
    const model::Operation receive = match::operation_of(traces_, to);
    if (!facts::ran_to_its_end(send) || !facts::ran_to_its_end(receive)) {
      return;
    }
    const std::int64_t begin_ns = common_ns(from, *send.start_ns);
    const std::int64_t end_ns = common_ns(to, *receive.end_ns);
    if (!alignment_.uncertainty_ns(from.file, to.file, begin_ns)) {
      return;
    }
    if (end_ns > begin_ns + kRounding_ns) {
      add_begin(from, begin_ns);
      add_end(to.file, to.operation, end_ns, from.file);
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

void find_ends(const facts::Facts& facts, const facts::SeenOperation& seen,
               std::vector<SliceEnd>& ends) {
  const match::Matches& matches = facts.matches();
  ends.assign(seen.rows.size(), {});
  for (std::size_t i = 0; i < seen.rows.size(); ++i) {
    const facts::RankTimes& row = seen.rows[i];
    if (row.waits_for != facts::RankTimes::kNobody) {
      const std::size_t part = row.part - matches.operations[seen.index].first_part;
      const model::Execution& one = seen.executions[part];
      ends[i] = {seen.parts[part].operation, facts.alignment().to_common_ns(row.file, *one.end_ns)};
    }
  }
}

std::string communicator_text(const match::Communicator& communicator) {
  return communicator.name.empty() ? communicator.hash : communicator.name;
}

void add_findings(const facts::Facts& facts, std::size_t count,
                  const std::vector<ProcessPlan*>& processes) {
  const model::Traces& traces = facts.traces();
  const match::Matches& matches = facts.matches();
  const align::Alignment& alignment = facts.alignment();
  const std::vector<match::Judgement>& judgements = facts.judgements();
  for (const auto& findings : match::find_findings(traces, matches, judgements, count)) {
    for (const std::size_t i : findings.described) {
      const match::MatchedOperation& operation = matches.operations[i];
      const auto parts = match::parts_of(matches, operation);
      // A lack of records may be a late recording: it is marked only where others are stuck.
      const bool is_in_flight = std::any_of(parts.begin(), parts.end(), [&](const auto& part) {
        return !match::operation_of(traces, part).end_ns;
      });
      if (match::gravity(judgements[i].verdict) < 2 && !is_in_flight) {
        continue;
      }
      const std::string text = std::string(match::verdict_name(judgements[i].verdict)) + ": " +
                               match::describe(traces, matches, judgements, i) + " (" +
                               communicator_text(matches.communicators[operation.communicator]) +
                               ')';
      std::optional<std::uint32_t> member;  // a rank of a group has several parts
      for (const match::Part& part : parts) {
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

void add_additions(const facts::Facts& facts, const PlanOptions& options, Plan& plan) {
  // A block's ranks are found on all cores, then used in order.
  constexpr std::size_t kOperations = 4096;
  constexpr std::size_t kParts = std::size_t{1} << 17;
  const auto& operations = facts.matches().operations;
  Adder adder(facts, options.has_arrows, plan);
  std::vector<Known> known;
  std::vector<match::Executions> executions(core_count());
  std::size_t end = 0;
  for (std::size_t begin = 0; begin < operations.size(); begin = end) {
    for (std::size_t parts = 0;
         end < operations.size() && end - begin < kOperations && parts < kParts; ++end) {
      parts += operations[end].part_count;
    }
    known.resize(std::max(known.size(), end - begin));
    constexpr std::size_t kTogether = match::Executions::kAtATime;
    for_each_on_cores((end - begin) / kTogether + 1, [&](std::size_t thread, std::size_t portion) {
      const std::size_t first = portion * kTogether;
      facts.ranks_of_each(match::portion_of(begin + first, kTogether, end), executions[thread],
                          [&](std::size_t i, const facts::SeenOperation& seen) {
                            Known& made = known[first + i];
                            find_ends(facts, seen, made.ends);
                            made.facts = seen.facts;
                            made.rows.swap(seen.rows);
                          });
    });
    for (std::size_t i = begin; i < end; ++i) {
      if (!match::disagrees(facts.judgements()[i])) {
        adder.add(i, known[i - begin]);
      }
    }
  }
  // The ids of one file are near each other in memory, those of one operation are not.
  for_each_on_cores(plan.processes.size(), [&](std::size_t, std::size_t i) {
    ProcessPlan& process = plan.processes[i];
    const model::Operations& own = facts.traces().files[process.file].operations;
    for (Wait& wait : process.waits) {
      wait.operation = own.id(wait.operation);
    }
    for (ArrowEnd& one : process.arrow_ends) {
      one.operation = own.id(one.operation);
    }
  });
  std::vector<ProcessPlan*> processes(facts.traces().files.size());  // by file
  for (ProcessPlan& process : plan.processes) {
    processes[process.file] = &process;
  }
  for (const match::Communicator& communicator : facts.matches().communicators) {
    for (const match::Member& member : communicator.members) {
      const auto& contexts = facts.traces().files[member.file].contexts;
      if (communicator.name != contexts.at(member.context).name) {
        processes[member.file]->names[member.context] = communicator.name;
      }
    }
  }
  add_findings(facts, options.marks, processes);
}

}  // namespace ringside::merge
