// SPDX-License-Identifier: Apache-2.0
//
// Checks one trace file against all rules.
#ifndef RINGSIDE_ANALYZER_LINT_FILE_LINTER_H
#define RINGSIDE_ANALYZER_LINT_FILE_LINTER_H

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/lint/rules.h"

namespace ringside::lint {

struct FileReport {
  std::optional<std::string> error;  // why the file cannot be read at all
  Findings findings;                 // by line
  std::uint64_t events = 0;
  bool is_closed = false;
};

/// must_be_closed makes a file without its end a finding.
FileReport lint_file(const std::string& path, bool must_be_closed);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_FILE_LINTER_H
