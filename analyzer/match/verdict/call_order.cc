// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/call_order.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/model/parallel.h"

namespace ringside::match {
namespace {

// Tells which operations of a communicator judge_order() compares.
class Comparable {
 public:
  explicit Comparable(const std::vector<Member>& members)
      : members_(members.size()),
        are_lossless_(std::all_of(members.begin(), members.end(),
                                  [](const Member& member) { return member.is_lossless; })),
        are_complete_(std::all_of(members.begin(), members.end(),
                                  [](const Member& member) { return member.is_complete_so_far; })) {
  }

  bool operator()(const MatchedOperation& operation) const {
    const bool is_of_all = operation.part_count == members_ && operation.occurrence == 0;
    // A lost record leaves a call with less than it was: without its number, or as the API call
    // only. The number of a call without one is its place in the order, which a lost record shifts.
    return is_of_all && ((operation.way == Way::kSequence && are_lossless_) ||
                         (operation.way == Way::kOrder && are_complete_));
  }

 private:
  const std::size_t members_;
  const bool are_lossless_;
  const bool are_complete_;
};

// The comparable operations in the order in which one member called them.
struct Order {
  std::vector<std::size_t> operations;  // indices into Matches::operations
  std::vector<std::size_t> blocks;      // equal numbers: calls of one group, which have no order
};

Order order_of(const std::vector<SignedCall>& calls, const std::vector<bool>& is_compared,
               std::size_t first) {
  Order order;
  std::uint64_t group = 0;
  for (const SignedCall& call : calls) {
    if (!is_compared[call.operation - first]) {
      continue;
    }
    const bool is_same_block = !order.blocks.empty() && call.group != 0 && call.group == group;
    const std::size_t block = order.blocks.empty() ? 0 : order.blocks.back() + 1;
    order.blocks.push_back(is_same_block ? order.blocks.back() : block);
    order.operations.push_back(call.operation);
    group = call.group;
  }
  return order;
}

class OrderJudge {
 public:
  OrderJudge(const Matches& matches, const SignedCalls& calls, std::vector<Judgement>& judgements)
      : judgements_(judgements) {
    find_compared(matches, calls);
    for (const auto& of_member : calls) {
      orders_.push_back(order_of(of_member, is_compared_, first_));
    }
    // A member that called more of them outside of groups knows more about the order.
    const auto reference = std::max_element(
        orders_.begin(), orders_.end(),
        [](const Order& a, const Order& b) { return blocks_in(a) < blocks_in(b); });
    reference_ = static_cast<std::size_t>(reference - orders_.begin());
    place_.resize(is_compared_.size());
    const Order& usual = orders_[reference_];
    for (std::size_t i = 0; i < usual.operations.size(); ++i) {
      place_[usual.operations[i] - first_] = i;
    }
    for (Order& order : orders_) {
      sort_blocks(order);
    }
  }

  // A stretch of calls is closed where all members have made the same calls up to there.
  bool judge() {
    const std::size_t count = orders_[reference_].operations.size();
    bool has_found = false;
    std::size_t begin = 0;
    std::size_t end = 0;  // one more than the latest place that any member has reached
    for (std::size_t i = 0; i < count; ++i) {
      for (const Order& order : orders_) {
        end = std::max(end, place_[order.operations[i] - first_] + 1);
      }
      if (end == i + 1) {
        has_found = (end - begin > 1 && judge(begin, end)) || has_found;
        begin = end;
      }
    }
    return has_found;
  }

 private:
  static std::size_t blocks_in(const Order& order) {
    return order.blocks.empty() ? 0 : order.blocks.back() + 1;
  }

  void find_compared(const Matches& matches, const SignedCalls& calls) {
    std::size_t last = 0;
    first_ = matches.operations.size();
    for (const auto& of_member : calls) {
      for (const SignedCall& call : of_member) {
        first_ = std::min(first_, call.operation);
        last = std::max(last, call.operation + 1);
      }
    }
    is_compared_.resize(last > first_ ? last - first_ : 0);
    if (!is_compared_.empty()) {
      const Comparable is_comparable(
          matches.communicators[matches.operations[first_].communicator].members);
      for (std::size_t i = 0; i < is_compared_.size(); ++i) {
        is_compared_[i] = is_comparable(matches.operations[first_ + i]);
      }
    }
    for (const auto& of_member : calls) {
      for (const SignedCall& call : of_member) {
        if (!call.has_order) {
          is_compared_[call.operation - first_] = false;
        }
      }
    }
  }

  // Puts the calls of each group into the reference's order, since they have none of their own.
  void sort_blocks(Order& order) const {
    for (std::size_t begin = 0; begin < order.blocks.size();) {
      std::size_t end = begin + 1;
      while (end < order.blocks.size() && order.blocks[end] == order.blocks[begin]) {
        ++end;
      }
      std::sort(
          order.operations.begin() + static_cast<std::ptrdiff_t>(begin),
          order.operations.begin() + static_cast<std::ptrdiff_t>(end),
          [&](std::size_t a, std::size_t b) { return place_[a - first_] < place_[b - first_]; });
      begin = end;
    }
  }

  // True if a member called two of these surely in another order than the reference did.
  bool is_reordered(const Order& order, std::size_t begin, std::size_t end) const {
    const Order& usual = orders_[reference_];
    std::size_t latest = 0;       // latest place in the reference among the earlier blocks
    std::size_t latest_here = 0;  // and among the calls of this block
    for (std::size_t i = begin; i < end; ++i) {
      if (i == begin || order.blocks[i] != order.blocks[i - 1]) {
        latest = std::max(latest, latest_here);
      }
      const std::size_t place = place_[order.operations[i] - first_];
      if (i > begin && place < latest && usual.blocks[place] < usual.blocks[latest]) {
        return true;
      }
      latest_here = std::max(latest_here, place);
    }
    return false;
  }

  bool judge(std::size_t begin, std::size_t end) {
    const std::size_t usual = orders_[reference_].operations[begin];
    std::map<std::size_t, std::vector<std::uint32_t>> callers;  // by operation
    for (std::uint32_t member = 0; member < orders_.size(); ++member) {
      const bool differs = is_reordered(orders_[member], begin, end);
      callers[differs ? orders_[member].operations[begin] : usual].push_back(member);
    }
    if (callers.size() < 2) {
      return false;
    }
    const auto& all = orders_[reference_].operations;
    for (std::size_t i = begin; i < end; ++i) {
      Judgement judgement{Verdict::kFunctionMismatch, Difference::kFunction,
                          all[i + 1 < end ? i + 1 : begin]};
      judgement.is_another_order = true;
      judgement.callers = std::move(callers[all[i]]);
      judgements_[all[i]] = std::move(judgement);
    }
    return true;
  }

  std::vector<Judgement>& judgements_;
  std::size_t first_ = 0;           // the communicator's first collective
  std::vector<bool> is_compared_;   // by operation, from first_ on
  std::vector<std::size_t> place_;  // in the reference's order, likewise
  std::vector<Order> orders_;       // by member
  std::size_t reference_ = 0;
};

// The last call of a member, in the usual order of all.
class LastCall {
 public:
  /// Goes on to the next one. Returns whether the member made it earlier, outside of one group, or,
  /// if `is_strict`, whether it may have.
  bool differs(const model::Traces& traces, const Part& part, bool is_strict) {
    const model::Operations& operations = traces.files[part.file].operations;
    const std::int64_t here_ns = operations.call_ns(part.operation);
    // The number of an operation is read where the times do not tell: that takes a while for all.
    const bool is_before =
        operation_ &&
        (here_ns < call_ns_ ||
         (here_ns == call_ns_ && operations.id(part.operation) < operations.id(*operation_)));
    if (is_strict && (is_before || !operations.execution(part.operation).enqueue_start_ns)) {
      return true;
    }
    if (is_before) {
      const auto group = operations.group(part.operation).value_or(0);
      return group == 0 || group != operations.group(*operation_).value_or(0);
    }
    call_ns_ = here_ns;
    operation_ = part.operation;
    return false;
  }

 private:
  std::int64_t call_ns_ = 0;
  std::optional<std::uint32_t> operation_;
};

}  // namespace

bool may_differ_in_order(const model::Traces& traces, const Matches& matches, std::size_t first,
                         std::size_t last, bool is_strict) {
  const auto& members = matches.communicators[matches.operations[first].communicator].members;
  const Comparable is_comparable(members);
  using TimeAndId = std::pair<std::int64_t, std::uint64_t>;
  std::vector<std::pair<TimeAndId, std::size_t>> usual;
  for (std::size_t i = first; (members.size() > 1 || is_strict) && i < last; ++i) {
    const MatchedOperation& operation = matches.operations[i];
    if (is_comparable(operation)) {
      const Part part = parts_of(matches, operation).front();
      const model::Operations& rank = traces.files[part.file].operations;
      usual.emplace_back(TimeAndId(rank.call_ns(part.operation), rank.id(part.operation)), i);
    } else if (is_strict && operation.way != Way::kPair && operation.way != Way::kGroup) {
      return true;
    }
  }
  std::sort(usual.begin(), usual.end());
  // One core looks at some members, whose rows stay in its cache. The calls of each member come in
  // the usual order.
  constexpr std::size_t kMostMembers = 64;
  const std::size_t at_a_time =
      std::clamp<std::size_t>(members.size() / (4 * core_count()), 1, kMostMembers);
  std::atomic<bool> has_found = false;
  for_each_on_cores((members.size() + at_a_time - 1) / at_a_time, [&](std::size_t /*thread*/,
                                                                      std::size_t portion) {
    const std::size_t begin = portion * at_a_time;
    std::vector<LastCall> last_calls(std::min(at_a_time, members.size() - begin));
    for (std::size_t k = 0; k < usual.size() && !has_found; ++k) {
      const Parts::Range parts = parts_of(matches, matches.operations[usual[k].second]);
      for (std::size_t i = 0; i < last_calls.size(); ++i) {
        if (last_calls[i].differs(traces, parts[begin + i], is_strict)) {
          has_found = true;
        }
      }
    }
  });
  return has_found;
}

bool judge_order(const Matches& matches, const SignedCalls& calls,
                 std::vector<Judgement>& judgements) {
  return OrderJudge(matches, calls, judgements).judge();
}

}  // namespace ringside::match
