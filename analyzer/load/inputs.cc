// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/inputs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

namespace fs = std::filesystem;

// Cheap: the full check of the first line is the loader's.
bool begins_as_trace(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::array<char, 256> buffer{};
  stream.read(buffer.data(), buffer.size());
  const std::string_view begin(buffer.data(), static_cast<std::size_t>(stream.gcount()));
  return begin.starts_with('[') && begin.find(schema::kLineTrace) != std::string_view::npos;
}

void add_directory(const fs::path& directory, Inputs& inputs, model::Problems& problems) {
  std::error_code error;
  std::size_t traces = 0;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code ignored;
    if (path.extension() != ".json" || !entry->is_regular_file(ignored)) {
      continue;
    }
    if (path.filename().string().starts_with("ringside.") || begins_as_trace(path)) {
      inputs.paths.push_back(path.string());
      ++traces;
    } else {
      inputs.notes.push_back(path.string() + ": not a Ringside trace, left out");
    }
  }
  if (error) {
    problems.add_file(directory.string(), "cannot be listed: " + error.message());
  } else if (traces == 0) {
    problems.add_file(directory.string(),
                      "no Ringside traces (*.json) in this directory; set RINGSIDE_DIR to it when "
                      "running the job, or name the directory of the traces");
  }
}

}  // namespace

Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems) {
  Inputs inputs;
  for (const std::string& argument : arguments) {
    std::error_code error;
    const fs::file_status status = fs::status(argument, error);
    if (fs::is_directory(status)) {
      add_directory(argument, inputs, problems);
    } else if (fs::exists(status)) {
      inputs.paths.push_back(argument);
    } else {
      problems.add_file(argument, error ? error.message() : "No such file or directory");
    }
  }
  std::sort(inputs.paths.begin(), inputs.paths.end());
  inputs.paths.erase(std::unique(inputs.paths.begin(), inputs.paths.end()), inputs.paths.end());
  std::sort(inputs.notes.begin(), inputs.notes.end());
  return inputs;
}

}  // namespace ringside::load
