// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/matcher.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace ringside::match {
namespace {

// An operation on its way to its match. Entries that agree in all but the lane are one operation.
struct Entry {
  std::uint32_t communicator = 0;
  Way way = Way::kSequence;
  model::NameId func = model::kNoName;
  std::uint64_t key = 0;   // sequence number; source and destination of a pair
  std::uint32_t lane = 0;  // who recorded it: the member, or which end of a pair
  std::int64_t time_ns = 0;
  std::uint64_t id = 0;
  std::uint64_t occurrence = 0;
  Part part;

  auto series() const { return std::tie(communicator, way, func, key, lane); }
  auto call() const { return std::tie(communicator, way, func, key, occurrence); }
};

constexpr std::uint32_t kSendLane = 0;
constexpr std::uint32_t kReceiveLane = 1;

enum class Direction : std::uint8_t { kNone, kSend, kReceive };

class Collector {
 public:
  Collector(const model::Traces& traces, Matches& matches) : traces_(traces), matches_(matches) {
    for (std::uint32_t c = 0; c < matches.communicators.size(); ++c) {
      const auto& members = matches.communicators[c].members;
      for (std::uint32_t m = 0; m < members.size(); ++m) {
        places_[{members[m].file, members[m].context}] = {c, m};
      }
    }
  }

  std::vector<Entry> collect() {
    std::vector<Entry> entries;
    for (std::uint32_t f = 0; f < traces_.files.size(); ++f) {
      const auto& operations = traces_.files[f].operations;
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        add(operations[i], f, i, entries);
      }
    }
    return entries;
  }

 private:
  Direction direction_of(const model::Operation& operation) const {
    const std::string_view func = traces_.names.text(operation.func);
    return func == "Send"   ? Direction::kSend
           : func == "Recv" ? Direction::kReceive
                            : Direction::kNone;
  }

  void add(const model::Operation& operation, std::uint32_t file, std::uint32_t index,
           std::vector<Entry>& entries) {
    const auto [communicator, member] = places_.at({file, operation.context});
    Entry entry;
    entry.communicator = communicator;
    entry.part = {member, file, index};
    entry.id = operation.id;
    entry.time_ns = operation.enqueue_start_ns.value_or(operation.start_ns.value_or(0));
    if (const Direction direction = direction_of(operation); direction != Direction::kNone) {
      const auto& rank = matches_.communicators[communicator].members[member].rank;
      if (!rank || !operation.peer) {
        ++matches_.unpaired;
        return;
      }
      const bool sends = direction == Direction::kSend;
      const std::uint64_t source = sends ? *rank : *operation.peer;
      const std::uint64_t destination = sends ? *operation.peer : *rank;
      entry.way = Way::kPair;
      entry.key = source << 32 | destination;
      entry.lane = sends ? kSendLane : kReceiveLane;
    } else {
      entry.way = operation.seq ? Way::kSequence : Way::kOrder;
      entry.func = operation.func;
      entry.key = operation.seq.value_or(0);
      entry.lane = member;
    }
    entries.push_back(entry);
  }

  const model::Traces& traces_;
  Matches& matches_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>
      places_;  // (file, context) to (communicator, member)
};

// Lines of a trace are in no order of time, so the order of the calls is found here.
void count_occurrences(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple_cat(a.series(), std::tie(a.time_ns, a.id, a.part.operation)) <
           std::tuple_cat(b.series(), std::tie(b.time_ns, b.id, b.part.operation));
  });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].series() == entries[i - 1].series()) {
      entries[i].occurrence = entries[i - 1].occurrence + 1;
    }
  }
}

MatchedOperation make_operation(const Entry& entry, std::size_t first_part) {
  MatchedOperation operation;
  operation.communicator = entry.communicator;
  operation.way = entry.way;
  operation.func = entry.func;
  operation.first_part = first_part;
  if (entry.way == Way::kSequence) {
    operation.number = entry.key;
    operation.occurrence = static_cast<std::uint32_t>(entry.occurrence);
  } else {
    operation.number = entry.occurrence;
  }
  if (entry.way == Way::kPair) {
    operation.source = static_cast<std::uint32_t>(entry.key >> 32);
    operation.destination = static_cast<std::uint32_t>(entry.key);
  }
  return operation;
}

}  // namespace

Matches match_operations(const model::Traces& traces) {
  Matches matches;
  matches.communicators = find_communicators(traces);
  std::vector<Entry> entries = Collector(traces, matches).collect();
  count_occurrences(entries);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple_cat(a.call(), std::tie(a.lane)) < std::tuple_cat(b.call(), std::tie(b.lane));
  });
  matches.parts.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].call() != entries[i - 1].call()) {
      matches.operations.push_back(make_operation(entries[i], matches.parts.size()));
    }
    matches.parts.push_back(entries[i].part);
    ++matches.operations.back().part_count;
  }
  return matches;
}

std::uint32_t ranks_expected(const Matches& matches, const MatchedOperation& operation) {
  if (operation.way == Way::kPair) {
    return is_to_self(operation) ? 1 : 2;
  }
  return matches.communicators[operation.communicator].nranks;
}

std::uint32_t ranks_seen(const MatchedOperation& operation) {
  return is_to_self(operation) ? 1 : operation.part_count;
}

}  // namespace ringside::match
