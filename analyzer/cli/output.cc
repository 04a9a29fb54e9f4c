// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ringside::cli {

bool print(std::string_view text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) {
    return true;
  }
  std::fprintf(stderr, "ringside: cannot write to standard output: %s\n", std::strerror(errno));
  return false;
}

void print_problems(const model::Problems& problems, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  for (const model::Problem& problem : problems.files()) {
    std::fprintf(stderr, "error: %s: %s\n", problem.path.c_str(), problem.reason.c_str());
  }
  for (const model::Problem& problem : problems.lines()) {
    std::fprintf(stderr, "error: %s:%llu: %s\n", problem.path.c_str(),
                 static_cast<unsigned long long>(problem.line), problem.reason.c_str());
  }
  if (problems.bad_lines() > problems.lines().size()) {
    std::fprintf(stderr, "error: %llu more bad lines; `ringside lint FILE` lists them all\n",
                 static_cast<unsigned long long>(problems.bad_lines() - problems.lines().size()));
  }
}

}  // namespace ringside::cli
