// SPDX-License-Identifier: Apache-2.0
//
// The names of calls in Flight Recorder dumps, and their tensors.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_CALLS_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_CALLS_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ringside::load {

/// A call as an entry's `profiling_name` tells it.
struct NamedCall {
  std::string_view name;  // as all_reduce; of "nccl:send 0->1" and the like Send or Recv
  bool has_ranks = false;
  // Ranks of the group: the caller's own, and the one that it names; nothing if that is "?".
  std::uint32_t own = 0;
  std::optional<std::uint32_t> peer;
};

/// Nothing if it is damaged: if there is no name behind the last colon, if it has blanks around it
/// or characters that are not printed, or if a send or receive is not "send 0->1" or "recv 3<-?".
std::optional<NamedCall> named_call(std::string_view profiling_name);

/// The tensors that have the same size on all ranks that make the same call.
enum class Alike : std::uint8_t { kNone, kInput, kOutput };

/// The sizes of other functions may differ from rank to rank: those of all_to_all do, and a root
/// has other tensors than the rest. Ranks may give all_gather tensors of different sizes, and each
/// gets the same size from it.
Alike alike_in(std::string_view call);

/// Each rank may give and take other sizes, but what all give is what all take.
inline bool is_all_to_all(std::string_view call) {
  return call == "all_to_all" || call == "all_to_all_single" || call == "all_to_all_v_single";
}

/// From version 2.7 on also the end of collectives that are called together.
inline bool is_end_of_group(std::string_view call) {
  return call == "coalesced" || call == "ALLGATHER_coalesced" || call == "REDUCE_SCATTER_coalesced";
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_CALLS_H
