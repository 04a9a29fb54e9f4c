// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/slice_rows.h"

#include <algorithm>
#include <array>

#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

constexpr std::uint32_t kTidsOfACategory = 1'000'000;

constexpr std::array<std::string_view, 10> kOrder = {
    schema::kCategoryOperation, schema::kCategoryCopyEngine, schema::kCategoryGpu,
    schema::kCategoryPhase,     schema::kCategoryProxy,      schema::kCategoryStep,
    schema::kCategoryControl,   schema::kCategoryNet,        schema::kCategoryApi,
    schema::kCategoryMark};

}  // namespace

bool SliceRows::take(Lane& lane, std::int64_t begin_ns, std::int64_t end_ns) {
  constexpr std::size_t kMostTaken = 128;  // half of them are forgotten at once
  if (begin_ns < lane.forgotten_ns) {
    return false;
  }
  const auto next = std::partition_point(lane.taken.begin(), lane.taken.end(),
                                         [&](const auto& one) { return one.first < begin_ns; });
  if (next != lane.taken.end() && next->first < end_ns + kRounding_ns) {
    return false;
  }
  if (next != lane.taken.begin() && std::prev(next)->second + kRounding_ns > begin_ns) {
    return false;
  }
  lane.taken.emplace(next, begin_ns, end_ns);
  if (lane.taken.size() > kMostTaken) {
    const auto last = lane.taken.begin() + kMostTaken / 2;
    lane.forgotten_ns = last->second + kRounding_ns;
    lane.taken.erase(lane.taken.begin(), last + 1);
  }
  return true;
}

SliceRows::Row SliceRows::place(std::string_view category, std::string_view name,
                                std::int64_t begin_ns, std::int64_t end_ns) {
  const auto order = static_cast<std::uint32_t>(std::find(kOrder.begin(), kOrder.end(), category) -
                                                kOrder.begin());
  auto& of_names = lanes_[order];
  const auto found = of_names.find(name);
  Lanes& lanes = found != of_names.end() ? found->second : of_names[std::string(name)];
  for (Lane& lane : lanes.first) {
    if (take(lane, begin_ns, end_ns)) {
      return {lane.tid, false};
    }
  }
  if (lanes.first.size() < Lanes::kSearched) {
    Lane& lane = lanes.first.emplace_back();
    lane.tid = new_tid(order);
    take(lane, begin_ns, end_ns);
    return {lane.tid, true};
  }
  const bool is_new = lanes.others.empty() || lanes.others.top().first + kRounding_ns > begin_ns;
  const std::uint32_t tid = is_new ? new_tid(order) : lanes.others.top().second;
  if (!is_new) {
    lanes.others.pop();
  }
  lanes.others.emplace(end_ns, tid);
  return {tid, is_new};
}

// Rows beyond a category's own tids stand behind those of all categories.
std::uint32_t SliceRows::new_tid(std::uint32_t order) {
  if (used_[order] < kTidsOfACategory - 1) {
    return kFirstRow + order * kTidsOfACategory + ++used_[order];
  }
  constexpr auto kBehind = static_cast<std::uint32_t>(kOrder.size()) + 1;
  return kFirstRow + kBehind * kTidsOfACategory + ++used_[kBehind];
}

}  // namespace ringside::merge
