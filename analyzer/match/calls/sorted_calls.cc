// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/calls/sorted_calls.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/match/calls/digest.h"
#include "analyzer/model/parallel.h"

namespace ringside::match {
namespace {

std::vector<Direction> directions_of(const model::NameTable& names) {
  std::vector<Direction> directions;
  for (model::NameId id = 0; id < names.size(); ++id) {
    const std::string_view func = names.text(id);
    directions.push_back(func == "Send"                                   ? Direction::kSend
                         : func == "Recv"                                 ? Direction::kReceive
                         : func == "SendRecv" || func == "batch_op_issue" ? Direction::kBatch
                                                                          : Direction::kNone);
  }
  return directions;
}

Entry make_entry(Direction direction, const model::CallIdentity& call,
                 std::optional<std::uint32_t> rank) {
  Entry entry;
  if (direction == Direction::kNone || direction == Direction::kBatch || !rank || !call.peer) {
    entry.way = call.seq ? Way::kSequence : Way::kOrder;
    entry.func = call.func;
    entry.key = call.seq.value_or(0);
    return entry;
  }
  const std::uint64_t peer = *call.peer;
  entry.receives = direction == Direction::kReceive;
  entry.way = Way::kPair;
  entry.key = entry.receives ? peer << 32 | *rank : std::uint64_t{*rank} << 32 | peer;
  return entry;
}

// Puts the entries of one member and function together, in their order. Leaves those of many
// functions alone.
void group_by_function(std::vector<Entry>& entries, std::vector<Entry>& grouped) {
  constexpr std::size_t kMostGroups = 64;
  struct FunctionGroup {
    Entry first;
    std::size_t end = 0;  // first how many there are, then the place of the next one
  };
  const auto name = [](const Entry& entry) {
    return std::tie(entry.member, entry.way, entry.func);
  };
  std::vector<FunctionGroup> groups;
  std::size_t last = 0;  // that was found: it is often the next one, or the same again
  const auto find = [&](const Entry& entry) {
    for (std::size_t i = 0; i < groups.size(); ++i, ++last) {
      last = last < groups.size() ? last : 0;
      if (name(groups[last].first) == name(entry)) {
        return true;
      }
    }
    return false;
  };
  for (const Entry& entry : entries) {
    if (!find(entry)) {
      if (groups.size() == kMostGroups) {
        return;
      }
      last = groups.size();
      groups.push_back({entry, 0});
    }
    ++groups[last].end;
  }
  std::sort(groups.begin(), groups.end(),
            [&](const auto& a, const auto& b) { return name(a.first) < name(b.first); });
  std::size_t begin = 0;
  for (FunctionGroup& group : groups) {
    begin += std::exchange(group.end, begin);
  }
  grouped.resize(entries.size());
  last = 0;
  for (const Entry& entry : entries) {
    find(entry);
    grouped[groups[last].end++] = entry;
  }
  entries.swap(grouped);
}

// Lines of a trace are not sorted by time, so this sorts a member's calls first. Calls of one
// function mostly are in the order of their numbers. `room` is that of another member.
void sort_entries(const model::Operations& operations, std::vector<Entry>& entries,
                  std::vector<Entry>& room) {
  const auto comes_before = [&](const Entry& a, const Entry& b) {
    if (a.member != b.member || a.series() != b.series()) {
      return std::tuple_cat(std::tie(a.member), a.series()) <
             std::tuple_cat(std::tie(b.member), b.series());
    }
    const auto order = [&](std::uint32_t i) {
      return std::tuple(operations.call_ns(i), operations.id(i), i);
    };
    return order(a.operation) < order(b.operation);
  };
  group_by_function(entries, room);
  if (!std::is_sorted(entries.begin(), entries.end(), comes_before)) {
    std::sort(entries.begin(), entries.end(), comes_before);
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
      const auto position = entries[last].way == Way::kPair
                                ? operations.call(entries[last].operation).seq
                                : std::nullopt;
      if (position) {
        ascend = ascend && *position < kNoPosition && (!before || *before < *position);
        has_positions = true;
        before = position;
      }
    }
    for (std::size_t i = first; has_positions && ascend && i < last; ++i) {
      const auto position = operations.call(entries[i].operation).seq;
      entries[i].occurrence = position ? static_cast<std::uint32_t>(*position)
                                       : kNoPosition + entries[i].occurrence % kNoPosition;
    }
    first = last;
  }
}

auto name_of(const Entry& entry) {
  return std::tie(entry.way, entry.func, entry.key);
}

// The digest of collectives that are not in flight; nothing of other calls. `of_shapes` serve all
// calls of the file.
std::optional<Digest> digest_of(const model::TraceFile& file, std::span<const Entry> calls,
                                std::vector<std::optional<Digest>>& of_shapes) {
  Digest digest{1, 2};
  for (const Entry& call : calls) {
    const std::uint32_t shape = file.operations.shape(call.operation);
    of_shapes.resize(std::max<std::size_t>(of_shapes.size(), shape + 1));
    std::optional<Digest>& of_shape = of_shapes[shape];
    if (!of_shape) {
      const model::Terms terms = file.operations.terms(call.operation);
      if (call.way == Way::kPair || terms.in_flight || terms.surplus.value_or(0) != 0) {
        return std::nullopt;
      }
      of_shape = Digest{1, 2};
      mix_in(call.func, *of_shape);
      mix_in(terms.datatype, *of_shape);
      mix_in(terms.count, *of_shape);
      mix_in(terms.bytes, *of_shape);
      mix_in(terms.root, *of_shape);
    }
    mix_in((*of_shape)[0], digest);
    mix_in(call.way == Way::kSequence ? call.key : ~std::uint64_t{0}, digest);
  }
  return file.doubtful.empty() ? std::optional(digest) : std::nullopt;
}

}  // namespace

AllSortedCalls sort_calls(const model::Traces& traces,
                          const std::vector<Communicator>& communicators) {
  struct Place {
    std::uint32_t communicator = 0;
    std::uint32_t member = 0;
  };
  AllSortedCalls all;
  std::vector<std::map<std::uint32_t, Place>> places(traces.files.size());  // by context
  std::vector<std::vector<std::optional<Digest>>> digests;  // by communicator, member
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    const auto& members = communicators[c].members;
    all.communicators.emplace_back(members.size());
    digests.emplace_back(members.size());
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      places[members[m].file].insert_or_assign(members[m].context, Place{c, m});
    }
  }
  all.directions = directions_of(traces.names);
  all.unpaired.resize(traces.files.size());
  std::vector<std::vector<Entry>> entries_of_thread(core_count());
  std::vector<std::vector<Entry>> room_of_thread(core_count());
  for_each_on_cores(traces.files.size(), [&](std::size_t thread, std::size_t file) {
    std::vector<Entry>& entries = entries_of_thread[thread];
    entries.clear();
    const model::Operations& operations = traces.files[file].operations;
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      const model::CallIdentity call = operations.call(i);
      const auto place = places[file].find(call.context);
      if (place == places[file].end()) {
        continue;
      }
      const Communicator& communicator = communicators[place->second.communicator];
      const auto& rank = communicator.members[place->second.member].rank;
      const Direction direction = all.directions[call.func];
      const bool is_known =
          direction == Direction::kNone || !communicator.why_alone.empty() ||
          (direction == Direction::kBatch ? communicator.nranks == 2 : rank && call.peer);
      if (!is_known) {
        ++all.unpaired[file];
        continue;
      }
      Entry& entry = entries.emplace_back(make_entry(direction, call, rank));
      entry.member = call.context;  // for the moment
      entry.operation = i;
    }
    sort_entries(operations, entries, room_of_thread[thread]);
    std::vector<std::optional<Digest>> of_shapes;
    for (std::size_t first = 0; first < entries.size();) {
      const Place place = places[file].at(entries[first].member);
      std::vector<std::uint32_t>& calls = all.communicators[place.communicator][place.member];
      std::size_t last = first;
      while (last < entries.size() && entries[last].member == entries[first].member) {
        ++last;
      }
      digests[place.communicator][place.member] =
          digest_of(traces.files[file], std::span(entries).subspan(first, last - first), of_shapes);
      calls.reserve(last - first);
      for (; first < last; ++first) {
        calls.push_back(entries[first].operation);
      }
    }
  });
  for (const auto& of_members : digests) {
    all.are_alike.push_back(
        std::all_of(of_members.begin(), of_members.end(),
                    [&](const auto& digest) { return digest && digest == of_members.front(); }));
  }
  return all;
}

Entry CallReader::at(std::uint32_t member, std::size_t position) const {
  const Member& whose = communicator_.members[member];
  const std::uint32_t operation = calls_[member][position];
  const model::CallIdentity call = traces_.files[whose.file].operations.call(operation);
  Entry entry = make_entry(directions_[call.func], call, whose.rank);
  entry.member = member;
  entry.operation = operation;
  return entry;
}

// A pair is not divided: where its calls are sampled, their numbers need all of them.
Entry CallReader::bound_at(std::uint32_t member, std::size_t position) const {
  Entry bound = at(member, position);
  bound.occurrence =
      bound.way == Way::kPair
          ? 0
          : static_cast<std::uint32_t>(position - lower_bound(member, bound, position));
  return bound;
}

std::size_t CallReader::lower_bound(std::uint32_t member, const Entry& bound,
                                    std::size_t guess) const {
  const auto find = [&](std::size_t begin, const auto& is_before) {
    std::size_t end = calls_[member].size();
    const auto look_at = [&](std::size_t place) {
      if (begin <= place && place < end) {
        (is_before(at(member, place)) ? begin = place + 1 : end = place);
      }
    };
    look_at(guess);
    look_at(guess - 1);
    while (begin < end) {
      look_at(begin + (end - begin) / 2);
    }
    return begin;
  };
  const std::size_t first =
      find(0, [&](const Entry& entry) { return name_of(entry) < name_of(bound); });
  if (bound.occurrence == 0) {
    return first;
  }
  const std::size_t last =
      find(first, [&](const Entry& entry) { return name_of(entry) <= name_of(bound); });
  return std::min(first + bound.occurrence, last);
}

void CallReader::append(std::uint32_t member, std::size_t begin, std::size_t end,
                        std::vector<Entry>& entries) const {
  const std::size_t first = entries.size();
  for (std::size_t i = begin; i < end; ++i) {
    const Entry& entry = entries.emplace_back(at(member, i));
    if (i > begin && entry.series() == entries[entries.size() - 2].series()) {
      entries.back().occurrence = entries[entries.size() - 2].occurrence + 1;
    } else if (i == begin) {
      entries.back().occurrence = bound_at(member, i).occurrence;
    }
  }
  const model::TraceFile& file = traces_.files[communicator_.members[member].file];
  if (file.process.sampling.p2p_of > 1) {
    use_lane_positions(file.operations, std::span(entries).subspan(first));
  }
}

// Most members have made the same calls, so the places of one are near those of the one before.
void CallReader::append(const CallRange& range, std::vector<Entry>& entries) const {
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::uint32_t member = 0; member < calls_.size(); ++member) {
    begin = range.from ? lower_bound(member, *range.from, begin) : 0;
    end = range.to ? lower_bound(member, *range.to, end) : calls_[member].size();
    append(member, begin, end, entries);
  }
}

void CallReader::add_ranges(std::uint32_t communicator, std::size_t entries,
                            std::vector<CallRange>& ranges) const {
  constexpr std::size_t kSamples = 16;  // of each range
  const std::size_t step = std::max<std::size_t>(entries / kSamples, 1);
  std::vector<Entry> samples;
  // One at a different place in each step: all members have similar calls at similar places.
  std::size_t before = 0;
  std::size_t next = 0;
  std::uint64_t random = 0;
  for (std::uint32_t member = 0; member < calls_.size(); ++member) {
    while (next < before + calls_[member].size()) {
      samples.push_back(bound_at(member, next - before));
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      next = (next / step + 1) * step + (random >> 33) % step;
    }
    before += calls_[member].size();
  }
  std::sort(samples.begin(), samples.end(),
            [](const Entry& a, const Entry& b) { return a.call() < b.call(); });
  ranges.push_back({communicator, std::nullopt, std::nullopt});
  for (std::size_t i = kSamples; i < samples.size(); i += kSamples) {
    if (!ranges.back().from || ranges.back().from->call() < samples[i].call()) {
      ranges.back().to = samples[i];
      ranges.push_back({communicator, samples[i], std::nullopt});
    }
  }
}

}  // namespace ringside::match
