// SPDX-License-Identifier: Apache-2.0
//
// Looks at the text of JSON, where a parser would hide what the rules are about: how a number is
// written, and what stands where a value should.
#ifndef RINGSIDE_ANALYZER_LINT_JSON_SCAN_H
#define RINGSIDE_ANALYZER_LINT_JSON_SCAN_H

#include <cstdint>
#include <string_view>

namespace ringside::lint {

struct JsonScan {
  std::string_view ts;  // the raw values of these keys of the outermost object
  std::string_view dur;
  std::string_view big_integer;  // the first integer beyond 2^53 that is not a string
  std::string_view bare_word;    // the first word that is not a string, true, false or null
  bool has_more = false;         // something follows the first object
};

/// Scans one event. It need not be valid JSON.
JsonScan scan_json(std::string_view text);

/// Nanoseconds as Perfetto computes them: the double nearest to the text, times 1000, rounded.
std::int64_t perfetto_ns(std::string_view microseconds);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_JSON_SCAN_H
