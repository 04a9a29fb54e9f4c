// SPDX-License-Identifier: Apache-2.0
//
// Process 0 has the critical path followed through the operations of all processes.
#ifndef RINGSIDE_ANALYZER_MPI_PATH_LEADER_H
#define RINGSIDE_ANALYZER_MPI_PATH_LEADER_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/metrics/critical_path.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/owned_path.h"
#include "analyzer/mpi/owner.h"

namespace ringside::mpi {

class PathLeader {
 public:
  /// Both must outlive it. The owners have their rows.
  PathLeader(Messages& messages, const Owner& owner)
      : messages_(messages), owner_(owner), own_(owner) {}

  metrics::CriticalPath find(metrics::RowsBy by);

 private:
  // A place on the path, and the process that owns the operation.
  struct Place {
    metrics::PathPoint point;
    int process = 0;
  };

  std::vector<std::string> ask_all(PathRequest& request);
  std::string ask(int process, PathRequest& request);
  std::optional<Place> begin(metrics::RowsBy by);
  std::optional<Place> before(const metrics::PathStop& stop);
  static void take_later(const std::optional<metrics::PathPoint>& point, int process,
                         std::optional<Place>& last);

  Messages& messages_;
  const Owner& owner_;
  OwnedPath own_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_PATH_LEADER_H
