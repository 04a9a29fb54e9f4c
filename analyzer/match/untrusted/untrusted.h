// SPDX-License-Identifier: Apache-2.0
//
// Handles operations whose numbers or order cannot be trusted.
#ifndef RINGSIDE_ANALYZER_MATCH_UNTRUSTED_UNTRUSTED_H
#define RINGSIDE_ANALYZER_MATCH_UNTRUSTED_UNTRUSTED_H

#include <string_view>
#include <vector>

#include "analyzer/match/calls/common_clock.h"
#include "analyzer/match/calls/entry.h"
#include "analyzer/match/calls/sorted_calls.h"

namespace ringside::match {

/// True for NCCL up to 2.25, which counts sequence numbers only while a profiler records. If the
/// release is not known, true for the interfaces of these releases (v1 and v2).
bool counts_only_while_recording(const model::Process& process);

/// Removes those calls of one communicator that cannot be matched by number or order, and returns
/// their entries:
/// - sequence numbers that count only while recording, if a rank began late or had several windows;
/// - numbers that repeat, or may repeat (CUDA graphs), and operations without a number, if a rank
///   began late, had several windows or lost records;
/// - sends and receives between two ranks of which one began late, had several windows or lost
///   records.
/// The entries are sorted by member.
std::vector<Entry> take_untrusted(const model::Traces& traces,
                                  const std::vector<Communicator>& communicators,
                                  std::uint32_t communicator, AllSortedCalls& calls);

/// Aligns what take_untrusted() returned by signature, order and time: the way of collectives is
/// then kAligned and their key the position; pairs keep their way and key, and their occurrence is
/// the position. Entries that could not be aligned for certain are removed, and counted in the
/// communicator.
void align_untrusted(const model::Traces& traces, const CommonClock& clock,
                     Communicator& communicator, std::vector<Entry>& entries);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_UNTRUSTED_UNTRUSTED_H
