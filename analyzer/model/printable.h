// SPDX-License-Identifier: Apache-2.0
//
// Makes foreign text, such as names of traces and of files, safe for a terminal.
#ifndef RINGSIDE_ANALYZER_MODEL_PRINTABLE_H
#define RINGSIDE_ANALYZER_MODEL_PRINTABLE_H

#include <string>
#include <string_view>

namespace ringside::model {

/// Replaces whatever a terminal could take for a command by question marks: control characters
/// (U+0000 to U+001F and U+007F to U+009F), those that change the order of a line or end it, and
/// bytes that are not UTF-8. The result is one line.
std::string printable(std::string_view text);

/// The same, but keeps the ends of lines.
std::string printable_lines(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_PRINTABLE_H
