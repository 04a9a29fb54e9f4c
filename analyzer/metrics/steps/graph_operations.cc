// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/graph_operations.h"

#include <algorithm>
#include <limits>

#include "analyzer/facts/facts.h"
#include "analyzer/match/group_calls.h"

namespace ringside::metrics {

std::vector<GraphOperation> graph_operations(const model::TraceFile& file,
                                             const match::KinetoKernels& kernels,
                                             const model::KinetoTrace* profile) {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
  if (profile != nullptr) {
    begin_ns = std::numeric_limits<std::int64_t>::max();
    end_ns = std::numeric_limits<std::int64_t>::min();
    const auto take = [&](const auto& rows) {
      for (const auto& row : rows) {
        begin_ns = std::min(begin_ns, row.start_ns);
        end_ns = std::max(end_ns, row.end_ns);
      }
    };
    take(profile->operators);
    take(profile->annotations);
    take(profile->runtime);
    take(profile->activities);
  }
  const match::HostClock clock(file);
  std::vector<GraphOperation> found;
  auto pair = kernels.pairs.begin();
  for (std::size_t i = 0; i < file.operations.size(); ++i) {
    const model::Operation operation = file.operations[i];
    const bool has_kernel = pair != kernels.pairs.end() && pair->operation == i;
    // Another profile of the process may have told the times: the operation is in that one's graph,
    // whichever profile was read first.
    if (!has_kernel &&
        (!facts::ran_to_its_end(operation) || operation.times_from == model::TimesFrom::kKineto)) {
      continue;
    }
    GraphOperation made;
    made.operation = i;
    made.context = operation.context;
    made.thread = operation.tid;
    if (has_kernel) {
      made.activity = pair->activity;
      made.start_ns = pair->start_ns;
      made.end_ns = pair->end_ns;
      ++pair;
    } else {
      made.start_ns = clock.at(*operation.start_ns);
      made.end_ns = std::max(made.start_ns, clock.at(*operation.end_ns));
    }
    if (operation.enqueue_start_ns) {
      made.called_ns = clock.at(*operation.enqueue_start_ns);
    }
    if (made.end_ns >= begin_ns && made.start_ns <= end_ns) {
      found.push_back(made);
    }
  }
  return found;
}

}  // namespace ringside::metrics
