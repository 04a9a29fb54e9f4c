// SPDX-License-Identifier: Apache-2.0
//
// Who slows a job, in words: the same in every command.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_SLOW_TEXT_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_SLOW_TEXT_H

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// "12.3 %", of a part.
std::string percent_text(double part);

/// "rank 3 (node0)".
std::string rank_name(const replay::Job& job, std::uint32_t rank);

/// "rank 3 (node0)", "host node0", "rank 6, rank 7 and 2 more".
std::string names_of(const replay::Slow& slow, const replay::Job& job);
/// Whether a verb after names_of() is in the plural.
bool are_several(const replay::Slow& slow);

/// "Rank 3 (node1) slows the job by about 10.1 % (8.0 to 12.3 %), since iteration 51"
std::string slow_sentence(const replay::Slow& slow, const replay::Job& job);

/// The sentence of the worst of a run, as a finding: a note if it was slow in the first iteration
/// only, as a rank is that starts late. If nobody is, that of the imbalance, if there is
/// one: a note, as nobody is at fault.
std::optional<Finding> slow_finding(const replay::RunReplay& run);

/// What is said where slow_finding() names nobody: that nobody is slow, or that it cannot be
/// judged.
std::string nobody_sentence(const replay::RunReplay& run);

/// Says why it is unknown who slows the job, and which command would show it. Empty if it is known.
std::string unseen_sentence(const replay::Replays& replays);

/// Whether profiles leave open who slows the job, as traces do of jobs that are short by purpose.
bool is_open(const replay::Replays& replays);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_SLOW_TEXT_H
