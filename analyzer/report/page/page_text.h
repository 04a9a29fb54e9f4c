// SPDX-License-Identifier: Apache-2.0
//
// The page without its data, of page.html; empty where the library for charts is missing.
#ifndef RINGSIDE_ANALYZER_REPORT_PAGE_PAGE_TEXT_H
#define RINGSIDE_ANALYZER_REPORT_PAGE_PAGE_TEXT_H

#include <string_view>

namespace ringside::report {

extern const std::string_view kPageBefore;
extern const std::string_view kPageAfter;

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_PAGE_PAGE_TEXT_H
