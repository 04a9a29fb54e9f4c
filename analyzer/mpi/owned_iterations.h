// SPDX-License-Identifier: Apache-2.0
//
// The iterations of ranks and operations whose rows a process has.
#ifndef RINGSIDE_ANALYZER_MPI_OWNED_ITERATIONS_H
#define RINGSIDE_ANALYZER_MPI_OWNED_ITERATIONS_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/iterations/iteration_figures.h"
#include "analyzer/metrics/iterations/run_turns.h"
#include "analyzer/mpi/owner.h"

namespace ringside::mpi {

/// One step to the iterations of a run. They need all rows of a rank, and so come before
/// Owner::divide().
struct IterationsRequest {
  enum class Step : std::uint8_t {
    kCalls,   // -> how many each rank made
    kTurns,   // of `reference` and `length` -> RunTurns, of no calls where its rows are not here
    kFollow,  // `calls` and `turns` -> FollowedTurns
    kRuns,    // `iteration_of` -> BusyInIterations
  };
  Step step = Step::kCalls;
  std::uint32_t run = 0;
  std::uint32_t reference = 0;
  std::uint64_t length = 0;
  std::vector<std::uint32_t> calls;  // by number of the operation, as in all of these
  std::vector<metrics::Turn> turns;
  std::vector<std::uint32_t> iteration_of;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(step, run, reference, length, calls, turns, iteration_of);
  }
};

/// By iteration, for how long operations ran on each rank.
using BusyInIterations = std::map<std::uint32_t, std::vector<std::int64_t>>;

class OwnedIterations {
 public:
  /// It must outlive this.
  explicit OwnedIterations(const Owner& owner);

  /// An archive of what was asked for.
  std::string answer(std::string_view request) const;

 private:
  std::string find_turns(const IterationsRequest& request) const;
  std::string follow(const IterationsRequest& request) const;
  std::string measure(const IterationsRequest& request) const;

  const Owner& owner_;
  const metrics::GlobalRanks who_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_OWNED_ITERATIONS_H
