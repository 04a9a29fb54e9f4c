// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/job_dumps/dump_processes.h"

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ringside::load {
namespace {

// The time of the first entry, since the epoch; in whole and in part seconds, since these are
// untrusted.
std::pair<std::int64_t, std::int64_t> first_entry_of(const model::TraceFile& file) {
  return {file.process.base_time_s, file.process.start_ns};
}

}  // namespace

void separate_dump_processes(model::Traces& traces) {
  std::map<std::int64_t, std::set<std::pair<std::int64_t, std::int64_t>>> begins;  // by rank
  for (const model::TraceFile& file : traces.files) {
    if (!file.process.tells_begin && file.process.launcher_rank && file.account.rotated == 0 &&
        file.operations.size() > 0) {
      begins[*file.process.launcher_rank].insert(first_entry_of(file));
    }
  }
  for (model::TraceFile& file : traces.files) {
    if (file.process.tells_begin || !file.process.launcher_rank || file.operations.size() == 0) {
      continue;
    }
    const auto& of_rank = begins[*file.process.launcher_rank];
    const auto later = of_rank.upper_bound(first_entry_of(file));
    const auto process = std::distance(of_rank.begin(), later);
    if (process > 1) {
      file.process.run_id += ", process " + std::to_string(process);
    }
  }
}

}  // namespace ringside::load
