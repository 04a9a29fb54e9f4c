// SPDX-License-Identifier: Apache-2.0
//
// Environment variables and commands as text that other programs take.
#ifndef RINGSIDE_ANALYZER_LAUNCH_TEXT_H
#define RINGSIDE_ANALYZER_LAUNCH_TEXT_H

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/printable.h"

namespace ringside::launch {

struct Variable {
  std::string name;
  std::string value;
};
using Variables = std::vector<Variable>;

/// In single quotes, as a POSIX shell reads it back byte for byte.
std::string shell_quoted(std::string_view text);

/// As it is where a shell would leave it alone, else quoted.
std::string shell_word(std::string_view text);

/// `export NAME='value'`, a line for each.
std::string as_exports(const Variables& variables);

/// `OPTION NAME=value` for each, in one line: -x of Open MPI's mpirun, -e of docker run.
std::string as_options(const Variables& variables, std::string_view option);

/// A command as a comment of a shell script; it stays one even where a word holds a newline.
std::string as_comment(const std::vector<std::string>& command);

/// The words as exec takes them, NULL at the end; valid as long as they are.
std::vector<char*> argument_pointers(const std::vector<std::string>& command);

// Environment variables and paths are bytes: JSON takes UTF-8 only, and a terminal obeys them.
using model::is_utf8;
using model::printable;

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_TEXT_H
