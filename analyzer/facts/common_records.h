// SPDX-License-Identifier: Apache-2.0
//
// The operations that lie where the records of some ranks begin later, or end earlier, than
// others'.
#ifndef RINGSIDE_ANALYZER_FACTS_COMMON_RECORDS_H
#define RINGSIDE_ANALYZER_FACTS_COMMON_RECORDS_H

#include <vector>

#include "analyzer/match/matcher.h"

namespace ringside::facts {

/// By operation, whether it lies there: before the first call of that function in the communicator
/// that some rank has recorded, or behind its last. A rank that has recorded none of them leaves
/// nothing out, and neither do sends and receives.
std::vector<bool> outside_common_records(const match::Matches& matches);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_COMMON_RECORDS_H
