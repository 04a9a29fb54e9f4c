// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/baseline.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <CLI/CLI.hpp>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/imports/nccl_tests.h"

namespace ringside::cli {
namespace {

namespace fs = std::filesystem;

// The file itself, or those of the directory that cannot be traces by their names.
std::vector<std::string> candidates(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return {path};
  }
  std::vector<std::string> paths;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_regular_file(ignored) && !name.ends_with(".json") &&
        !name.ends_with(".json.gz") && !name.ends_with(".part")) {
      paths.push_back(entry->path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

void add_baseline_option(CLI::App& command, std::string& path) {
  command
      .add_option("--baseline", path,
                  "Take the busbw that another run has reached for the peak, in place of what the "
                  "links allow: its traces, or the output of nccl-tests; a file, or a directory of "
                  "them")
      ->type_name("PATH");
}

std::optional<metrics::Baseline> read_baseline(const std::string& command,
                                               const std::string& path) {
  std::error_code error;
  if (const fs::file_status status = fs::status(path, error); !fs::exists(status)) {
    tell(command + ": --baseline " + path + ": " +
         (error ? error.message() : std::string("No such file or directory")));
    return std::nullopt;
  }
  metrics::Baseline baseline;
  bool has_tests = false;
  for (const std::string& file : candidates(path)) {
    if (const auto text = load::text_of_nccl_tests(file)) {
      const load::NcclTests tests = load::read_nccl_tests(*text, file);
      for (const std::string& one : tests.notes) {
        note("note: " + one);
      }
      for (const load::NcclTestResult& one : tests.results) {
        baseline.add(one.function, static_cast<double>(one.size_bytes), one.ranks, one.busbw_gb_s);
      }
      has_tests = true;
    }
  }
  if (!has_tests) {
    AnalysisOptions options;
    options.inputs = {path};
    options.takes_durations = true;
    const auto analysis = analyse(options);
    if (analysis == nullptr) {
      tell(command + ": --baseline " + path +
           ": there are neither traces nor outputs of nccl-tests that can be read");
      return std::nullopt;
    }
    baseline.add(metrics::make_rows(analysis->facts()));
  }
  if (baseline.is_empty()) {
    tell(command + ": --baseline " + path + ": no busbw is known there");
    return std::nullopt;
  }
  return baseline;
}

bool take_baseline(const std::string& command, const std::string& path,
                   std::vector<metrics::CommunicatorRows>& rows) {
  const auto baseline = path.empty() ? std::nullopt : read_baseline(command, path);
  if (baseline) {
    baseline->take_place_of_peaks(rows);
  }
  return path.empty() || baseline;
}

}  // namespace ringside::cli
