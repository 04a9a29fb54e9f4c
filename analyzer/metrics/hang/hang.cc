// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/align/alignment.h"
#include "analyzer/match/communicators/recorded_from_start.h"
#include "analyzer/match/untrusted/untrusted.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/metrics/hang/hang_order.h"

namespace ringside::metrics {
namespace {

using match::MatchedOperation;
using match::Way;

// A front that is stuck, and in which of the stuck operations.
struct Stuck {
  PositionIndex::Place at;
  std::uint32_t node = 0;  // index into Hang::operations
};

// The fronts of an operation that are stuck.
struct FoundStuck {
  StuckOperation operation;
  std::vector<PositionIndex::Place> fronts;
};

// The numbers of the collectives that a rank has recorded, whatever their functions.
struct NumbersCalled {
  std::uint64_t oldest = 0;
  std::uint64_t newest = 0;
};

// Whether no rank can finish this function of PyTorch before all ranks have called it.
bool is_joined_by_all(std::string_view function) {
  constexpr std::array<std::string_view, 9> kFunctions = {
      "all_reduce",           "allreduce_coalesced", "all_reduce_barrier",   "barrier",
      "_all_gather_base",     "all_gather",          "_reduce_scatter_base", "all_gather_single",
      "reduce_scatter_single"};
  return std::find(kFunctions.begin(), kFunctions.end(), function) != kFunctions.end();
}

bool is_from_start(const model::TraceFile& file, std::uint32_t context) {
  return file.windows.size() == 1 && file.process.segment == 1 && file.account.rotated == 0 &&
         match::is_recorded_from_start(file, context);
}

class HangFinder {
 public:
  HangFinder(const model::Traces& traces, const align::Alignment& alignment,
             std::int64_t min_age_ns)
      : traces_(traces), alignment_(alignment), min_age_ns_(min_age_ns) {}

  Hang find() {
    hang_.matches = match::match_operations(traces_, align::clock_of(alignment_));
    hang_.judgements = match::judge_all(traces_, hang_.matches, align::judging_clock(alignment_));
    hang_.positions = find_positions(traces_, hang_.matches.communicators);
    add_hopeless_calls(traces_, hang_.matches, hang_.judgements, hang_.positions);
    hang_.undecided = add_last_calls(traces_, alignment_, hang_.matches, hang_.judgements,
                                     min_age_ns_, hang_.positions);
    CallOrder order = find_call_order(traces_, hang_.matches, hang_.positions);
    is_in_ring_ = std::move(order.is_in_ring);
    hang_.opposite_order = std::move(order.opposite);
    index_.emplace(hang_.positions);
    note_files();
    find_stuck_operations();
    note_newest();
    for (StuckOperation& operation : hang_.operations) {
      find_ranks(operation);
    }
    const WaitGraph graph = graph_of(hang_.operations);
    hang_.cycle = find_cycle(graph);
    note_unknown(graph);
    find_unaligned();
    return std::move(hang_);
  }

 private:
  const match::Member& member_of(const Position& position) const {
    return hang_.matches.communicators[position.communicator].members[position.member];
  }
  std::uint32_t position_of(std::uint32_t communicator, std::uint32_t member) const {
    return index_->position_of(communicator, member);
  }
  const Front& front_of(const PositionIndex::Place& place) const {
    return hang_.positions[place.position].fronts[place.front];
  }
  model::Operation operation_at(const Stuck& stuck) const {
    return traces_.files[hang_.positions[stuck.at.position].file]
        .operations[front_of(stuck.at).operation];
  }

  void note_files() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    holds_several_.resize(traces_.files.size());
    for (const Position& position : hang_.positions) {
      if (!seen.insert({position.communicator, position.file}).second) {
        holds_several_[position.file] = true;
      }
    }
  }

  // An operation of which only the call is told may be running, or may have ended since.
  bool is_hopeless(std::size_t index) const {
    return lacks_a_rank(hang_.matches, hang_.judgements, index) ||
           (!is_in_ring_.empty() && is_in_ring_[index]);
  }

  // Whether an operation is the first that all ranks have called and none has finished, in dumps
  // that do not say whether it has begun. `found`: its fronts.
  bool is_told_by_none(const MatchedOperation& matched,
                       const std::vector<PositionIndex::Place>& found) const {
    const auto may_run = [&](const PositionIndex::Place& place) {
      const Position& position = hang_.positions[place.position];
      const model::TraceFile& file = traces_.files[position.file];
      const auto watched = file.contexts.at(member_of(position).context).last_completed;
      const auto finished =
          position.last_finished
              ? file.operations[*position.last_finished].seq.value_or(matched.number)
              : 0;
      return !file.process.tells_begin && finished < matched.number &&
             std::cmp_less(watched.value_or(-1), matched.number);
    };
    return matched.way == Way::kSequence &&
           found.size() == match::ranks_expected(hang_.matches, matched) &&
           std::all_of(found.begin(), found.end(), may_run) &&
           std::none_of(hang_.undecided.begin(), hang_.undecided.end(), [&](const auto& one) {
             return hang_.matches.operations[one.matched].communicator == matched.communicator;
           });
  }

  std::vector<PositionIndex::Place> stuck_in(std::size_t index) {
    const MatchedOperation& matched = hang_.matches.operations[index];
    std::vector<PositionIndex::Place> found;
    bool has_begun = false;
    bool is_young = false;
    for (const match::Part& part : parts_of(matched)) {
      const PositionIndex::Place* const place = index_->front_at(part);
      if (place == nullptr) {
        continue;
      }
      const Front& at = front_of(*place);
      if (at.waited_ns && *at.waited_ns < min_age_ns_) {
        hang_.younger_ns = std::max(hang_.younger_ns, *at.waited_ns);
        is_young = true;
        continue;
      }
      has_begun = has_begun ||
                  (at.stage == Stage::kCalled ? is_hopeless(index) : at.stage != Stage::kEnqueued);
      found.push_back(*place);
    }
    if (is_young && found.empty()) {
      ++hang_.too_young[matched.communicator];
    }
    if (!found.empty() && !has_begun) {
      ++hang_.enqueued_only[matched.communicator];
      if (is_told_by_none(matched, found)) {
        hang_.undecided.push_back({index, std::nullopt, std::nullopt, 0});
      }
      found.clear();
    }
    return found;
  }

  StuckOperation operation_of(std::size_t index, const std::vector<PositionIndex::Place>& fronts) {
    StuckOperation made;
    made.matched = index;
    made.is_doubtful = true;
    made.is_only_called = true;
    std::set<std::uint32_t> waiting;  // in a group a rank has several parts
    for (const PositionIndex::Place& place : fronts) {
      const Position& position = hang_.positions[place.position];
      const Front& front = front_of(place);
      const std::int64_t since_ns = alignment_.to_common_ns(position.file, front.since_ns);
      if (made.waiting.empty() || since_ns < made.since_ns) {
        made.since_ns = since_ns;
        made.since_file = position.file;
      }
      if (waiting.insert(place.position).second) {
        made.waiting.push_back(place.position);
      }
      made.waited_ns = std::max(made.waited_ns, front.waited_ns);
      made.is_only_called = made.is_only_called && front.stage == Stage::kCalled &&
                            traces_.files[position.file].process.tells_begin;
      made.is_doubtful = made.is_doubtful && has_lost_records(traces_.files[position.file]);
    }
    return made;
  }

  void find_stuck_operations() {
    std::vector<FoundStuck> all;
    for (std::size_t i = 0; index_->has_fronts() && i < hang_.matches.operations.size(); ++i) {
      if (auto fronts = stuck_in(i); !fronts.empty()) {
        all.push_back({operation_of(i, fronts), std::move(fronts)});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const FoundStuck& a, const FoundStuck& b) {
      return a.operation.since_ns < b.operation.since_ns;
    });
    for (FoundStuck& found : all) {
      const auto node = static_cast<std::uint32_t>(hang_.operations.size());
      hang_.operations.push_back(std::move(found.operation));
      for (const PositionIndex::Place& place : found.fronts) {
        of_file_[hang_.positions[place.position].file].push_back({place, node});
      }
    }
    for (auto& [file, stuck] : of_file_) {
      std::stable_sort(stuck.begin(), stuck.end(), [&](const Stuck& a, const Stuck& b) {
        return call_order(operation_at(a)) < call_order(operation_at(b));
      });
    }
  }

  // The sequence numbers that each rank has called, in communicators where something is stuck.
  void note_newest() {
    std::set<std::uint32_t> communicators;
    for (const StuckOperation& operation : hang_.operations) {
      communicators.insert(hang_.matched(operation).communicator);
    }
    for (const MatchedOperation& matched : hang_.matches.operations) {
      if (matched.way != Way::kSequence || !communicators.contains(matched.communicator)) {
        continue;
      }
      for (const match::Part& part : parts_of(matched)) {
        const std::uint32_t position = position_of(matched.communicator, part.member);
        auto& number = newest_[{position, matched.func}];
        number = std::max(number, matched.number);
        NumbersCalled& called =
            called_.try_emplace(position, NumbersCalled{matched.number, matched.number})
                .first->second;
        called.oldest = std::min(called.oldest, matched.number);
        called.newest = std::max(called.newest, matched.number);
        const model::TraceFile& file = traces_.files[part.file];
        if (file.process.has_common_numbers && is_joined_by_all(traces_.names.text(matched.func)) &&
            !file.operations.terms(part.operation).in_flight) {
          auto& finished = finished_[matched.communicator];
          finished = std::max(finished, matched.number);
        }
      }
    }
  }

  match::Parts::Range parts_of(const MatchedOperation& matched) const {
    return match::parts_of(hang_.matches, matched);
  }

  // Finds the operation that the process of a position is stuck in: the first that it called. If a
  // process holds several ranks of a communicator, its trace does not tell which of them calls in
  // another communicator.
  const Stuck* first_stuck(std::uint32_t position, bool only_others) const {
    const Position& of = hang_.positions[position];
    const auto found = of_file_.find(of.file);
    if (found == of_file_.end()) {
      return nullptr;
    }
    for (const Stuck& stuck : found->second) {
      const bool is_own = stuck.at.position == position;
      if (is_own ? !only_others : !holds_several_[of.file]) {
        return &stuck;
      }
    }
    return nullptr;
  }

  void add_called(StuckOperation& node, const match::Part& part, std::uint32_t position,
                  bool others_run) {
    const model::Operation& operation = match::operation_of(traces_, part);
    if (operation.state == model::State::kCompleted) {
      ++node.finished;
      return;
    }
    if (!operation.in_flight) {
      ++node.seen;
      return;
    }
    const PositionIndex::Place* const place = index_->front_at(part);
    if (place == nullptr) {
      if (const Stuck* const first = first_stuck(position, false);
          first != nullptr && first->at.position == position) {
        node.blockers.push_back({position, Blocker::Why::kBehind, first->node});
      }
      return;
    }
    const Stage stage = front_of(*place).stage;
    if (stage == Stage::kKernel || stage == Stage::kNetwork) {
      return;
    }
    if (const Stuck* const first = first_stuck(position, true)) {
      const bool is_earlier = call_order(operation_at(*first)) < call_order(operation);
      if (is_earlier ||
          (stage == Stage::kEnqueued && front_of(first->at).stage == Stage::kKernel)) {
        node.blockers.push_back({position, Blocker::Why::kNotBegun, first->node});
        return;
      }
    }
    if (stage == Stage::kEnqueued && others_run) {
      node.blockers.push_back({position, Blocker::Why::kNotBegun, std::nullopt});
    }
  }

  // Sends and receives are matched by counting them, on the side that waits too.
  bool is_counted_from_start(const StuckOperation& node) const {
    return std::all_of(node.waiting.begin(), node.waiting.end(), [&](std::uint32_t index) {
      const Position& position = hang_.positions[index];
      const model::TraceFile& file = traces_.files[position.file];
      return !has_lost_records(file) && is_from_start(file, member_of(position).context);
    });
  }

  static bool is_judged_by_moment(const model::TraceFile& file) {
    return file.process.dump && file.process.tells_moment;
  }

  // On the common clock.
  std::int64_t moment_of_end_ns(std::uint32_t file) const {
    return alignment_.to_common_ns(file, end_of_trace_ns(traces_.files[file]));
  }

  // The number of the last collective that a rank has called, as PyTorch's watchdog counts where
  // records are lost. It counts as the records do if it does so on all ranks that have recorded the
  // operation.
  std::optional<std::uint64_t> last_watched(const MatchedOperation& matched,
                                            std::uint32_t index) const {
    const auto watched = [&](std::uint32_t position) {
      const auto& contexts = traces_.files[hang_.positions[position].file].contexts;
      return contexts.at(member_of(hang_.positions[position]).context).last_enqueued;
    };
    const auto parts = parts_of(matched);
    const bool is_alike = std::all_of(parts.begin(), parts.end(), [&](const match::Part& part) {
      const std::uint32_t position = position_of(matched.communicator, part.member);
      const auto called = called_.find(position);
      const auto last = watched(position);
      return called != called_.end() && last && std::cmp_equal(*last, called->second.newest);
    });
    const auto last = watched(index);
    return matched.way == Way::kSequence && is_alike && last && *last >= 0
               ? std::optional(static_cast<std::uint64_t>(*last))
               : std::nullopt;
  }

  // `watched`: as last_watched(), of an operation behind it.
  std::optional<Unknown> why_unknown(const StuckOperation& node, const MatchedOperation& matched,
                                     std::uint32_t index,
                                     std::optional<std::uint64_t> watched) const {
    const Position& position = hang_.positions[index];
    const model::TraceFile& file = traces_.files[position.file];
    const bool from_start = is_from_start(file, member_of(position).context);
    const bool are_numbered =
        matched.way == Way::kSequence && !match::counts_only_while_recording(file.process);
    const bool has_calls =
        position.last_finished || position.last_started || position.last_enqueued;
    // A full ring that keeps no call of this communicator does not tell how many there were. Where
    // numbers count all functions, one that keeps later collectives alone does not tell of this
    // one.
    const auto called = called_.find(index);
    const bool begins_after = !file.process.tells_begin && matched.way == Way::kSequence &&
                              (called == called_.end() || called->second.oldest > matched.number);
    const bool is_overwritten = file.account.rotated > 0 && (!has_calls || begins_after);
    // The last one whose record is damaged may be another call.
    const bool is_doubtful =
        position.last_enqueued && match::is_damaged(file, *position.last_enqueued);
    if (!watched && (has_lost_records(file) || is_overwritten || is_doubtful ||
                     !(from_start || are_numbered))) {
      return Unknown::kLost;
    }
    if (matched.way == Way::kPair && !is_counted_from_start(node)) {
      return Unknown::kLost;
    }
    if (!file.windows.empty() && file.windows.rbegin()->second.end_ns) {
      return Unknown::kLost;
    }
    const auto newest = newest_.find({index, matched.func});
    if (matched.way == Way::kSequence && newest != newest_.end() &&
        newest->second > matched.number) {
      return Unknown::kLost;
    }
    if (!file.closed) {
      return Unknown::kNotWritten;
    }
    // No rank has finished a function that waits for all ranks without this one.
    const auto finished = finished_.find(matched.communicator);
    const auto last = called != called_.end() ? std::optional(called->second.newest) : watched;
    if (file.process.has_common_numbers && last && finished != finished_.end() &&
        *last < finished->second) {
      return Unknown::kEndsBefore;
    }
    // A process that has ended or died does not join later; one that was dumped might have. If a
    // dump does not tell its moment, the dumps are judged as they are.
    if (is_judged_by_moment(file)) {
      const std::int64_t end_ns = moment_of_end_ns(position.file);
      const auto spare_ns = alignment_.uncertainty_ns(position.file, node.since_file, end_ns)
                                .value_or(align::kUnboundClocks_ns);
      if (static_cast<double>(elapsed_ns(node.since_ns, end_ns)) <
          static_cast<double>(min_age_ns_) + static_cast<double>(spare_ns)) {
        return Unknown::kEndsBefore;
      }
    }
    return std::nullopt;
  }

  void add_absent(StuckOperation& node, const MatchedOperation& matched, std::uint32_t position) {
    if (match::was_overwritten(member_of(hang_.positions[position]), matched)) {
      return;
    }
    auto watched = last_watched(matched, position);
    if (watched && *watched >= matched.number) {
      const auto called = called_.find(position);
      if (called == called_.end() || called->second.oldest > matched.number) {
        ++node.seen;  // its record is lost
        return;
      }
      watched.reset();
    }
    if (const auto why = why_unknown(node, matched, position, watched)) {
      // If only calls are told, numbers count the calls of all functions: this rank has made
      // another one in its place.
      const model::TraceFile& file = traces_.files[hang_.positions[position].file];
      if (!file.process.tells_begin && node.differs == match::Difference::kFunction) {
        return;
      }
      if (const auto rank = hang_.positions[position].rank) {
        node.unknown[static_cast<std::size_t>(*why)].push_back(*rank);
      }
      return;
    }
    Blocker blocker{position, Blocker::Why::kNotJoined, std::nullopt};
    const std::uint32_t file = hang_.positions[position].file;
    if (is_judged_by_moment(traces_.files[file]) &&
        !alignment_.uncertainty_ns(file, node.since_file, node.since_ns)) {
      blocker.supposed_ns = elapsed_ns(node.since_ns, moment_of_end_ns(file));
    }
    if (const Stuck* const first = first_stuck(position, false)) {
      blocker.stuck_in = first->node;
    }
    node.blockers.push_back(blocker);
  }

  // An undecided difference is no cause, and states differ because of the hang itself.
  match::Difference difference_of(std::size_t index) const {
    const match::Judgement& judgement = hang_.judgements[index];
    return judgement.verdict == match::Verdict::kUndecided ||
                   judgement.difference == match::Difference::kState
               ? match::Difference::kNone
               : judgement.difference;
  }

  void find_ranks(StuckOperation& node) {
    const MatchedOperation& matched = hang_.matched(node);
    const auto& members = hang_.matches.communicators[matched.communicator].members;
    node.differs = difference_of(node.matched);
    std::map<std::uint32_t, match::Part> called;  // by member
    bool others_run = false;
    for (const match::Part& part : parts_of(matched)) {
      called[part.member] = part;
      if (const PositionIndex::Place* const place = index_->front_at(part)) {
        const Stage stage = front_of(*place).stage;
        others_run = others_run || stage == Stage::kKernel || stage == Stage::kNetwork;
      }
    }
    const bool is_pair = matched.way == Way::kPair;
    std::set<std::uint32_t> ends = {matched.source, matched.destination};
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      const std::uint32_t position = position_of(matched.communicator, m);
      const auto rank = hang_.positions[position].rank;
      if (is_pair && !(rank && ends.erase(*rank) > 0)) {
        continue;
      }
      if (const auto found = called.find(m); found != called.end()) {
        add_called(node, found->second, position, others_run);
      } else {
        add_absent(node, matched, position);
      }
    }
    if (is_pair) {
      node.unknown[static_cast<std::size_t>(Unknown::kNoTrace)].assign(ends.begin(), ends.end());
    } else if (!hang_.without_trace.contains(matched.communicator)) {
      hang_.without_trace[matched.communicator] =
          match::ranks_without_trace(hang_.matches.communicators[matched.communicator]);
    }
  }

  // An operation that waits for one of which nothing is known is not known either.
  void note_unknown(const WaitGraph& graph) {
    std::vector<std::uint32_t> known;
    for (std::uint32_t i = 0; i < hang_.operations.size(); ++i) {
      const StuckOperation& node = hang_.operations[i];
      const bool waits_for_one = std::any_of(
          node.blockers.begin(), node.blockers.end(),
          [](const Blocker& b) { return b.why == Blocker::Why::kNotJoined || !b.stuck_in; });
      const auto cycle = std::find(hang_.cycle.begin(), hang_.cycle.end(), i);
      const bool is_unknown = (node.is_only_called || !node.waited_ns) &&
                              node.differs == match::Difference::kNone && !waits_for_one &&
                              cycle == hang_.cycle.end() && hang_.has_unknown_rank(node);
      if (!is_unknown) {
        known.push_back(i);
      }
    }
    const std::vector<bool> is_known = reached_from(reversed(graph), known);
    for (std::uint32_t i = 0; i < hang_.operations.size(); ++i) {
      hang_.operations[i].is_unknown = !is_known[i];
    }
  }

  void find_unaligned() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> open;  // by file and call
    for (std::uint32_t p = 0; p < hang_.positions.size(); ++p) {
      const Position& position = hang_.positions[p];
      const auto& members = hang_.matches.communicators[position.communicator].unaligned_members;
      if (!position.fronts.empty() &&
          std::binary_search(members.begin(), members.end(), position.member)) {
        open[{position.file, position.fronts.front().operation}] = p;
      }
    }
    for (std::size_t i = 0; !open.empty() && i < hang_.matches.parts.size(); ++i) {
      const match::Part part = hang_.matches.parts[i];
      open.erase({part.file, part.operation});
    }
    for (const auto& [call, position] : open) {
      hang_.unaligned.push_back(position);
    }
  }

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const std::int64_t min_age_ns_;
  Hang hang_;
  std::vector<bool> is_in_ring_;  // CallOrder::is_in_ring
  std::optional<PositionIndex> index_;
  std::vector<bool> holds_several_;                      // by file: several of one communicator
  std::map<std::uint32_t, std::vector<Stuck>> of_file_;  // in the order of the calls
  std::map<std::pair<std::uint32_t, model::NameId>, std::uint64_t> newest_;
  std::map<std::uint32_t, NumbersCalled> called_;    // by position
  std::map<std::uint32_t, std::uint64_t> finished_;  // by communicator: see is_joined_by_all()
};

}  // namespace

WaitGraph graph_of(const std::vector<StuckOperation>& operations) {
  WaitGraph next(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const Blocker& blocker : operations[i].blockers) {
      if (blocker.stuck_in) {
        next[i].push_back(*blocker.stuck_in);
      }
    }
  }
  return next;
}

const std::vector<std::uint32_t>& Hang::unread(const StuckOperation& operation) const {
  return matched(operation).way == Way::kPair
             ? operation.unknown[static_cast<std::size_t>(Unknown::kNoTrace)]
             : without_trace.at(matched(operation).communicator);
}

bool Hang::has_unknown_rank(const StuckOperation& operation) const {
  return !unread(operation).empty() ||
         std::any_of(operation.unknown.begin(), operation.unknown.end(),
                     [](const auto& ranks) { return !ranks.empty(); });
}

Hang find_hang(const model::Traces& traces, const align::Alignment& alignment,
               std::int64_t min_age_ns) {
  return HangFinder(traces, alignment, min_age_ns).find();
}

}  // namespace ringside::metrics
