// SPDX-License-Identifier: Apache-2.0
//
// The critical path through the operations that a process owns.
#ifndef RINGSIDE_ANALYZER_MPI_OWNED_PATH_H
#define RINGSIDE_ANALYZER_MPI_OWNED_PATH_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/metrics/critical_path.h"
#include "analyzer/mpi/owner.h"

namespace ringside::mpi {

/// By rank: the first and the last end there.
using EndsOfRanks = std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>>;

/// Operations have their numbers in requests and answers.
struct PathRequest {
  enum class Step : std::uint8_t {
    kBegin,   // `by` -> PathBegin
    kShare,   // `launches` and `ends` -> nothing
    kBefore,  // `point`: its rank, and end_ns the time by which it had ended -> the last one here
    kWalk,    // `point`, which is here -> PathWalk: as far as no other process has what came before
  };
  Step step = Step::kBegin;
  metrics::RowsBy by = metrics::RowsBy::kKind;
  metrics::Launches launches;     // of all processes
  std::vector<EndsOfRanks> ends;  // of each process
  metrics::PathPoint point;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(step, by, launches, ends, point);
  }
};

struct PathBegin {
  metrics::Launches launches;
  EndsOfRanks ends;
  std::optional<metrics::PathPoint> last;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(launches, ends, last);
  }
};

struct PathWalk {
  metrics::CriticalPath path;
  metrics::PathStop stop;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(path, stop);
  }
};

class OwnedPath {
 public:
  /// It must outlive this.
  explicit OwnedPath(const Owner& owner) : owner_(owner) {}

  /// An archive of what was asked for; `process` is this one.
  std::string answer(std::string_view request, int process);

 private:
  PathBegin begin(metrics::RowsBy by);
  PathWalk walk(metrics::PathPoint point);
  bool is_sure(const metrics::PathPoint& before, std::int64_t until_ns) const;
  std::optional<metrics::PathPoint> numbered(std::optional<metrics::PathPoint> point) const;

  const Owner& owner_;
  std::optional<metrics::PathFinder> finder_;
  std::vector<EndsOfRanks> others_;  // ends in each other process
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_OWNED_PATH_H
