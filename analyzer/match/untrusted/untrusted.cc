// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/untrusted/untrusted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "analyzer/match/calls/digest.h"
#include "analyzer/match/untrusted/lanes.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kBias =
    std::int64_t{1} << 61;  // added to positions, which may be negative, to get unsigned keys

// Tells which entries of a communicator cannot be matched by number or order, and why.
class Doubts {
 public:
  Doubts(const model::Traces& traces, const Communicator& communicator)
      : traces_(traces), communicator_(communicator) {
    for (std::uint32_t m = 0; m < communicator.members.size(); ++m) {
      const Member& member = communicator.members[m];
      const bool is_whole_start = member.is_from_start && file_of(m).windows.size() == 1;
      const bool is_counted = is_whole_start && member.is_lossless;
      numbers_are_late_ =
          numbers_are_late_ || (counts_only_while_recording(file_of(m).process) && !is_whole_start);
      order_is_doubtful_ = order_is_doubtful_ || !is_counted;
      if (member.rank) {
        bool& is_counted_rank = is_counted_.try_emplace(*member.rank, true).first->second;
        is_counted_rank = is_counted_rank && is_counted;
      }
    }
  }

  /// Must have been called with all entries before stream_of() is. A number that one member uses
  /// twice may repeat on all.
  void see(const Entry& entry) {
    if (entry.way == Way::kSequence &&
        (entry.occurrence > 0 || file_of(entry.member).operations.call(entry.operation).graph)) {
      repeated_.insert(mix(mix(0, entry.func), entry.key));
      repeating_functions_.insert(entry.func);
    }
  }

  /// False: all entries are matched by their numbers and order.
  bool is_there() const {
    return communicator_.members.size() > 1 && (numbers_are_late_ || order_is_doubtful_);
  }

  bool numbers_are_late() const { return numbers_are_late_; }

  Stream stream_of(const Entry& entry) const {
    if (entry.way == Way::kPair) {
      return pair_stream(entry);
    }
    if (entry.way == Way::kOrder) {
      return {order_is_doubtful_ ? Doubt::kNoNumber : Doubt::kNone, false, entry.func};
    }
    if (entry.way != Way::kSequence) {
      return {};
    }
    // If the ranks' numbers differ by a shift, it is not known which rank's number is the repeated
    // one.
    if (numbers_are_late_ && repeating_functions_.contains(entry.func)) {
      return {Doubt::kRepeats, false, entry.func};
    }
    if (!numbers_are_late_ && repeated_.contains(mix(mix(0, entry.func), entry.key))) {
      return {order_is_doubtful_ ? Doubt::kRepeats : Doubt::kNone, false, model::kNoName};
    }
    return {numbers_are_late_ ? Doubt::kLateCount : Doubt::kNone, true, entry.func};
  }

 private:
  const model::TraceFile& file_of(std::uint32_t member) const {
    return traces_.files[communicator_.members[member].file];
  }

  // The k-th send is the k-th receive only if both ranks counted from the same call on. A rank's
  // sends to itself are counted in one place. A rank without a trace has nothing to align.
  Stream pair_stream(const Entry& entry) const {
    const auto source = is_counted_.find(static_cast<std::uint32_t>(entry.key >> 32));
    const auto destination = is_counted_.find(static_cast<std::uint32_t>(entry.key));
    if (source == destination || source == is_counted_.end() || destination == is_counted_.end() ||
        (source->second && destination->second)) {
      return {};
    }
    return {Doubt::kPairs, false, model::kNoName, entry.key};
  }

  const model::Traces& traces_;
  const Communicator& communicator_;
  bool numbers_are_late_ = false;
  bool order_is_doubtful_ = false;
  std::map<std::uint32_t, bool> is_counted_;    // by rank: from its first call on, without loss
  std::unordered_set<std::uint64_t> repeated_;  // mixed from function and number
  std::set<model::NameId> repeating_functions_;
};

class Aligner {
 public:
  Aligner(const model::Traces& traces, const CommonClock& clock, Communicator& communicator,
          std::vector<Entry>& entries)
      : traces_(traces), clock_(clock), communicator_(communicator), entries_(entries) {}

  void align() {
    Doubts doubts(traces_, communicator_);
    for (const Entry& entry : entries_) {
      doubts.see(entry);
    }
    std::map<Stream, std::vector<std::uint32_t>> streams;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      streams[doubts.stream_of(entries_[i])].push_back(i);
    }
    const LaneMaker lanes(traces_, clock_, communicator_, entries_, has_one_interface(),
                          !doubts.numbers_are_late());
    for (const auto& [stream, indices] : streams) {
      align(lanes, stream, indices);
    }
    remove_unaligned();
    add_notes();
  }

 private:
  bool has_one_interface() const {
    const auto abi_of = [&](const Member& member) {
      return traces_.files[member.file].process.abi;
    };
    const auto& members = communicator_.members;
    return std::all_of(members.begin(), members.end(), [&](const Member& member) {
      return abi_of(member) == abi_of(members.front());
    });
  }

  // `indices` are sorted by member. The exact lane with the most calls is the reference for the
  // others.
  void align(const LaneMaker& lanes, const Stream& stream,
             const std::vector<std::uint32_t>& indices) {
    std::vector<std::span<const std::uint32_t>> by_member;
    for (std::size_t first = 0; first < indices.size();) {
      std::size_t last = first;
      while (last < indices.size() &&
             entries_[indices[last]].member == entries_[indices[first]].member) {
        ++last;
      }
      by_member.push_back(std::span(indices).subspan(first, last - first));
      first = last;
    }
    std::stable_sort(by_member.begin(), by_member.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    Lane reference;
    for (const auto& of_member : by_member) {
      reference = lanes.make(stream, of_member);
      if (reference.is_exact) {
        break;
      }
    }
    doubts_.insert(stream.doubt);
    if (!reference.is_exact) {
      for (const std::uint32_t i : indices) {
        unaligned_.push_back(i);
      }
      return;
    }
    for (const Call& call : reference.calls) {
      place(call.operation, call.position);
    }
    std::vector<SignatureCounts> counts;
    for (const Piece& piece : reference.pieces) {
      counts.push_back(count_signatures(piece.calls));
    }
    for (const auto& of_member : by_member) {
      if (entries_[of_member.front()].member != reference.member) {
        align_lane(reference, counts, lanes.make(stream, of_member));
      }
    }
    number_from_zero(stream, indices);
  }

  // Keys are counted from zero, and pairs get their own back, once all are placed.
  void place(std::uint32_t index, std::int64_t position) {
    entries_[index].is_aligned = true;
    entries_[index].key = static_cast<std::uint64_t>(position + kBias);
  }

  void number_from_zero(const Stream& stream, const std::vector<std::uint32_t>& indices) {
    std::uint64_t least = ~0ULL;
    for (const std::uint32_t i : indices) {
      least = entries_[i].is_aligned ? std::min(least, entries_[i].key) : least;
    }
    for (const std::uint32_t i : indices) {
      Entry& entry = entries_[i];
      if (!entry.is_aligned) {
        continue;
      }
      if (stream.doubt == Doubt::kPairs) {
        entry.occurrence = static_cast<std::uint32_t>(entry.key - least);
        entry.key = stream.pair;
        continue;
      }
      entry.way = Way::kAligned;
      // Two streams of one function must not have equal keys.
      entry.key = (entry.key - least) | static_cast<std::uint64_t>(stream.doubt)
                                            << kAlignedNumberBits;
    }
  }

  void align_lane(const Lane& reference, const std::vector<SignatureCounts>& counts,
                  const Lane& lane) {
    const std::int64_t uncertainty_ns = clock_.uncertainty_ns(
        communicator_.members[reference.member].file, communicator_.members[lane.member].file);
    std::vector<std::optional<std::int64_t>> found(lane.calls.size());
    for (const Piece& piece : lane.pieces) {
      const auto first = static_cast<std::size_t>(piece.calls.data() - lane.calls.data());
      for (std::size_t r = 0; r < reference.pieces.size(); ++r) {
        align_piece(reference.pieces[r], reference.pieces.size() == 1, counts[r], piece,
                    uncertainty_ns, std::span(found).subspan(first, piece.calls.size()));
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i]) {
        place(lane.calls[i].operation, *found[i]);
      } else {
        unaligned_.push_back(lane.calls[i].operation);
      }
    }
  }

  static void align_piece(const Piece& reference, bool is_only, const SignatureCounts& counts,
                          const Piece& piece, std::int64_t uncertainty_ns,
                          std::span<std::optional<std::int64_t>> found) {
    if (!piece.is_exact) {
      const auto positions = find_positions(reference, piece.calls, uncertainty_ns);
      for (std::size_t i = 0; i < found.size(); ++i) {
        found[i] = positions[i] ? positions[i] : found[i];
      }
      return;
    }
    const auto shift = find_shift(reference, counts, piece, uncertainty_ns);
    if (!shift) {
      return;
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::int64_t position = piece.calls[i].position + *shift;
      // Outside of its first piece, the reference's own numbers have gaps of unknown length.
      const bool is_covered = reference.calls.front().position <= position &&
                              position <= reference.calls.back().position;
      if (is_only || is_covered) {
        found[i] = position;
      }
    }
  }

  void remove_unaligned() {
    std::set<std::uint32_t> members;
    constexpr std::uint32_t kTakenOut = ~0U;
    for (const std::uint32_t i : unaligned_) {
      members.insert(entries_[i].member);
      entries_[i].operation = kTakenOut;
    }
    std::erase_if(entries_, [](const Entry& entry) { return entry.operation == kTakenOut; });
    communicator_.unaligned_members.assign(members.begin(), members.end());
    communicator_.unaligned_calls = unaligned_.size();
  }

  void add_notes() {
    const std::string how = ": operations are aligned by signature, order and time";
    const std::array<std::pair<Doubt, const char*>, 4> reasons = {
        std::pair{
            Doubt::kLateCount,
            "sequence numbers count only while NCCL up to 2.25 is recorded, and not all ranks "
            "were recorded from the start on"},
        std::pair{
            Doubt::kRepeats,
            "sequence numbers repeat (CUDA graphs, or calls of PyTorch that were made together), "
            "and not all ranks were recorded from the start on without loss"},
        std::pair{
            Doubt::kNoNumber,
            "some operations have no sequence number, and not all ranks were recorded from the "
            "start on without loss"},
        std::pair{Doubt::kPairs,
                  "sends and receives are counted, and not all ranks were recorded from the start "
                  "on without loss"}};
    for (const auto& [doubt, text] : reasons) {
      if (doubts_.contains(doubt)) {
        communicator_.notes.push_back(text + how);
      }
    }
  }

  const model::Traces& traces_;
  const CommonClock& clock_;
  Communicator& communicator_;
  std::vector<Entry>& entries_;
  std::set<Doubt> doubts_;
  std::vector<std::uint32_t> unaligned_;  // indices of entries
};

}  // namespace

bool counts_only_while_recording(const model::Process& process) {
  const std::string_view version = process.nccl_version;
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error == std::errc() && dot != end && *dot == '.' &&
      std::from_chars(dot + 1, end, minor).ec == std::errc()) {
    return major < 2 || (major == 2 && minor < 26);
  }
  return process.abi == 1 || process.abi == 2;
}

std::vector<Entry> take_untrusted(const model::Traces& traces,
                                  const std::vector<Communicator>& communicators,
                                  std::uint32_t communicator, AllSortedCalls& calls) {
  std::vector<Entry> untrusted;
  Doubts doubts(traces, communicators[communicator]);
  if (!doubts.is_there()) {
    return untrusted;
  }
  const CallReader reader = calls.reader(traces, communicators, communicator);
  SortedCalls& of_member = calls.communicators[communicator];
  std::vector<Entry> entries;
  const auto read = [&](std::uint32_t member) {
    entries.clear();
    reader.append(member, entries);
  };
  for (std::uint32_t member = 0; member < of_member.size(); ++member) {
    read(member);
    for (const Entry& entry : entries) {
      doubts.see(entry);
    }
  }
  for (std::uint32_t member = 0; member < of_member.size(); ++member) {
    read(member);
    std::vector<std::uint32_t> kept;
    for (const Entry& entry : entries) {
      if (doubts.stream_of(entry).doubt != Doubt::kNone) {
        untrusted.push_back(entry);
      } else {
        kept.push_back(entry.operation);
      }
    }
    of_member[member] = std::move(kept);
  }
  return untrusted;
}

void align_untrusted(const model::Traces& traces, const CommonClock& clock,
                     Communicator& communicator, std::vector<Entry>& entries) {
  Aligner(traces, clock, communicator, entries).align();
}

}  // namespace ringside::match
