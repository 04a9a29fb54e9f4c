// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_CLI_OUTPUT_H
#define RINGSIDE_ANALYZER_CLI_OUTPUT_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/problem.h"

namespace CLI {
class App;
}

namespace ringside::cli {

/// Writes to stdout; false, and a message on stderr, if that fails (a full disk, a closed pipe).
bool print(std::string_view text);

/// Adds --quiet.
void add_quiet_option(CLI::App& command);
bool is_quiet();

/// Writes a line to stderr that is no error: nothing where --quiet is given.
void note(const std::string& line);

/// Writes a line to stderr. Names of files and of traces in it are made printable.
void tell(const std::string& line);

/// Columns of the terminal that stdout, or another descriptor, is; 0 if it is none.
std::size_t screen_columns(int descriptor = 1);

/// The same. A terminal gets the text made printable; files and pipes get it as it is. A `format`
/// of "table" is for a person: on a terminal the first words of findings have a colour (NO_COLOR:
/// none), and what is longer or wider than the screen goes through $PAGER (by default less, with
/// lines cut rather than wrapped; empty or "cat": none).
bool show(const std::string& text, std::string_view format);

/// Returns the text without the blanks around it.
inline std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Writes notes and what could not be read to stderr, a line each.
void print_problems(const model::Problems& problems, const std::vector<std::string>& notes);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_OUTPUT_H
