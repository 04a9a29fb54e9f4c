// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump_entries.h"

#include <algorithm>
#include <utility>

namespace ringside::load {

void DumpEntries::begin(std::size_t contexts, std::size_t entries) {
  entries_.clear();
  entries_.reserve(entries);
  last_of_context_.assign(contexts + 1, kNoEntry);
  ended_groups_ = 0;
}

DumpEntry& DumpEntries::add(std::uint32_t context) {
  DumpEntry& entry = entries_.emplace_back();
  entry.operation.context = context;
  entry.before = std::exchange(last_of_context_[context], entries_.size() - 1);
  return entry;
}

void DumpEntries::drop_last() {
  last_of_context_[entries_.back().operation.context] = entries_.back().before;
  entries_.pop_back();
}

bool DumpEntries::end_group(const DumpEntry& end) {
  std::size_t first = end.before;  // before which no call is one of the group
  while (first != kNoEntry && !entries_[first].operation.group &&
         has_numbers_of(end, entries_[first]) &&
         entries_[first].operation.state != model::State::kCompleted) {
    first = entries_[first].before;
  }
  if (first == end.before) {
    return false;
  }
  ++ended_groups_;
  for (std::size_t i = end.before; i != first; i = entries_[i].before) {
    model::Operation& operation = entries_[i].operation;
    operation.state = end.operation.state;
    operation.in_flight = end.operation.in_flight;
    operation.group = ended_groups_;
  }
  return true;
}

// A call between others of the group, or one that is damaged, may have any.
bool DumpEntries::has_numbers_of(const DumpEntry& end, const DumpEntry& entry) const {
  const auto are_equal = [&](const DumpEntry& one) {
    return one.collective == end.collective && one.point_to_point == end.point_to_point;
  };
  return are_equal(entry) || entry.is_doubtful ||
         (entry.before != kNoEntry && !entries_[entry.before].operation.group &&
          entries_[entry.before].operation.state != model::State::kCompleted &&
          are_equal(entries_[entry.before]));
}

void DumpEntries::doubt_record(std::uint64_t record) {
  const auto found = std::lower_bound(
      entries_.begin(), entries_.end(), record,
      [](const DumpEntry& entry, std::uint64_t id) { return entry.operation.id < id; });
  if (found != entries_.end() && found->operation.id == record) {
    found->is_doubtful = true;
  }
}

}  // namespace ringside::load
