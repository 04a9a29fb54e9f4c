// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_copies.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/load/dump/dump_calls.h"

namespace ringside::load {
namespace {

using Number = std::optional<std::int64_t>;

struct Call {
  std::int64_t created_ns = 0;
  std::string_view group;
  std::string_view name;
  Number record;
  Number collective;
  Number point_to_point;
  Number op_id;
  std::uint64_t before = 0;  // places of the neighbours in its group; 0 if there is none
  std::uint64_t behind = 0;

  auto kind() const { return std::tie(created_ns, group, name); }
  auto numbers() const { return std::tie(collective, point_to_point, op_id); }
  std::int64_t collectives() const {  // by which it counts its group on
    const auto call = named_call(name);
    return call && !call->has_ranks && !is_end_of_group(call->name) ? 1 : 0;
  }
  bool is_end() const {
    const auto call = named_call(name);
    return call && is_end_of_group(call->name);
  }
};

// The calls of all entries, by place; number 0 is none.
std::vector<Call> calls_of(const PlainTree& tree, std::span<const PlainValue> entries,
                           const DumpKeys& keys) {
  std::vector<Call> calls(1);
  std::unordered_map<std::string_view, std::uint64_t> last;  // places, by group
  for (const PlainValue& entry : entries) {
    const auto number = [&](const PlainKey& key) { return integer_of(tree.at(entry, key)); };
    const auto group = tree.list(tree.at(entry, keys.process_group));
    Call& call = calls.emplace_back();
    call = {number(keys.time_created_ns).value_or(0),
            group.empty() ? std::string_view() : tree.text(group[0]),
            tree.text(tree.at(entry, keys.profiling_name)),
            number(keys.record_id),
            number(keys.collective_seq_id),
            number(keys.p2p_seq_id),
            number(keys.op_id)};
    call.before = std::exchange(last[call.group], calls.size() - 1);
    calls[call.before].behind = calls.size() - 1;
  }
  return calls;
}

// One of two calls that may be one: the neighbours that it has without the other.
struct Place {
  const Call& call;
  const Call* before = nullptr;
  const Call* behind = nullptr;
  // 1 if the other one is between it and that neighbour.
  std::int64_t others_before = 0;
  std::int64_t others_behind = 0;

  Place(const std::vector<Call>& calls, std::uint64_t place, std::uint64_t other)
      : call(calls[place]) {
    others_before = call.before == other ? 1 : 0;
    others_behind = call.behind == other ? 1 : 0;
    const std::uint64_t first = others_before == 1 ? calls[other].before : call.before;
    const std::uint64_t last = others_behind == 1 ? calls[other].behind : call.behind;
    before = first > 0 ? &calls[first] : nullptr;
    behind = last > 0 ? &calls[last] : nullptr;
  }

  static bool ascend(const Number& a, const Number& b) { return !a || !b || *a <= *b; }
  static bool are(std::int64_t apart, const Number& a, const Number& b) {
    std::int64_t sum = 0;
    return a && b && !__builtin_add_overflow(*a, apart, &sum) && sum == *b;
  }

  // Each call has an op_id of its own, and an end that of the call before it.
  bool has_own_operation() const {
    const std::int64_t own = call.is_end() ? 0 : 1;
    const auto follows = [&](std::int64_t calls_between) {
      return are(calls_between, before->op_id, call.op_id);
    };
    return !call.op_id ||
           ((before == nullptr || !before->op_id) && (behind == nullptr || !behind->op_id)) ||
           (before != nullptr &&
            (follows(own * (1 + others_before)) || (own == 0 && follows(1)))) ||
           (behind != nullptr &&
            are(own * others_behind + (behind->is_end() ? 0 : 1), call.op_id, behind->op_id));
  }
  bool has_own_collective() const {
    return (before != nullptr &&
            are(call.collectives() * (1 + others_before), before->collective, call.collective)) ||
           (behind != nullptr && are(call.collectives() * others_behind + behind->collectives(),
                                     call.collective, behind->collective));
  }
  bool fits() const {
    return (before == nullptr || (before->created_ns <= call.created_ns &&
                                  ascend(before->collective, call.collective))) &&
           (behind == nullptr || (call.created_ns <= behind->created_ns &&
                                  ascend(call.collective, behind->collective))) &&
           has_own_operation();
  }
};

}  // namespace

void DumpCopies::find(const PlainTree& tree, std::span<const PlainValue> entries,
                      const DumpKeys& keys) {
  const std::vector<Call> calls = calls_of(tree, entries, keys);
  std::vector<std::uint64_t> order;
  for (std::uint64_t place = 1; place < calls.size(); ++place) {
    if (calls[place].created_ns > 0) {
      order.push_back(place);
    }
  }
  std::sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return std::tuple(calls[a].kind(), calls[a].numbers(), a) <
           std::tuple(calls[b].kind(), calls[b].numbers(), b);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto [a, b] = std::pair(order[i - 1], order[i]);
    if (calls[a].kind() != calls[b].kind()) {
      continue;
    }
    const Place one(calls, a, b);
    const Place another(calls, b, a);
    bool fits = one.fits();
    bool does_other_fit = another.fits();
    if (fits && does_other_fit) {
      constexpr std::int64_t kCoarse = 1000;  // a clock that tells no less may stand still
      if (calls[a].numbers() != calls[b].numbers() && calls[a].created_ns % kCoarse == 0) {
        continue;
      }
      fits = one.has_own_collective();
      does_other_fit = another.has_own_collective();
    }
    const bool is_known = fits != does_other_fit;
    const bool has_same_record = calls[a].record == calls[b].record;
    others_.try_emplace(a, Other{b, has_same_record, is_known && fits, is_known && does_other_fit});
    others_[b] = {a, has_same_record, is_known && does_other_fit, is_known && fits};
  }
}

std::optional<std::string> DumpCopies::trouble_of(std::uint64_t place, bool has_own_record) const {
  const auto found = others_.find(place);
  if (found == others_.end() || found->second.fits ||
      (has_own_record && found->second.has_same_record)) {
    return std::nullopt;
  }
  const Other& other = found->second;
  const bool is_certain = other.has_same_record || other.does_other_fit;
  return "the entry is " +
         std::string(is_certain ? "a copy of entry " : "the same call as entry ") +
         std::to_string(other.place) +
         (is_certain ? ", and has the place of another call"
                     : ", so one of them has the place of another call") +
         "; it is left out";
}

}  // namespace ringside::load
