// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump_copies.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace ringside::load {

void DumpCopies::find(const PlainTree& tree, std::span<const PlainValue> entries,
                      const DumpKeys& keys) {
  using Number = std::optional<std::int64_t>;
  // Its time, numbers, group and name.
  using Call = std::tuple<Number, Number, Number, Number, std::string_view, std::string_view>;
  std::vector<std::pair<Call, std::uint64_t>> calls;
  for (std::uint64_t place = 1; place <= entries.size(); ++place) {
    const PlainValue& entry = entries[place - 1];
    const auto number = [&](const PlainKey& key) { return integer_of(tree.at(entry, key)); };
    const auto group = tree.list(tree.at(entry, keys.process_group));
    const Call call{number(keys.time_created_ns),
                    number(keys.collective_seq_id),
                    number(keys.p2p_seq_id),
                    number(keys.op_id),
                    group.empty() ? std::string_view() : tree.text(group[0]),
                    tree.text(tree.at(entry, keys.profiling_name))};
    if (std::get<0>(call).value_or(0) > 0) {
      calls.emplace_back(call, place);
    }
  }
  std::sort(calls.begin(), calls.end());
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const auto [a, b] = std::pair(calls[i - 1].second, calls[i].second);
    if (calls[i - 1].first == calls[i].first) {
      const bool has_same_record = integer_of(tree.at(entries[a - 1], keys.record_id)) ==
                                   integer_of(tree.at(entries[b - 1], keys.record_id));
      others_.try_emplace(a, Other{b, has_same_record});
      others_[b] = {a, has_same_record};
    }
  }
}

}  // namespace ringside::load
