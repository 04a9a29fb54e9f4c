// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/matcher.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/match/calls/entry.h"
#include "analyzer/match/calls/sorted_calls.h"
#include "analyzer/match/group_patterns.h"
#include "analyzer/match/untrusted/untrusted.h"
#include "analyzer/model/parallel.h"

namespace ringside::match {
namespace {

// Entries that one thread matches at a time: they fit into its cache.
constexpr std::size_t kRangeEntries = 32'768;

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

bool comes_before(const Entry& a, const Entry& b) {
  return a.call() < b.call();
}

// The operations that are matched in a range of calls.
struct Joined {
  std::vector<MatchedOperation> operations;
  std::vector<Part> parts;
};

// Joins calls that all members have made alike, which is nearly always so: then they need not be
// sorted. Entries are by member, and those of one by call. Returns false if some differ.
bool join_alike(const std::vector<Member>& members, std::uint32_t communicator,
                const std::vector<Entry>& entries, Joined& joined) {
  const std::size_t calls = static_cast<std::size_t>(
      std::find_if(entries.begin(), entries.end(),
                   [&](const Entry& entry) { return entry.member != entries.front().member; }) -
      entries.begin());
  if (calls == 0 || entries.size() % calls != 0) {
    return false;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const std::size_t call = i % calls;
    const bool is_in_order = i < calls   ? call == 0 || comes_before(entries[i - 1], entry)
                             : call == 0 ? entries[i - 1].member < entry.member
                                         : entries[i - 1].member == entry.member;
    if (!is_in_order || entry.receives || entry.call() != entries[call].call()) {
      return false;
    }
  }
  joined.parts.reserve(entries.size());
  for (std::size_t call = 0; call < calls; ++call) {
    MatchedOperation& operation = joined.operations.emplace_back(
        make_operation(entries[call], communicator, joined.parts.size()));
    for (std::size_t i = call; i < entries.size(); i += calls) {
      const Entry& entry = entries[i];
      operation.is_aligned = operation.is_aligned || entry.is_aligned;
      joined.parts.push_back({entry.member, members[entry.member].file, entry.operation});
      ++operation.part_count;
    }
  }
  return true;
}

void join(const std::vector<Member>& members, std::uint32_t communicator,
          std::vector<Entry>& entries, Joined& joined) {
  if (join_alike(members, communicator, entries, joined)) {
    return;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple_cat(a.call(), std::tie(a.receives, a.member)) <
           std::tuple_cat(b.call(), std::tie(b.receives, b.member));
  });
  joined.parts.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (i == 0 || entry.call() != entries[i - 1].call()) {
      joined.operations.push_back(make_operation(entry, communicator, joined.parts.size()));
    }
    MatchedOperation& operation = joined.operations.back();
    operation.is_aligned = operation.is_aligned || entry.is_aligned;
    joined.parts.push_back({entry.member, members[entry.member].file, entry.operation});
    ++operation.part_count;
  }
}

// Joins the calls of communicators range by range, on all cores. The result does not depend on the
// ranges: they are put together in their order.
class Joiner {
 public:
  Joiner(const model::Traces& traces, AllSortedCalls& calls, Matches& matches)
      : traces_(traces), calls_(calls), matches_(matches), entries_of_thread_(core_count()) {}

  /// Adds a communicator behind all that were added. `aligned` are more entries of it. Its calls
  /// are released once they are joined, unless they are kept.
  void add(std::uint32_t communicator, std::vector<Entry> aligned, bool keeps_calls) {
    const std::size_t first = ranges_.size();
    calls_.reader(traces_, matches_.communicators, communicator)
        .add_ranges(communicator, kRangeEntries, ranges_);
    std::sort(aligned.begin(), aligned.end(), comes_before);
    communicators_.push_back({communicator, first, std::move(aligned), keeps_calls});
    if (ranges_.size() >= kRangesPerCore * core_count()) {
      join_all();
    }
  }

  /// Adds one whose members made the same calls: the k-th calls of all are one operation.
  void add_alike(std::uint32_t communicator) {
    join_all();
    const std::vector<Member>& members = matches_.communicators[communicator].members;
    SortedCalls& calls = calls_.communicators[communicator];
    std::vector<Entry> entries;
    calls_.reader(traces_, matches_.communicators, communicator).append(0, entries);
    // The calls of each member are in pages of their own, so a few of each are read at a time.
    constexpr std::size_t kAtATime = 16;
    std::vector<std::uint32_t> some(kAtATime * members.size());
    for (std::size_t first = 0; first < entries.size(); first += kAtATime) {
      const std::size_t count = std::min(kAtATime, entries.size() - first);
      for (std::uint32_t member = 0; member < members.size(); ++member) {
        for (std::size_t i = 0; i < count; ++i) {
          some[i * members.size() + member] = calls[member][first + i];
        }
      }
      for (std::size_t i = 0; i < count; ++i) {
        matches_.operations.push_back(
            make_operation(entries[first + i], communicator, matches_.parts.size()));
        matches_.operations.back().part_count = static_cast<std::uint32_t>(members.size());
        for (std::uint32_t member = 0; member < members.size(); ++member) {
          matches_.parts.push_back(
              {member, members[member].file, some[i * members.size() + member]});
        }
      }
    }
    calls = {};
  }

  /// Joins those that were added.
  void join_all() {
    std::size_t next = 0;  // of communicators_
    std::size_t first_pair = kNoPair;
    for (std::size_t first = 0; first < ranges_.size();) {
      std::vector<Joined> joined(std::min(kRangesPerCore * core_count(), ranges_.size() - first));
      for_each_on_cores(joined.size(), [&](std::size_t thread, std::size_t i) {
        join_range(first + i, entries_of_thread_[thread], joined[i]);
      });
      for (const Joined& one : joined) {
        append(one, first_pair);
        if (++first == ranges_.size() ||
            ranges_[first].communicator != ranges_[first - 1].communicator) {
          finish(communicators_[next++], first_pair);
          first_pair = kNoPair;
        }
      }
    }
    ranges_.clear();
    communicators_.clear();
  }

 private:
  static constexpr std::size_t kRangesPerCore = 4;  // are joined before they are put together
  static constexpr std::size_t kNoPair = std::numeric_limits<std::size_t>::max();

  struct Added {
    std::uint32_t communicator = 0;
    std::size_t first_range = 0;
    std::vector<Entry> aligned;
    bool keeps_calls = false;
  };

  void join_range(std::size_t index, std::vector<Entry>& entries, Joined& joined) const {
    const CallRange& range = ranges_[index];
    const Communicator& communicator = matches_.communicators[range.communicator];
    entries.clear();
    calls_.reader(traces_, matches_.communicators, range.communicator).append(range, entries);
    const auto added =
        std::upper_bound(communicators_.begin(), communicators_.end(), index,
                         [](std::size_t i, const Added& one) { return i < one.first_range; });
    const std::vector<Entry>& aligned = std::prev(added)->aligned;
    const auto place = [&](const std::optional<Entry>& bound, auto otherwise) {
      return bound ? std::lower_bound(aligned.begin(), aligned.end(), *bound, comes_before)
                   : otherwise;
    };
    entries.insert(entries.end(), place(range.from, aligned.begin()),
                   place(range.to, aligned.end()));
    join(communicator.members, range.communicator, entries, joined);
  }

  void append(const Joined& joined, std::size_t& first_pair) {
    for (MatchedOperation operation : joined.operations) {
      if (operation.way == Way::kPair && first_pair == kNoPair) {
        first_pair = matches_.operations.size();
      }
      operation.first_part += matches_.parts.size();
      matches_.operations.push_back(operation);
    }
    for (const Part& part : joined.parts) {
      matches_.parts.push_back(part);
    }
  }

  void finish(const Added& added, std::size_t first_pair) {
    if (first_pair != kNoPair) {
      recognise_groups(traces_, added.communicator, first_pair, matches_);
    }
    if (!added.keeps_calls) {
      calls_.communicators[added.communicator] = {};
    }
  }

  const model::Traces& traces_;
  AllSortedCalls& calls_;
  Matches& matches_;
  std::vector<std::vector<Entry>> entries_of_thread_;
  std::vector<CallRange> ranges_;
  std::vector<Added> communicators_;
};

}  // namespace

Matching::Matching(const model::Traces& traces) {
  matches_.runs = find_runs(traces);
  matches_.communicators = find_communicators(traces, matches_.runs);
  calls_ = std::make_unique<AllSortedCalls>(sort_calls(traces, matches_.communicators));
  for (std::size_t file = 0; file < traces.files.size(); ++file) {
    matches_.unpaired += calls_->unpaired[file];
    matches_.runs.runs[matches_.runs.of_file[file]].unmatched += calls_->unpaired[file];
  }
  Joiner joiner(traces, *calls_, matches_);
  for (std::uint32_t c = 0; c < matches_.communicators.size(); ++c) {
    auto untrusted = take_untrusted(traces, matches_.communicators, c, *calls_);
    const bool is_unfinished = !untrusted.empty();
    matches_.communicators[c].is_alike = calls_->are_alike[c] && !is_unfinished;
    if (matches_.communicators[c].is_alike) {
      joiner.add_alike(c);
      continue;
    }
    joiner.add(c, {}, is_unfinished);
    if (is_unfinished) {
      matches_.untrusted += static_cast<std::uint64_t>(
          std::count_if(untrusted.begin(), untrusted.end(),
                        [](const Entry& entry) { return entry.way == Way::kSequence; }));
      unfinished_.push_back({c, std::move(untrusted)});
    }
  }
  joiner.join_all();
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
  const Parts parts = std::exchange(matches_.parts, {});
  matches_.operations.clear();
  auto next = before.begin();
  const auto keep_until = [&](std::uint32_t communicator) {
    for (; next != before.end() && next->communicator < communicator; ++next) {
      const Parts::Range own(parts, next->first_part, next->part_count);
      next->first_part = matches_.parts.size();
      matches_.operations.push_back(*next);
      for (const Part& part : own) {
        matches_.parts.push_back(part);
      }
    }
  };
  Joiner joiner(traces, *calls_, matches_);
  for (Unfinished& one : unfinished_) {
    keep_until(one.communicator);
    while (next != before.end() && next->communicator == one.communicator) {
      ++next;
    }
    align_untrusted(traces, clock, matches_.communicators[one.communicator], one.untrusted);
    for (Entry& entry : one.untrusted) {
      entry.occurrence = entry.way == Way::kAligned ? 0 : entry.occurrence;
    }
    joiner.add(one.communicator, std::move(one.untrusted), false);
    joiner.join_all();
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

bool has_operations_alone(const Matches& matches) {
  const auto& communicators = matches.communicators;
  return !why_alone(communicators).empty() &&
         std::any_of(matches.operations.begin(), matches.operations.end(), [&](const auto& one) {
           return !communicators[one.communicator].why_alone.empty() && !is_to_self(one);
         });
}

std::uint32_t ranks_seen(const Matches& matches, const MatchedOperation& operation) {
  return is_to_self(operation)          ? 1
         : operation.way == Way::kGroup ? ranks_expected(matches, operation)
                                        : operation.part_count;
}

}  // namespace ringside::match
