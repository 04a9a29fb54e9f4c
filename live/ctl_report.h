// SPDX-License-Identifier: Apache-2.0
//
// The answers of all processes as one table or one JSON document.
#ifndef RINGSIDE_ANALYZER_LIVE_CTL_REPORT_H
#define RINGSIDE_ANALYZER_LIVE_CTL_REPORT_H

#include <string>
#include <string_view>
#include <vector>

#include "live/process_status.h"

namespace ringside::live {

std::string replies_as_table(const std::vector<Reply>& replies, bool with_dumps);
std::string replies_as_json(std::string_view verb, const std::vector<Reply>& replies);

/// How many have failed.
std::size_t count_failed(const std::vector<Reply>& replies);

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_CTL_REPORT_H
