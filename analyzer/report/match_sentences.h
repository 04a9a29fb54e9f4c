// SPDX-License-Identifier: Apache-2.0
//
// Sentences on operations that do not match, in words that an operator understands.
#ifndef RINGSIDE_ANALYZER_REPORT_MATCH_SENTENCES_H
#define RINGSIDE_ANALYZER_REPORT_MATCH_SENTENCES_H

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/verdict.h"

namespace ringside::report {

/// Returns what each side did, as text for people. Sizes are in bytes where all ranks name one
/// datatype, else in elements.
std::vector<std::string> side_texts(const model::Traces& traces, const match::Matches& matches,
                                    const match::MatchedOperation& operation,
                                    const std::vector<match::Side>& sides,
                                    match::Difference difference);

/// Returns a sentence on operation `index`, which does not match: "rank 2 gave AllReduce #5 of
/// communicator world 128 KiB; the other three gave 256 KiB".
std::string match_sentence(const model::Traces& traces, const match::Matches& matches,
                           const std::vector<match::Judgement>& judgements, std::size_t index);

/// An operation as `ringside merge --around` takes it; empty if its communicator has no hash.
std::string around_text(const model::Traces& traces, const match::Matches& matches,
                        const match::MatchedOperation& operation);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_MATCH_SENTENCES_H
