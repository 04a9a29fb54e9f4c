// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/duplicate_files.h"

#include <map>
#include <utility>

namespace ringside::match {

bool is_better_file(const model::TraceFile& a, const model::TraceFile& b) {
  if (a.operations.size() != b.operations.size()) {
    return a.operations.size() > b.operations.size();
  }
  if (a.process.dump != b.process.dump) {
    return !a.process.dump;
  }
  return a.path < b.path;
}

std::vector<std::string> remove_duplicate_files(model::Traces& traces,
                                                const std::set<std::size_t>& wanted) {
  std::map<std::string, std::size_t> best;  // by run id
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    if (file.process.run_id.empty()) {
      continue;
    }
    const auto [entry, is_new] = best.emplace(file.process.run_id, i);
    const bool is_wanted = wanted.contains(i);
    if (!is_new && (is_wanted != wanted.contains(entry->second)
                        ? is_wanted
                        : is_better_file(file, traces.files[entry->second]))) {
      entry->second = i;
    }
  }
  std::vector<std::string> notes;
  std::vector<model::TraceFile> kept;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    model::TraceFile& file = traces.files[i];
    const auto entry = best.find(file.process.run_id);
    if (entry == best.end() || entry->second == i) {
      continue;
    }
    const model::TraceFile& other = traces.files[entry->second];
    notes.push_back(file.path + ": " + (file.process.dump ? "a dump" : "a trace") +
                    " of the same run as " + other.path + ", left out: it has " +
                    std::to_string(file.operations.size()) + " operations, the other " +
                    std::to_string(other.operations.size()));
  }
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const auto entry = best.find(traces.files[i].process.run_id);
    if (entry == best.end() || entry->second == i) {
      kept.push_back(std::move(traces.files[i]));
    }
  }
  traces.files = std::move(kept);
  return notes;
}

std::string duplicates_text(const std::vector<std::string>& notes) {
  const std::size_t more = notes.size() - 1;
  return notes.front() + (more == 0   ? ""
                          : more == 1 ? "; also 1 more file"
                                      : "; also " + std::to_string(more) + " more files");
}

}  // namespace ringside::match
