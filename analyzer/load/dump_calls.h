// SPDX-License-Identifier: Apache-2.0
//
// The names of calls in Flight Recorder dumps, and their tensors.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_CALLS_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_CALLS_H

#include <cstdint>
#include <string_view>

namespace ringside::load {

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

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_CALLS_H
