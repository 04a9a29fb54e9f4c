// SPDX-License-Identifier: Apache-2.0
//
// simdjson skips a value that nobody asks for by its brackets alone. If nobody asks for anything in
// a line, this function says whether the line is JSON at all.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_STRICT_JSON_H
#define RINGSIDE_ANALYZER_LOAD_JSON_STRICT_JSON_H

#include <string_view>

namespace ringside::load {

/// Whether the text is one JSON object and nothing else but blanks. Its encoding is not looked at,
/// nor how large its numbers are.
bool is_json_object(std::string_view text);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_STRICT_JSON_H
