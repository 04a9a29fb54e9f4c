// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/last_calls.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace ringside::metrics {
namespace {

using match::MatchedOperation;

// A silence that came as often before is a step of the job.
constexpr std::size_t kOften = 4;

// When a process called, in any communicator.
struct Pace {
  std::int64_t last_ns = 0;             // on the file's own time line
  std::vector<std::int64_t> silent_ns;  // between two calls, the longest first
};

class LastCalls {
 public:
  LastCalls(const model::Traces& traces, const align::Alignment& alignment,
            const match::Matches& matches, const std::vector<match::Judgement>& judgements,
            std::int64_t min_age_ns, std::vector<Position>& positions)
      : traces_(traces),
        alignment_(alignment),
        matches_(matches),
        judgements_(judgements),
        min_age_ns_(min_age_ns),
        positions_(positions),
        index_(positions),
        first_calls_(positions.size()) {}

  std::vector<UndecidedCall> find() {
    for (std::size_t i = 0; i < matches_.operations.size(); ++i) {
      if (may_be_last(i)) {
        judge(i);
      }
    }
    for (std::uint32_t p = 0; p < positions_.size(); ++p) {
      if (first_calls_[p]) {
        positions_[p].fronts.assign(1, *first_calls_[p]);
      }
    }
    std::vector<UndecidedCall> undecided;
    for (const auto& [communicator, call] : undecided_) {
      if (!is_stuck_[communicator]) {
        undecided.push_back(call);
      }
    }
    return undecided;
  }

 private:
  match::Parts::Range parts_of(std::size_t index) const {
    return match::parts_of(matches_, matches_.operations[index]);
  }
  std::uint32_t position_of(std::uint32_t communicator, std::uint32_t member) const {
    return index_.position_of(communicator, member);
  }

  // A collective that nobody was seen to run, on ranks that are not seen in anything else.
  bool may_be_last(std::size_t index) const {
    const MatchedOperation& matched = matches_.operations[index];
    if (matched.way == match::Way::kPair || matched.way == match::Way::kGroup) {
      return false;
    }
    const auto parts = parts_of(index);
    return std::all_of(parts.begin(), parts.end(), [&](const match::Part& part) {
      const Position& position = positions_[position_of(matched.communicator, part.member)];
      const model::TraceFile& file = traces_.files[part.file];
      const model::Execution execution = file.operations.execution(part.operation);
      return file.process.tells_begin && file.process.tells_moment &&
             execution.state == model::State::kEnqueued && !execution.start_ns &&
             execution.enqueue_start_ns && execution.enqueue_end_ns &&
             std::all_of(position.fronts.begin(), position.fronts.end(),
                         [](const Front& front) { return front.stage == Stage::kEnqueued; });
    });
  }

  static bool has_exited(const model::TraceFile& file) {
    return file.closed && !file.recovered && !file.process.dump;
  }

  // Whether the position's last calls are known, and are not behind this one.
  bool is_known(std::uint32_t index, const MatchedOperation& matched) {
    const Position& position = positions_[index];
    const model::TraceFile& file = traces_.files[position.file];
    if (!file.closed || has_lost_records(file) ||
        (!file.windows.empty() && file.windows.rbegin()->second.end_ns)) {
      return false;
    }
    if (newest_.empty()) {
      for (const MatchedOperation& any : matches_.operations) {
        for (const match::Part& part : match::parts_of(matches_, any)) {
          std::uint64_t& newest = newest_[{position_of(any.communicator, part.member), any.func}];
          newest = std::max(newest, any.number);
        }
      }
    }
    const auto newest = newest_.find({index, matched.func});
    return newest == newest_.end() ? file.account.rotated == 0 : newest->second <= matched.number;
  }

  const Pace& pace_of(std::uint32_t file) {
    const auto [entry, is_new] = paces_.try_emplace(file);
    if (is_new) {
      const model::Operations& operations = traces_.files[file].operations;
      std::vector<std::int64_t> calls;
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        if (const auto call_ns = operations.execution(i).enqueue_start_ns) {
          calls.push_back(*call_ns);
        }
      }
      std::sort(calls.begin(), calls.end());
      std::vector<std::int64_t>& silent_ns = entry->second.silent_ns;
      for (std::size_t i = 1; i < calls.size(); ++i) {
        silent_ns.push_back(elapsed_ns(calls[i - 1], calls[i]));
      }
      std::sort(silent_ns.begin(), silent_ns.end(), std::greater<>());
      silent_ns.resize(std::min(silent_ns.size(), kOften));
      entry->second.last_ns = calls.empty() ? traces_.files[file].process.start_ns : calls.back();
    }
    return entry->second;
  }

  bool is_last_call(const MatchedOperation& matched, const match::Part& part) const {
    return positions_[position_of(matched.communicator, part.member)].last_enqueued ==
           part.operation;
  }

  void judge(std::size_t index) {
    const MatchedOperation& matched = matches_.operations[index];
    std::vector<bool> has_called(matches_.communicators[matched.communicator].members.size());
    for (const match::Part& part : parts_of(index)) {
      has_called[part.member] = true;
    }
    std::vector<std::uint32_t> movers;  // the positions that would have to go on
    for (std::uint32_t m = 0; m < has_called.size(); ++m) {
      if (!has_called[m]) {
        movers.push_back(position_of(matched.communicator, m));
      }
    }
    const bool is_called_by_all = movers.empty() && match::ranks_seen(matches_, matched) ==
                                                        match::ranks_expected(matches_, matched);
    const bool differs = judgements_[index].verdict == match::Verdict::kFunctionMismatch;
    const bool is_hopeless = differs || !movers.empty();
    if (!is_hopeless && !is_last_call(matched, parts_of(index).front())) {
      return;
    }
    if (differs || movers.empty()) {
      movers.clear();
      for (std::uint32_t m = 0; m < has_called.size(); ++m) {
        movers.push_back(position_of(matched.communicator, m));
      }
    }
    if (!(is_hopeless || is_called_by_all) ||
        !std::all_of(movers.begin(), movers.end(),
                     [&](std::uint32_t mover) { return is_known(mover, matched); })) {
      return;
    }
    UndecidedCall call = silence_of(index, movers);
    if (is_hopeless && !differs) {
      call.not_called = movers.front();
    }
    const bool is_over = std::any_of(movers.begin(), movers.end(), [&](std::uint32_t mover) {
      return has_exited(traces_.files[positions_[mover].file]);
    });
    if (*call.silent_ns < min_age_ns_ || call.times_before >= kOften) {
      return;
    }
    if (is_hopeless && call.times_before == 0) {
      is_stuck_[matched.communicator] = true;
      add_fronts(index);
    } else if (is_hopeless || (call.times_before == 0 && !is_over)) {
      const auto [entry, is_new] = undecided_.try_emplace(matched.communicator, call);
      if (!is_new && entry->second.silent_ns > call.silent_ns) {
        entry->second = call;  // a later one
      }
    }
  }

  // For how long no mover has called, at the end of the trace that ends first.
  UndecidedCall silence_of(std::size_t index, const std::vector<std::uint32_t>& movers) {
    UndecidedCall call;
    call.matched = index;
    std::int64_t since_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t until_ns = std::numeric_limits<std::int64_t>::max();
    std::uint32_t since_file = 0;
    const auto look = [&](std::uint32_t file, std::int64_t own_ns) {
      const std::int64_t call_ns = alignment_.to_common_ns(file, own_ns);
      if (call_ns > since_ns) {
        since_ns = call_ns;
        since_file = file;
      }
    };
    for (const match::Part& part : parts_of(index)) {
      const model::TraceFile& file = traces_.files[part.file];
      look(part.file, *file.operations.execution(part.operation).enqueue_start_ns);
      until_ns = std::min(until_ns, alignment_.to_common_ns(part.file, end_of_trace_ns(file)));
    }
    std::int64_t unsure_ns = 0;
    for (const std::uint32_t mover : movers) {
      const std::uint32_t file = positions_[mover].file;
      if (!has_exited(traces_.files[file])) {
        look(file, pace_of(file).last_ns);
        until_ns =
            std::min(until_ns, alignment_.to_common_ns(file, end_of_trace_ns(traces_.files[file])));
      }
      unsure_ns = std::max(
          unsure_ns,
          alignment_.uncertainty_ns(file, since_file, since_ns).value_or(align::kUnboundClocks_ns));
    }
    call.silent_ns = elapsed_ns(unsure_ns, elapsed_ns(since_ns, until_ns));
    for (const std::uint32_t mover : movers) {
      const std::uint32_t file = positions_[mover].file;
      if (!has_exited(traces_.files[file])) {
        const auto& before_ns = pace_of(file).silent_ns;
        call.times_before = std::max(call.times_before,
                                     static_cast<std::size_t>(std::count_if(
                                         before_ns.begin(), before_ns.end(),
                                         [&](std::int64_t ns) { return ns >= *call.silent_ns; })));
      }
    }
    return call;
  }

  // The first call of a rank that waits is where it stands.
  void add_fronts(std::size_t index) {
    const MatchedOperation& matched = matches_.operations[index];
    for (const match::Part& part : parts_of(index)) {
      const model::TraceFile& file = traces_.files[part.file];
      Front front;
      front.operation = part.operation;
      front.stage = Stage::kCalled;
      front.since_ns = *file.operations.execution(part.operation).enqueue_start_ns;
      front.waited_ns =
          std::max<std::int64_t>(elapsed_ns(front.since_ns, end_of_trace_ns(file)), 0);
      auto& first = first_calls_[position_of(matched.communicator, part.member)];
      if (!first || call_order(file.operations[front.operation]) <
                        call_order(file.operations[first->operation])) {
        first = front;
      }
    }
  }

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const match::Matches& matches_;
  const std::vector<match::Judgement>& judgements_;
  const std::int64_t min_age_ns_;
  std::vector<Position>& positions_;
  const PositionIndex index_;
  std::vector<std::optional<Front>> first_calls_;                            // by position
  std::map<std::pair<std::uint32_t, model::NameId>, std::uint64_t> newest_;  // by position
  std::map<std::uint32_t, Pace> paces_;                                      // by file
  std::map<std::uint32_t, UndecidedCall> undecided_;                         // by communicator
  std::map<std::uint32_t, bool> is_stuck_;                                   // likewise
};

}  // namespace

std::vector<UndecidedCall> add_last_calls(const model::Traces& traces,
                                          const align::Alignment& alignment,
                                          const match::Matches& matches,
                                          const std::vector<match::Judgement>& judgements,
                                          std::int64_t min_age_ns,
                                          std::vector<Position>& positions) {
  return LastCalls(traces, alignment, matches, judgements, min_age_ns, positions).find();
}

}  // namespace ringside::metrics
