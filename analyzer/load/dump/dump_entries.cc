// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_entries.h"

#include <algorithm>
#include <limits>
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

DumpEntries::EndMeaning DumpEntries::meaning_of(const DumpEntry& end,
                                                std::optional<std::int64_t> collective,
                                                std::optional<std::uint64_t> last_loss) const {
  const DumpEntry* const last = before(end);
  if (last == nullptr) {
    return {};
  }
  const auto counts_of = [](const auto& told, const auto& number_before) {
    const auto apart = static_cast<std::uint64_t>(told.value_or(0)) -
                       static_cast<std::uint64_t>(number_before.value_or(0));
    return !told || !number_before || apart > 1 ? Counts::kNot
           : apart == 0                         ? Counts::kSame
                                                : Counts::kOn;
  };
  const Counts by_call = counts_of(end.op_id, last->op_id);
  const Counts by_number = counts_of(collective, last->collective);
  if (by_call == Counts::kOn && last_loss && *last_loss > last->operation.id) {
    return {};  // what was lost may have had the number between
  }
  if (by_call == Counts::kNot || by_number == Counts::kNot || by_call == by_number) {
    return {by_call, false};
  }
  const bool is_open = !last->operation.group && last->operation.in_flight;
  const std::int64_t own =
      is_open || *last->op_id == std::numeric_limits<std::int64_t>::max() ? 0 : 1;
  return {is_open ? Counts::kSame : Counts::kOn, true, *last->op_id + own};
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

void DumpEntries::begin_watched(std::uint32_t context, const model::Context& watched) {
  std::vector<model::Operation*> begun;
  for (std::size_t i = last_of_context_[context]; i < entries_.size(); i = entries_[i].before) {
    model::Operation& operation = entries_[i].operation;
    if (operation.kind != model::Kind::kCollective ||
        (i == last_of_context_[context] && watched.last_enqueued != entries_[i].collective)) {
      return;
    }
    if (operation.state == model::State::kEnqueued &&
        entries_[i].collective <= watched.last_started &&
        entries_[i].collective > watched.last_completed) {
      begun.push_back(&operation);
    }
  }
  for (model::Operation* const one : begun) {
    one->state = model::State::kStarted;
  }
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
