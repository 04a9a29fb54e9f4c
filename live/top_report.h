// SPDX-License-Identifier: Apache-2.0
//
// The table of `ringside top`: a row for each rank of each communicator.
#ifndef RINGSIDE_ANALYZER_LIVE_TOP_REPORT_H
#define RINGSIDE_ANALYZER_LIVE_TOP_REPORT_H

#include <string>
#include <vector>

#include "live/watch/live_sample.h"

namespace ringside::live {

std::string top_as_table(const std::vector<LiveRow>& rows);
std::string top_as_json(const std::vector<LiveRow>& rows);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_TOP_REPORT_H
