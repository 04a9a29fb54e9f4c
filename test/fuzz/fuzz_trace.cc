// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a trace file: through the linter, and through the loader, the matching and every report.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/lint/file_linter.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/communicators/duplicate_files.h"
#include "test/unit/analyzer/analyse_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringside;
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  lint::lint_file(path, true);
  model::Problems problems;
  model::Traces traces = load::load_traces({path}, problems);
  if (!traces.files.empty()) {
    analyse_all(traces, problems);
  }
  close(file);
  return 0;
}
