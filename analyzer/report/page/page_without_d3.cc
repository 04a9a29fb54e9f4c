// SPDX-License-Identifier: Apache-2.0
//
// This file takes the place of page.cc if the library for charts is missing.
#include "analyzer/report/page/page_data.h"

namespace ringside::report {

std::optional<std::string> page_html(std::string_view /*json*/) {
  return std::nullopt;
}

}  // namespace ringside::report
