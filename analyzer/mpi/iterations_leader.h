// SPDX-License-Identifier: Apache-2.0
//
// Process 0 finds iterations, of ranks and operations whose rows are in several processes.
#ifndef RINGSIDE_ANALYZER_MPI_ITERATIONS_LEADER_H
#define RINGSIDE_ANALYZER_MPI_ITERATIONS_LEADER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/owned_iterations.h"
#include "analyzer/mpi/owner.h"

namespace ringside::mpi {

class IterationsLeader {
 public:
  /// `here`: of the operations whose rows are in process 0. All must outlive it.
  IterationsLeader(Messages& messages, const Owner& owner, const facts::Facts& here);

  /// `divide`: has all processes give their rows to the owners.
  std::vector<metrics::RunIterations> find(std::size_t length);

 private:
  std::optional<metrics::RunIterations> find_run(std::uint32_t run, std::size_t length) const;
  /// Calls take(text) for the answer of each process, this one too.
  void ask(IterationsRequest& request, const std::function<void(std::string_view)>& take) const;

  Messages& messages_;
  const Owner& owner_;
  const facts::Facts& here_;
  const metrics::GlobalRanks who_;
  std::map<std::uint32_t, std::uint32_t> here_of_;  // indices into its matches, by number
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_ITERATIONS_LEADER_H
