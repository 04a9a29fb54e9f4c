// SPDX-License-Identifier: Apache-2.0
//
// A choice that nothing in the traces fits is an error: an empty answer would look like a good one.
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_SELECTION_CHECK_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_SELECTION_CHECK_H

#include <string>

#include "analyzer/match/matcher.h"
#include "analyzer/match/selection.h"
#include "analyzer/model/trace.h"

namespace ringside::cli {

/// Returns a sentence on a --prefix that is the name of no dump. Empty if it is one, or is empty.
std::string unknown_prefix(const std::string& prefix, const model::Traces& traces,
                           const model::Traces& dumps);

/// Returns a sentence on the first --rank or --host that no trace has, with what there is. Empty if
/// each has one.
std::string unknown_rank_or_host(const match::Selection& selection, const model::Traces& traces);

/// Returns a sentence on the first --comm or --func that the operations of `matches` do not have,
/// with the nearest name and those that there are. Empty if each is there.
std::string unknown_communicator_or_function(const match::Selection& selection,
                                             const model::Traces& traces,
                                             const match::Matches& matches);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_SELECTION_CHECK_H
