// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/other_processes.h"

#include <stdexcept>

#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/partial/partial_writer.h"
#include "analyzer/load/trace_loader.h"

namespace ringside::load {
namespace {

OtherProcesses* g_others = nullptr;

}  // namespace

OtherProcesses* other_processes() {
  return g_others;
}

void set_other_processes(OtherProcesses* others) {
  g_others = others;
}

std::vector<std::string> encode_files(const std::vector<std::string>& paths,
                                      const std::vector<LoadedTrace>& loaded) {
  std::vector<std::string> partials(paths.size(), partial_start());
  std::vector<std::uint64_t> traces(paths.size());
  const std::vector<std::string> encoded = encode_traces(loaded);
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    if (encoded[i].empty()) {
      throw std::runtime_error(paths[loaded[i].file] + kTooLargeForPartial);
    }
    partials[loaded[i].file] += encoded[i];
    ++traces[loaded[i].file];
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    partials[i] += partial_end(traces[i]);
  }
  return partials;
}

}  // namespace ringside::load
