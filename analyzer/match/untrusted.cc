// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/untrusted.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "analyzer/match/align_calls.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kGreatestPosition = std::int64_t{1} << 59;
constexpr std::int64_t kBias = std::int64_t{1}
                               << 61;  // keys are unsigned, positions may be below 0

// Why the operations of a stream are not matched by their numbers.
enum class Doubt : std::uint8_t { kNone, kLateCount, kRepeats, kNoNumber };

// What is aligned together: by function, except repeated numbers, which tell the function.
struct Stream {
  Doubt doubt = Doubt::kNone;
  bool has_positions = false;  // sequence numbers that are true but for a shift
  model::NameId func = model::kNoName;

  auto tied() const { return std::tie(doubt, has_positions, func); }
  bool operator<(const Stream& other) const { return tied() < other.tied(); }
};

bool is_synchronising(std::string_view func) {
  return func == "AllReduce" || func == "AllGather" || func == "ReduceScatter" ||
         func == "AlltoAll";
}

// How far the ends of a seen execution may be from the truth, in ns: GPU stamps are put on the
// host's time line by a fit; others are the moments of callbacks.
std::int64_t slack_ns(const model::Operation& operation) {
  return operation.times_from == model::TimesFrom::kGpu && !operation.gpu_polled ? 20'000
                                                                                 : 1'000'000;
}

// Times come from files; what would overflow stays what it is.
std::int64_t add(std::int64_t time_ns, std::int64_t more_ns) {
  std::int64_t sum_ns = 0;
  return __builtin_add_overflow(time_ns, more_ns, &sum_ns) ? time_ns : sum_ns;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 12) + (hash >> 4);
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 31);
}

// All calls of one stream by one member, cut where recording was interrupted.
struct Lane {
  std::uint32_t member = 0;
  std::vector<Call> calls;  // operation: index into the entries
  std::vector<Piece> pieces;
  bool is_exact = false;
};

class Aligner {
 public:
  Aligner(const model::Traces& traces, const CommonClock& clock, Communicator& communicator,
          std::vector<Entry>& entries)
      : traces_(traces), clock_(clock), communicator_(communicator), entries_(entries) {}

  void align() {
    find_doubts();
    if (communicator_.members.size() < 2 || (!numbers_are_late_ && !order_is_doubtful_)) {
      return;
    }
    find_repeats();
    std::map<Stream, std::vector<std::uint32_t>> streams;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      if (const Stream stream = stream_of(entries_[i]); stream.doubt != Doubt::kNone) {
        streams[stream].push_back(i);
      }
    }
    for (const auto& [stream, indices] : streams) {
      align(stream, indices);
    }
    take_out_unaligned();
    tell();
  }

 private:
  const model::TraceFile& file_of(std::uint32_t member) const {
    return traces_.files[communicator_.members[member].file];
  }
  const model::Operation& operation_of_entry(const Entry& entry) const {
    return file_of(entry.member).operations[entry.operation];
  }

  void find_doubts() {
    const std::int64_t abi = file_of(0).process.abi;
    for (std::uint32_t m = 0; m < communicator_.members.size(); ++m) {
      const Member& member = communicator_.members[m];
      const bool is_whole_start = member.is_from_start && file_of(m).windows.size() == 1;
      numbers_are_late_ =
          numbers_are_late_ || (counts_only_while_recording(file_of(m).process) && !is_whole_start);
      order_is_doubtful_ = order_is_doubtful_ || !is_whole_start || !member.is_lossless;
      has_one_interface_ = has_one_interface_ && file_of(m).process.abi == abi;
    }
  }

  // Entries are in the order of the members; what one gives twice may repeat on all.
  void find_repeats() {
    std::unordered_set<std::uint64_t> seen;
    std::uint32_t member = 0;
    for (const Entry& entry : entries_) {
      if (entry.way != Way::kSequence) {
        continue;
      }
      if (entry.member != member) {
        seen.clear();
        member = entry.member;
      }
      const std::uint64_t number = mix(mix(0, entry.func), entry.key);
      if (!seen.insert(number).second || operation_of_entry(entry).graph) {
        repeated_.insert(number);
        repeating_functions_.insert(entry.func);
      }
    }
  }

  Stream stream_of(const Entry& entry) const {
    if (entry.way == Way::kOrder) {
      return {order_is_doubtful_ ? Doubt::kNoNumber : Doubt::kNone, false, entry.func};
    }
    if (entry.way != Way::kSequence) {
      return {};
    }
    // Where the ranks' numbers differ by a shift, one cannot know whose number is the repeated one.
    if (numbers_are_late_ && repeating_functions_.contains(entry.func)) {
      return {Doubt::kRepeats, false, entry.func};
    }
    if (!numbers_are_late_ && repeated_.contains(mix(mix(0, entry.func), entry.key))) {
      return {order_is_doubtful_ ? Doubt::kRepeats : Doubt::kNone, false, model::kNoName};
    }
    return {numbers_are_late_ ? Doubt::kLateCount : Doubt::kNone, true, entry.func};
  }

  Call make_call(const Stream& stream, std::uint32_t index) const {
    const Entry& entry = entries_[index];
    const model::Operation& operation = operation_of_entry(entry);
    const std::uint32_t file = communicator_.members[entry.member].file;
    Call call;
    call.operation = index;
    call.enqueued_ns = clock_.to_common_ns(file, time_of(operation));
    std::uint64_t signature = mix(0, entry.func);
    signature = mix(signature, operation.bytes.value_or(~0ULL));
    signature = mix(signature, operation.root.value_or(~0U));
    signature = mix(signature, has_one_interface_ ? operation.datatype : 0);
    if (stream.doubt == Doubt::kRepeats && !numbers_are_late_) {
      signature = mix(signature, entry.key);
    }
    call.signature = signature;
    const bool is_timed = operation.times_from == model::TimesFrom::kGpu ||
                          operation.times_from == model::TimesFrom::kProxy;
    if (is_timed && is_synchronising(traces_.names.text(operation.func))) {
      if (operation.start_ns) {
        call.start_ns = add(clock_.to_common_ns(file, *operation.start_ns), -slack_ns(operation));
      }
      if (operation.end_ns && is_end_certain(operation)) {
        call.end_ns = add(clock_.to_common_ns(file, *operation.end_ns), slack_ns(operation));
      }
    }
    return call;
  }

  static bool is_end_certain(const model::Operation& operation) {
    return !operation.in_flight && operation.state == model::State::kCompleted;
  }

  Lane make_lane(const Stream& stream, std::span<const std::uint32_t> indices) const {
    Lane lane;
    lane.member = entries_[indices.front()].member;
    const auto window_of = [&](const Call& call) {
      return operation_of_entry(entries_[call.operation]).window;
    };
    for (const std::uint32_t i : indices) {
      lane.calls.push_back(make_call(stream, i));
    }
    std::sort(lane.calls.begin(), lane.calls.end(), [&](const Call& a, const Call& b) {
      const auto order = [&](const Call& call) {
        const Entry& entry = entries_[call.operation];
        const model::Operation& operation = operation_of_entry(entry);
        // Replays are enqueued by a thread of their own, but executed in order with all others.
        const std::int64_t time_ns = stream.doubt == Doubt::kRepeats
                                         ? operation.start_ns.value_or(time_of(operation))
                                         : time_of(operation);
        return std::tuple(window_of(call), stream.has_positions ? entry.key : 0, time_ns,
                          operation.id, entry.operation);
      };
      return order(a) < order(b);
    });
    const Member& member = communicator_.members[lane.member];
    lane.is_exact = stream.has_positions || member.is_lossless;
    for (std::size_t i = 0; i < lane.calls.size(); ++i) {
      const std::uint64_t key = entries_[lane.calls[i].operation].key;
      const bool is_absurd = key >= static_cast<std::uint64_t>(kGreatestPosition);
      lane.calls[i].position = !stream.has_positions ? static_cast<std::int64_t>(i)
                               : is_absurd           ? kGreatestPosition
                                                     : static_cast<std::int64_t>(key);
      const bool ascends = i == 0 || lane.calls[i - 1].position < lane.calls[i].position;
      lane.is_exact = lane.is_exact && ascends && (!stream.has_positions || !is_absurd);
    }
    cut_into_pieces(member, window_of, lane);
    return lane;
  }

  template <typename WindowOf>
  void cut_into_pieces(const Member& member, const WindowOf& window_of, Lane& lane) const {
    const auto& windows = traces_.files[member.file].windows;
    for (std::size_t first = 0; first < lane.calls.size();) {
      std::size_t last = first;
      const std::uint64_t window = window_of(lane.calls[first]);
      while (last < lane.calls.size() && window_of(lane.calls[last]) == window) {
        ++last;
      }
      Piece piece;
      piece.calls = std::span(lane.calls).subspan(first, last - first);
      piece.is_exact = lane.is_exact;
      piece.at_start = lane.is_exact && member.is_from_start && window == windows.begin()->first;
      piece.at_end = lane.is_exact && member.is_lossless && member.is_to_end &&
                     window == windows.rbegin()->first;
      lane.pieces.push_back(piece);
      first = last;
    }
  }

  // Indices are in the order of the members. The exact lane with the most calls is what others are
  // aligned to.
  void align(const Stream& stream, const std::vector<std::uint32_t>& indices) {
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
      reference = make_lane(stream, of_member);
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
        align_lane(reference, counts, make_lane(stream, of_member));
      }
    }
    number_from_zero(stream, indices);
  }

  void place(std::uint32_t index, std::int64_t position) {
    entries_[index].way = Way::kAligned;
    entries_[index].key = static_cast<std::uint64_t>(position + kBias);
  }

  void number_from_zero(const Stream& stream, const std::vector<std::uint32_t>& indices) {
    std::uint64_t least = ~0ULL;
    for (const std::uint32_t i : indices) {
      least = entries_[i].way == Way::kAligned ? std::min(least, entries_[i].key) : least;
    }
    for (const std::uint32_t i : indices) {
      if (entries_[i].way == Way::kAligned) {
        entries_[i].key -= least;
        // Two streams of one function do not meet.
        entries_[i].key |= static_cast<std::uint64_t>(stream.doubt) << kAlignedNumberBits;
      }
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
      // Beyond one of several pieces the reference's own numbers have gaps of unknown length.
      const bool is_covered = reference.calls.front().position <= position &&
                              position <= reference.calls.back().position;
      if (is_only || is_covered) {
        found[i] = position;
      }
    }
  }

  void take_out_unaligned() {
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

  void tell() {
    const std::string how = ": operations are aligned by signature, order and time";
    const std::array<std::pair<Doubt, const char*>, 3> reasons = {
        std::pair{
            Doubt::kLateCount,
            "sequence numbers count only while NCCL up to 2.25 is recorded, and not all ranks "
            "were recorded from the start on"},
        std::pair{Doubt::kRepeats,
                  "sequence numbers repeat (CUDA graphs), and not all ranks were recorded from the "
                  "start on without loss"},
        std::pair{
            Doubt::kNoNumber,
            "some operations have no sequence number, and not all ranks were recorded from the "
            "start on without loss"}};
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
  bool numbers_are_late_ = false;
  bool order_is_doubtful_ = false;
  bool has_one_interface_ = true;
  std::unordered_set<std::uint64_t> repeated_;  // function and number
  std::set<model::NameId> repeating_functions_;
  std::set<Doubt> doubts_;
  std::vector<std::uint32_t> unaligned_;  // entries
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

void align_untrusted(const model::Traces& traces, const CommonClock& clock,
                     Communicator& communicator, std::vector<Entry>& entries) {
  Aligner(traces, clock, communicator, entries).align();
}

}  // namespace ringside::match
