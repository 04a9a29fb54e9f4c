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
  constexpr std::size_t kMostTaken = 64;
  if (begin_ns < lane.forgotten_ns) {
    return false;
  }
  const auto next = lane.taken.lower_bound(begin_ns);
  if (next != lane.taken.end() && next->first < end_ns + kRounding_ns) {
    return false;
  }
  if (next != lane.taken.begin() && std::prev(next)->second + kRounding_ns > begin_ns) {
    return false;
  }
  lane.taken.emplace(begin_ns, end_ns);
  if (lane.taken.size() > kMostTaken) {
    lane.forgotten_ns = lane.taken.begin()->second + kRounding_ns;
    lane.taken.erase(lane.taken.begin());
  }
  return true;
}

SliceRows::Row SliceRows::place(std::string_view category, std::string_view name,
                                std::int64_t begin_ns, std::int64_t end_ns) {
  const auto order = static_cast<std::uint32_t>(std::find(kOrder.begin(), kOrder.end(), category) -
                                                kOrder.begin());
  std::vector<Lane>& lanes = lanes_[{order, std::string(name)}];
  for (Lane& lane : lanes) {
    if (take(lane, begin_ns, end_ns)) {
      return {lane.tid, false};
    }
  }
  Lane& lane = lanes.emplace_back();
  lane.tid = kFirstRow + order * kTidsOfACategory + ++used_[order];
  take(lane, begin_ns, end_ns);
  return {lane.tid, true};
}

}  // namespace ringside::merge
