// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/hang/hang_sentences.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/call_site.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/match_sentences.h"

namespace ringside::report {
namespace {

using match::Difference;
using metrics::Blocker;
using metrics::StuckOperation;
using metrics::WaitsFor;

}  // namespace

// Whether one moment was before the other, whatever the clocks leave open.
bool HangSentences::is_surely_before(std::uint32_t file, std::int64_t time_ns,
                                     std::uint32_t other_file, std::int64_t other_ns) const {
  const auto uncertainty_ns = alignment_.uncertainty_ns(file, other_file, time_ns);
  return metrics::elapsed_ns(time_ns, other_ns) > uncertainty_ns.value_or(align::kUnboundClocks_ns);
}

// Says what became of a rank that has not joined: its last sign of life.
std::string HangSentences::fate(std::uint32_t position, const StuckOperation& of) const {
  const metrics::Position& at = hang_.positions[position];
  const model::TraceFile& file = traces_.files[at.file];
  const std::int64_t end_ns = alignment_.to_common_ns(at.file, metrics::end_of_trace_ns(file));
  std::string text = " Rank " + (at.rank ? std::to_string(*at.rank) : std::string("?"));
  const bool has_finished = at.last_finished.has_value();
  if (!has_finished && !(of.is_only_called && at.last_enqueued)) {
    text += of.is_only_called ? " has called nothing there." : " has finished nothing there.";
  } else {
    const model::Operation& last =
        file.operations[has_finished ? *at.last_finished : *at.last_enqueued];
    const auto last_ns = has_finished ? last.end_ns : last.enqueue_start_ns;
    text += (has_finished ? " finished " : " called ") + text_.name_of(last) + " there last";
    if (last.called_by != model::kNoName) {
      text += has_finished ? ", called at " : ", at ";
      text += model::call_site(traces_.names.text(last.called_by));
    }
    text +=
        last_ns ? ", at " + time_of_day(alignment_.to_common_ns(at.file, *last_ns)) + " UTC." : ".";
  }
  if (!file.process.tells_begin) {
    text += unfinished(at.file);
  }
  if (!file.process.dump) {
    text += file.recovered ? " Its trace was recovered; its last sign of life is at "
                           : " Its trace was closed, so the process has ended, at ";
    text += time_of_day(end_ns) + " UTC";
    text += is_surely_before(at.file, end_ns, of.since_file, of.since_ns)
                ? ", before the others came."
                : ".";
  }
  return text;
}

// A dump from before the hang shows its rank as one that has not joined.
std::string HangSentences::supposed(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  const auto& blockers = stuck.blockers;
  const auto limit_ns = [](const Blocker& blocker) {
    return blocker.supposed_ns.value_or(std::numeric_limits<std::int64_t>::max());
  };
  const auto one = std::min_element(
      blockers.begin(), blockers.end(),
      [&](const Blocker& a, const Blocker& b) { return limit_ns(a) < limit_ns(b); });
  if (one == blockers.end() || !one->supposed_ns) {
    return {};
  }
  // All others are on the clock of the reference, as far as they are known.
  const std::uint32_t file = hang_.positions[one->position].file;
  const auto& hosts = alignment_.hosts();
  const auto unbound = [&](std::uint32_t of) { return !hosts[alignment_.host_of(of)].is_bounded; };
  const std::string host = traces_.files[unbound(file) ? file : stuck.since_file].process.host;
  return " This supposes that the clock of host " + host +
         ", which nothing compares with the others', differs from them by less than " +
         human_duration(*one->supposed_ns) + ": a dump older than the hang shows nothing.";
}

// The call that a process has made and not finished: that may be why it has not joined another.
std::string HangSentences::unfinished(std::uint32_t file) const {
  const metrics::Position* first = nullptr;
  const auto since_ns = [](const metrics::Position& position) {
    return position.fronts.front().since_ns;
  };
  for (const metrics::Position& position : hang_.positions) {
    if (position.file == file && !position.fronts.empty() &&
        (first == nullptr || since_ns(position) < since_ns(*first))) {
      first = &position;
    }
  }
  return first == nullptr
             ? ""
             : " It has called " +
                   text_.name_of(traces_.files[file].operations[first->fronts.front().operation]) +
                   " of communicator " + text_.label(first->communicator) +
                   ", which is not seen to finish.";
}

// A process that was stopped may have joined before. The silence of its drain thread shows it:
// a thread that runs gives a sign about once a second (RINGSIDE_DRAIN_MS is a second at most).
std::string HangSentences::silent(std::uint32_t operation) const {
  constexpr std::int64_t kTooLong_ns = 2'000'000'000;
  const auto communicator = hang_.matched(hang_.operations[operation]).communicator;
  std::vector<std::string> places;
  std::int64_t longest_ns = 0;
  for (std::uint32_t i = 0; i < hang_.positions.size(); ++i) {
    const metrics::Position& at = hang_.positions[i];
    const std::int64_t silent_ns = traces_.files[at.file].silent_ns.value_or(0);
    if (at.communicator == communicator && silent_ns >= kTooLong_ns) {
      places.push_back(text_.place(i));
      longest_ns = std::max(longest_ns, silent_ns);
    }
  }
  if (places.empty()) {
    return {};
  }
  const std::size_t more = places.size() - 1;
  return " The process of rank " + places.front() +
         (more == 0 ? "" : ", and of " + counted(more, "more rank", "more ranks") + ',') +
         " lives, but had given no sign of life for " + human_duration(longest_ns) +
         " when its rings were read: it is stopped, or gets no processor.";
}

// Says what the ranks called in the place of this operation. Some of these calls may not be stuck,
// since NCCL shows no more of them than the call.
std::string HangSentences::other_functions(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  const auto communicator = hang_.matched(stuck).communicator;
  std::string text = "The ranks of communicator " + text_.label(communicator) +
                     " do not call the same, and wait for each other: in the same place, ";
  bool is_first = true;
  for (const match::Side& side :
       match::sides_of(traces_, hang_.matches, hang_.judgements, stuck.matched)) {
    text += (is_first ? "" : ", ") + match::rank_list(side.ranks) + " called " + side.did;
    is_first = false;
  }
  return stuck.waited_ns
             ? text + "; " + text_.waited(operation) + " in " + text_.short_name_of(operation) + '.'
             : text + '.';
}

std::string HangSentences::difference(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  const std::vector<match::Side> sides =
      match::sides_of(traces_, hang_.matches, hang_.judgements, stuck.matched);
  const std::vector<std::string> texts =
      side_texts(traces_, hang_.matches, hang_.matched(stuck), sides, stuck.differs);
  const bool are_totals = stuck.differs == Difference::kTotals;
  std::vector<std::string> said;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (!are_totals || sides[i].did != "0") {
      said.push_back(texts[i] + " on " + match::rank_list(sides[i].ranks));
    }
  }
  std::sort(said.begin(), said.end());
  return (are_totals
              ? "The ranks together do not take as many elements as they give in " +
                    text_.name_of(operation) + "; more given than taken: "
              : std::string("The ranks disagree in the ") + match::difference_name(stuck.differs) +
                    " of " + text_.name_of(operation) + ": ") +
         model::joined(said, said.size()) + "; " + text_.waited(operation) + '.';
}

// Tells of the transfer that says most: one in the network, before one that waits for credit.
std::string HangSentences::evidence(std::uint32_t operation) const {
  const auto& waiting = hang_.operations[operation].waiting;
  std::map<std::uint32_t, std::set<WaitsFor>> of_rank;
  bool any = false;
  const metrics::OpenTransfers* best = nullptr;
  const auto weight = [](const metrics::OpenTransfers& open) {
    return open.waits_for == WaitsFor::kNetwork ? 2 : open.waits_for == WaitsFor::kCredit ? 1 : 0;
  };
  for (const metrics::OpenTransfers& open : transfers_) {
    if (std::find(waiting.begin(), waiting.end(), open.position) == waiting.end()) {
      continue;
    }
    any = true;
    of_rank[open.position].insert(open.waits_for);
    if (weight(open) > (best == nullptr ? 0 : weight(*best))) {
      best = &open;
    }
  }
  if (!any) {
    const auto& first = hang_.positions[waiting.front()];
    return traces_.files[first.file].process.tells_begin
               ? " Nothing of the network is seen in flight."
               : "";
  }
  if (best != nullptr) {
    return " Rank " + text_.place(best->position) +
           (best->waits_for == WaitsFor::kNetwork ? " has sent data that the network has not "
                                                    "delivered to rank "
                                                  : " waits for the credit of rank ") +
           std::to_string(best->peer) + ", on channel " + std::to_string(best->channel) + ", for " +
           human_duration(best->longest_ns) + '.';
  }
  for (const auto& [position, waits_for] : of_rank) {
    if (waits_for == std::set<WaitsFor>{WaitsFor::kGpu} && of_rank.size() > 1) {
      return " Rank " + text_.place(position) + " waits for its GPU alone, not for data.";
    }
  }
  const bool is_stated = std::any_of(of_rank.begin(), of_rank.end(), [](const auto& entry) {
    return !entry.second.contains(WaitsFor::kNotTold);
  });
  return is_stated
             ? " No transfer stands out; the table shows what each rank waits for."
             : " What the network waits for is not recorded. To record it: ringside run --events "
               "default,steps -- COMMAND";
}

// The lines of the program that called what is stuck; empty if no trace tells them.
std::string HangSentences::called_at(std::uint32_t operation) const {
  std::vector<std::string> calls;
  const auto add = [&](const std::string& what, const std::vector<match::Caller>& callers) {
    if (!callers.empty()) {
      calls.push_back(what + " at " + match::call_sites(traces_, callers));
    }
  };
  const StuckOperation& stuck = hang_.operations[operation];
  if (text_.is_in_cycle(operation)) {
    for (const std::uint32_t of_cycle : hang_.cycle) {
      add(text_.short_name_of(of_cycle), text_.callers(of_cycle));
    }
  } else if (stuck.differs == Difference::kFunction) {
    for (const match::Side& side :
         match::sides_of(traces_, hang_.matches, hang_.judgements, stuck.matched)) {
      add(side.did, side.callers);
    }
  } else {
    add(text_.short_name_of(operation), text_.callers(operation));
  }
  constexpr std::size_t kListed = 4;
  return calls.empty() ? "" : " The program called " + model::joined(calls, kListed) + '.';
}

std::string HangSentences::sentence(std::uint32_t operation) const {
  return answer(operation) + ranks_of_job(operation) + called_at(operation);
}

// Which ranks of the job those of the sentence are, where they may be taken for others.
std::string HangSentences::ranks_of_job(std::uint32_t operation) const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> named;  // ranks, by communicator
  const auto add_position = [&](std::uint32_t index) {
    const metrics::Position& position = hang_.positions[index];
    auto& ranks = named[position.communicator];
    if (position.rank) {
      ranks.push_back(*position.rank);
    }
  };
  const auto add = [&](std::uint32_t i) {
    const StuckOperation& stuck = hang_.operations[i];
    const auto& matched = hang_.matched(stuck);
    auto& ranks = named[matched.communicator];
    if (matched.way == match::Way::kPair) {
      ranks.insert(ranks.end(), {matched.source, matched.destination});
    }
    for (const Blocker& blocker : stuck.blockers) {
      add_position(blocker.position);
      if (blocker.stuck_in) {
        named[hang_.matched(hang_.operations[*blocker.stuck_in]).communicator];
      }
    }
    const auto& unread = hang_.unread(stuck);
    ranks.insert(ranks.end(), unread.begin(), unread.end());
  };
  add(operation);
  if (text_.is_in_cycle(operation)) {
    for (const std::uint32_t of_cycle : hang_.cycle) {
      add(of_cycle);
    }
  }
  std::string text;
  for (const auto& [communicator, ranks] : named) {
    const std::string of_one = text_.job_ranks().text(communicator, ranks);
    text += of_one.empty() ? "" : ' ' + of_one + '.';
  }
  return text;
}

std::string HangSentences::not_known(std::uint32_t operation) const {
  const auto& unread = hang_.unread(hang_.operations[operation]);
  const bool is_one = unread.size() == 1;
  return (unread.empty()
              ? std::string("Records are not complete, so whether all ranks have joined ")
              : "No dump of " + counted(unread.size(), "rank") + " was read, so whether " +
                    (is_one ? "it has" : "they have") + " joined ") +
         text_.name_of(operation) + " cannot be known; " + text_.waited(operation) + '.';
}

// "ranks 0, 1 have, for 41.0 s": of an operation that is not seen to run.
std::string HangSentences::called_for(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  const std::vector<std::uint32_t> ranks = text_.waiting_ranks(operation);
  return match::rank_list(ranks) + (ranks.size() == 1 ? " has, for " : " have, for ") +
         human_duration(stuck.waited_ns.value_or(0));
}

// Nothing but calls is known, and they leave it open.
std::string HangSentences::undecided(const metrics::UndecidedCall& call) const {
  const std::string name = text_.name_of_matched(call.matched);
  if (!call.silent_ns) {
    return "all ranks have called " + name +
           ", and no dump says that it has begun or ended: whether it is stuck is not known. "
           "TORCH_NCCL_ENABLE_TIMING=1 records whether it has begun, and `ringside run -- "
           "COMMAND`, "
           "too";
  }
  const std::string silent = " called nothing for " + human_duration(*call.silent_ns);
  return (call.not_called
              ? "Rank " + text_.place(*call.not_called) + " has probably stopped before " + name +
                    ": it has not called it, and has" + silent
              : name + " is probably stuck: all ranks have called it, and have" + silent) +
         (call.times_before > 0
              ? ", as " + counted(call.times_before, "time") + " before"
              : "; kernel channels, which show whether it runs, are not in the traces");
}

std::string HangSentences::answer(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  const std::string name = text_.name_of(operation);
  const std::string unknown = text_.unknown_ranks(operation);
  const std::string nothing_known = unknown.empty() ? "" : " Not known: " + unknown + '.';
  switch (text_.cause_of(operation)) {
    case Cause::kMismatch:
      return stuck.differs == Difference::kNone ||
                     (stuck.differs == Difference::kFunction && text_.is_in_cycle(operation))
                 ? cycle_sentence()
             : stuck.differs == Difference::kFunction ? other_functions(operation)
                                                      : difference(operation);
    case Cause::kDeadlock:
      return cycle_sentence();
    case Cause::kNotJoined: {
      const auto one = std::find_if(stuck.blockers.begin(), stuck.blockers.end(),
                                    [](auto& b) { return b.why == Blocker::Why::kNotJoined; });
      return text_.blockers_text(operation, Blocker::Why::kNotJoined) +
             (stuck.is_only_called ? " not called " + name + "; " + called_for(operation)
                                   : " not joined " + name + "; " + text_.waited(operation)) +
             '.' + fate(one->position, stuck) + supposed(operation) + silent(operation) +
             nothing_known;
    }
    case Cause::kNotBegun:
      return text_.blockers_text(operation, Blocker::Why::kNotBegun) + " called " + name +
             ", but the kernel has not begun there; " + text_.waited(operation) + '.' +
             silent(operation) + nothing_known;
    case Cause::kWaits:
      for (const Blocker& blocker : stuck.blockers) {
        if (blocker.stuck_in) {
          return capitalised(name) + " waits for rank " + text_.place(blocker.position) +
                 ", which is stuck in " + text_.name_of(*blocker.stuck_in) + '.';
        }
      }
      return {};
    case Cause::kUndecided:
      if (stuck.is_unknown) {
        return not_known(operation) + nothing_known;
      }
      return counted(stuck.waiting.size(), "rank") + (stuck.waiting.size() == 1 ? " is" : " are") +
             (stuck.waited_ns ? " stuck in " + name + ", for " + human_duration(*stuck.waited_ns)
                              : " not seen to finish " + name) +
             "; whether all have joined it is unknown." + silent(operation) + nothing_known;
    case Cause::kAllJoined:
      break;
  }
  return "All ranks have joined " + name + "; " + text_.waited(operation) + '.' +
         evidence(operation) + silent(operation);
}

std::string HangSentences::disagreement() const {
  const auto& first = hang_.matched(hang_.operations[hang_.cycle.front()]);
  std::string text = "The ranks of communicator " + text_.label(first.communicator) +
                     " do not call the same, and wait for each other: ";
  for (std::size_t i = 0; i < hang_.cycle.size(); ++i) {
    const std::uint32_t operation = hang_.cycle[i];
    const bool is_one = hang_.operations[operation].waiting.size() == 1;
    text += (i == 0 ? "" : "; ") + match::rank_list(text_.waiting_ranks(operation)) +
            (is_one ? " is" : " are") + " stuck in " + text_.short_name_of(operation);
  }
  const std::uint32_t one = hang_.cycle.front();
  return text + (hang_.operations[one].waited_ns ? "; " + text_.waited(one) : "") + '.';
}

std::string HangSentences::cycle_sentence() const {
  if (text_.is_cycle_of_one_communicator()) {
    return disagreement();
  }
  const auto& cycle = hang_.cycle;
  std::string text;
  bool is_sure = true;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::uint32_t next = cycle[(i + 1) % cycle.size()];
    const auto& blockers = hang_.operations[cycle[i]].blockers;
    const auto found = std::find_if(blockers.begin(), blockers.end(),
                                    [&](const Blocker& b) { return b.stuck_in == next; });
    is_sure = is_sure && found->why != Blocker::Why::kNotBegun;
    text += (i == 0 ? "" : ", which waits for ") +
            (i == 0 ? text_.name_of(cycle[i]) + " waits for rank " : std::string("rank ")) +
            text_.place(found->position) + ", stuck in " + text_.name_of(next);
  }
  // If a kernel was not seen to begin, its GPU may be busy with the other one.
  return (is_sure ? "Deadlock: " : "Deadlock, as far as can be seen: ") + text +
         ". The ranks have entered these in different orders.";
}

std::string HangSentences::first_stopped() const {
  std::map<std::uint32_t, std::uint32_t> first;  // by communicator: its first stuck operation
  for (std::uint32_t i = 0; i < hang_.operations.size(); ++i) {
    first.try_emplace(hang_.matched(hang_.operations[i]).communicator, i);
  }
  // A dump without its moment tells only when a call was made: it may have waited in a queue.
  const bool is_stated = std::all_of(first.begin(), first.end(), [&](const auto& entry) {
    return hang_.operations[entry.second].waited_ns.has_value();
  });
  if (first.size() < 2 || !is_stated) {
    return {};
  }
  std::vector<std::uint32_t> order;
  order.reserve(first.size());
  for (const auto& [communicator, operation] : first) {
    order.push_back(operation);
  }
  std::sort(order.begin(), order.end());  // operations are by time
  const StuckOperation& one = hang_.operations[order[0]];
  const StuckOperation& other = hang_.operations[order[1]];
  const auto name = [&](const StuckOperation& of) {
    return text_.label(hang_.matched(of).communicator);
  };
  const auto uncertainty_ns =
      alignment_.uncertainty_ns(one.since_file, other.since_file, one.since_ns);
  const std::int64_t later_ns = metrics::elapsed_ns(one.since_ns, other.since_ns);
  const std::string clocks = uncertainty_ns ? "clocks: +- " + human_duration(*uncertainty_ns)
                                            : std::string("how well the clocks agree is not known");
  const std::string apart = human_duration(later_ns) + " (" + clocks + ')';
  if (uncertainty_ns && later_ns <= *uncertainty_ns) {
    return "Which communicator stopped first is unknown: " + name(one) + " and " + name(other) +
           " are " + apart + " apart.";
  }
  return "Communicator " + name(one) + " stopped first, at " + time_of_day(one.since_ns) +
         " UTC; the next, " + name(other) + ", " + apart + " later.";
}

}  // namespace ringside::report
