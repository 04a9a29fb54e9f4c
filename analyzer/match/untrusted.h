// SPDX-License-Identifier: Apache-2.0
//
// Operations whose numbers or order cannot be trusted, and what to do about them.
#ifndef RINGSIDE_ANALYZER_MATCH_UNTRUSTED_H
#define RINGSIDE_ANALYZER_MATCH_UNTRUSTED_H

#include <string_view>
#include <vector>

#include "analyzer/match/common_clock.h"
#include "analyzer/match/entry.h"

namespace ringside::match {

/// True for NCCL up to 2.25, whose sequence numbers count only while something records; where the
/// release is not known, for the interfaces that such releases have (v1 and v2).
bool counts_only_while_recording(const model::Process& process);

/// Finds the entries of one communicator (all with that index) whose way cannot be trusted:
/// - sequence numbers that count only while recording, if a rank began late or had several windows;
/// - numbers that repeat, or may (CUDA graphs), and operations without a number, if a rank began
///   late, had several windows or lost records.
/// They are aligned by signature, order and time: way kAligned, the position as key. Those that
/// could not be aligned for certain are taken out, and counted in the communicator.
void align_untrusted(const model::Traces& traces, const CommonClock& clock,
                     Communicator& communicator, std::vector<Entry>& entries);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_UNTRUSTED_H
