// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/printable.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/page/page_text.h"

namespace ringside::report {

std::optional<std::string> page_html(std::string_view json) {
  std::string page(kPageBefore);
  page.reserve(kPageBefore.size() + json.size() + kPageAfter.size());
  for (const char c : model::printable_lines(json)) {
    // Only texts hold it: neither the end of a script nor a comment can begin in the data.
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  return kPageBefore.empty() ? std::nullopt : std::optional(page.append(kPageAfter));
}

}  // namespace ringside::report
