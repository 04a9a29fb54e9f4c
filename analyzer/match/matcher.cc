// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/matcher.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "analyzer/match/entry.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/untrusted.h"

namespace ringside::match {
namespace {

enum class Direction : std::uint8_t { kNone, kSend, kReceive };

Direction direction_of(std::string_view func) {
  return func == "Send"   ? Direction::kSend
         : func == "Recv" ? Direction::kReceive
                          : Direction::kNone;
}

// An index of each file's operations by context, to find those of one communicator.
class ByContext {
 public:
  explicit ByContext(const model::Traces& traces) {
    std::size_t most = 0;
    for (const model::TraceFile& file : traces.files) {
      most = std::max(most, file.operations.size());
    }
    in_file_.resize(most);
    std::iota(in_file_.begin(), in_file_.end(), 0U);
    for (const model::TraceFile& file : traces.files) {
      std::vector<std::uint32_t>& order = orders_.emplace_back();
      if (file.contexts.size() > 1) {
        order.assign(in_file_.begin(),
                     in_file_.begin() + static_cast<std::ptrdiff_t>(file.operations.size()));
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
          return file.operations.context(a) < file.operations.context(b);
        });
      }
    }
  }

  std::span<const std::uint32_t> of(const model::Traces& traces, const Member& member) const {
    const model::TraceFile& file = traces.files[member.file];
    if (file.contexts.size() <= 1) {
      return std::span(in_file_).first(file.operations.size());
    }
    const auto& operations = file.operations;
    const auto& order = orders_[member.file];
    const auto first = std::lower_bound(
        order.begin(), order.end(), member.context,
        [&](std::uint32_t i, std::uint32_t context) { return operations.context(i) < context; });
    const auto last = std::upper_bound(
        first, order.end(), member.context,
        [&](std::uint32_t context, std::uint32_t i) { return context < operations.context(i); });
    return {first, last};
  }

 private:
  std::vector<std::uint32_t> in_file_;  // 0, 1, 2...: the order for files with one context
  std::vector<std::vector<std::uint32_t>> orders_;  // the order for other files
};

Entry make_entry(Direction direction, const model::Operation& operation, std::uint32_t rank) {
  Entry entry;
  if (direction == Direction::kNone) {
    entry.way = operation.seq ? Way::kSequence : Way::kOrder;
    entry.func = operation.func;
    entry.key = operation.seq.value_or(0);
    return entry;
  }
  const std::uint64_t peer = operation.peer.value_or(0);
  entry.receives = direction == Direction::kReceive;
  entry.way = Way::kPair;
  entry.key = entry.receives ? peer << 32 | rank : std::uint64_t{rank} << 32 | peer;
  return entry;
}

// Lines of a trace are not sorted by time, so this sorts a member's calls first.
void count_occurrences(const model::Operations& operations, std::span<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (a.series() != b.series()) {
      return a.series() < b.series();
    }
    const auto order = [&](std::uint32_t i) {
      return std::tuple(operations.call_ns(i), operations.id(i), i);
    };
    return order(a.operation) < order(b.operation);
  });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].series() == entries[i - 1].series()) {
      entries[i].occurrence = entries[i - 1].occurrence + 1;
    }
  }
}

// Sampled sends and receives have their index in the lane. Without sampling, the index is the order
// of the calls. After the plugin has lost count, further calls have no index and are paired with
// each other.
void use_lane_positions(const model::Operations& operations, std::span<Entry> entries) {
  constexpr std::uint32_t kNoPosition = std::uint32_t{1} << 31;
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t last = first;
    bool has_positions = false;
    bool ascend = true;
    std::optional<std::uint64_t> before;
    for (; last < entries.size() && entries[last].series() == entries[first].series(); ++last) {
      const auto position =
          entries[last].way == Way::kPair ? operations[entries[last].operation].seq : std::nullopt;
      if (position) {
        ascend = ascend && *position < kNoPosition && (!before || *before < *position);
        has_positions = true;
        before = position;
      }
    }
    for (std::size_t i = first; has_positions && ascend && i < last; ++i) {
      const auto position = operations[entries[i].operation].seq;
      entries[i].occurrence = position ? static_cast<std::uint32_t>(*position)
                                       : kNoPosition + entries[i].occurrence % kNoPosition;
    }
    first = last;
  }
}

std::vector<Entry> collect(const model::Traces& traces, const ByContext& by_context,
                           const Communicator& communicator, std::uint64_t& unpaired) {
  std::vector<Entry> entries;
  std::size_t most = 0;
  for (const Member& member : communicator.members) {
    most += by_context.of(traces, member).size();
  }
  entries.reserve(most);
  for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
    const Member& member = communicator.members[m];
    const auto& operations = traces.files[member.file].operations;
    const std::size_t first = entries.size();
    for (const std::uint32_t i : by_context.of(traces, member)) {
      const model::Operation operation = operations[i];
      const Direction direction = direction_of(traces.names.text(operation.func));
      if (direction != Direction::kNone && (!member.rank || !operation.peer)) {
        ++unpaired;
        continue;
      }
      Entry& entry =
          entries.emplace_back(make_entry(direction, operation, member.rank.value_or(0)));
      entry.member = m;
      entry.operation = i;
    }
    count_occurrences(operations, std::span(entries).subspan(first));
    if (traces.files[member.file].process.sampling.p2p_of > 1) {
      use_lane_positions(operations, std::span(entries).subspan(first));
    }
  }
  return entries;
}

MatchedOperation make_operation(const Entry& entry, std::uint32_t communicator,
                                std::size_t first_part) {
  MatchedOperation operation;
  operation.communicator = communicator;
  operation.way = entry.way;
  operation.func = entry.func;
  operation.is_aligned = entry.is_aligned;
  operation.first_part = first_part;
  switch (entry.way) {
    case Way::kSequence:
      operation.number = entry.key;
      operation.occurrence = entry.occurrence;
      break;
    case Way::kAligned:
      operation.number = entry.key & ((std::uint64_t{1} << kAlignedNumberBits) - 1);
      break;
    case Way::kPair:
      operation.source = static_cast<std::uint32_t>(entry.key >> 32);
      operation.destination = static_cast<std::uint32_t>(entry.key);
      operation.number = entry.occurrence;
      break;
    case Way::kOrder:
    case Way::kGroup:
      operation.number = entry.occurrence;
      break;
  }
  return operation;
}

void join(const model::Traces& traces, std::vector<Entry>& entries, std::uint32_t communicator,
          Matches& matches) {
  for (Entry& entry : entries) {
    entry.occurrence = entry.way == Way::kAligned ? 0 : entry.occurrence;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple_cat(a.call(), std::tie(a.receives, a.member)) <
           std::tuple_cat(b.call(), std::tie(b.receives, b.member));
  });
  const auto& members = matches.communicators[communicator].members;
  std::size_t first_pair = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].way == Way::kPair) {
      first_pair = std::min(first_pair, matches.operations.size());
    }
    if (i == 0 || entries[i].call() != entries[i - 1].call()) {
      matches.operations.push_back(make_operation(entries[i], communicator, matches.parts.size()));
    }
    const Entry& entry = entries[i];
    matches.operations.back().is_aligned = matches.operations.back().is_aligned || entry.is_aligned;
    matches.parts.push_back({entry.member, members[entry.member].file, entry.operation});
    ++matches.operations.back().part_count;
  }
  if (first_pair < matches.operations.size()) {
    recognise_groups(traces, communicator, first_pair, matches);
  }
}

}  // namespace

Matching::Matching(const model::Traces& traces) {
  matches_.runs = find_runs(traces);
  matches_.communicators = find_communicators(traces, matches_.runs);
  std::size_t records = 0;
  for (const model::TraceFile& file : traces.files) {
    records += file.operations.size();
  }
  matches_.parts.reserve(records);
  const ByContext by_context(traces);
  for (std::uint32_t c = 0; c < matches_.communicators.size(); ++c) {
    const Communicator& communicator = matches_.communicators[c];
    auto entries = collect(traces, by_context, communicator, matches_.unpaired);
    auto untrusted = take_untrusted(traces, communicator, entries);
    if (untrusted.empty()) {
      join(traces, entries, c, matches_);
      continue;
    }
    matches_.untrusted += static_cast<std::uint64_t>(
        std::count_if(untrusted.begin(), untrusted.end(),
                      [](const Entry& entry) { return entry.way == Way::kSequence; }));
    join(traces, entries, c, matches_);
    unfinished_.push_back({c, std::move(entries), std::move(untrusted)});
  }
}

Matching::Matching(Matching&& other) noexcept = default;
Matching& Matching::operator=(Matching&& other) noexcept = default;
Matching::~Matching() = default;

Matches Matching::finish(const model::Traces& traces, const CommonClock& clock) && {
  if (unfinished_.empty()) {
    return std::move(matches_);
  }
  // Operations are sorted by communicator, and groups of sends and receives may be made of both
  // kinds: the communicators that have both are joined again.
  std::vector<MatchedOperation> before = std::move(matches_.operations);
  std::vector<Part> parts = std::move(matches_.parts);
  matches_.operations.clear();
  matches_.parts.clear();
  matches_.parts.reserve(parts.capacity());
  auto next = before.begin();
  const auto keep_until = [&](std::uint32_t communicator) {
    for (; next != before.end() && next->communicator < communicator; ++next) {
      const auto first = parts.begin() + static_cast<std::ptrdiff_t>(next->first_part);
      next->first_part = matches_.parts.size();
      matches_.operations.push_back(*next);
      matches_.parts.insert(matches_.parts.end(), first, first + next->part_count);
    }
  };
  for (Unfinished& one : unfinished_) {
    keep_until(one.communicator);
    while (next != before.end() && next->communicator == one.communicator) {
      ++next;
    }
    align_untrusted(traces, clock, matches_.communicators[one.communicator], one.untrusted);
    one.trusted.insert(one.trusted.end(), one.untrusted.begin(), one.untrusted.end());
    join(traces, one.trusted, one.communicator, matches_);
    one = {};
  }
  keep_until(static_cast<std::uint32_t>(matches_.communicators.size()));
  return std::move(matches_);
}

Matches match_operations(const model::Traces& traces, const CommonClock& clock) {
  return Matching(traces).finish(traces, clock);
}

Matches match_operations(const model::Traces& traces) {
  return match_operations(traces, realtime_clock(traces));
}

std::uint32_t ranks_expected(const Matches& matches, const MatchedOperation& operation) {
  if (operation.way == Way::kPair) {
    return is_to_self(operation) ? 1 : 2;
  }
  return matches.communicators[operation.communicator].nranks;
}

std::uint32_t ranks_seen(const Matches& matches, const MatchedOperation& operation) {
  return is_to_self(operation)          ? 1
         : operation.way == Way::kGroup ? ranks_expected(matches, operation)
                                        : operation.part_count;
}

}  // namespace ringside::match
