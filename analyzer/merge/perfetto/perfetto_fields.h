// SPDX-License-Identifier: Apache-2.0
//
// Numbers of fields and values in protos/perfetto/trace/ of Perfetto's sources.
#ifndef RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_FIELDS_H
#define RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_FIELDS_H

#include <cstdint>

namespace ringside::merge::perfetto {

namespace packet_field {
inline constexpr std::uint32_t kPacket = 1;  // of Trace
inline constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                               kFlags = 13, kTrackDescriptor = 60, kFirst = 87;
}  // namespace packet_field
namespace event_field {
inline constexpr std::uint32_t kCategory = 3, kArgument = 4, kType = 9, kName = 10, kTrack = 11,
                               kCategoryText = 22, kNameText = 23, kDoubleCounter = 44, kFlow = 47,
                               kFlowEnd = 48;
}  // namespace event_field
namespace track_field {
inline constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                               kCounter = 8, kChildren = 11, kOrder = 12, kProcessOrdering = 19;
}  // namespace track_field
namespace process_field {
inline constexpr std::uint32_t kPid = 1, kName = 6;
}  // namespace process_field
namespace thread_field {
inline constexpr std::uint32_t kPid = 1, kTid = 2, kName = 5;
}  // namespace thread_field
namespace argument_field {
inline constexpr std::uint32_t kKey = 1, kBool = 2, kUnsigned = 3, kSigned = 4, kDouble = 5,
                               kText = 6, kKeyText = 10, kEntry = 11, kItem = 12,
                               kInternedText = 17;
}  // namespace argument_field
namespace interned_field {
inline constexpr std::uint32_t kCategories = 1, kNames = 2, kKeys = 3, kTexts = 29;
}  // namespace interned_field

inline constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
inline constexpr std::uint64_t kSequence = 1;
inline constexpr std::uint64_t kByOrder = 3;  // of children: their kOrder
inline constexpr std::uint64_t kStateCleared = 1, kNeedsState = 2;

// A flow of its own for each end (splitmix64).
inline std::uint64_t flow_id(std::uint64_t bind_id, std::uint64_t end) {
  std::uint64_t mixed = bind_id + (end + 1) * 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return mixed ^ (mixed >> 31);
}

}  // namespace ringside::merge::perfetto

#endif  // RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_FIELDS_H
