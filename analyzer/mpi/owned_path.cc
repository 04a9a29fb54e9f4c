// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/owned_path.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "analyzer/model/archive.h"

namespace ringside::mpi {

std::string OwnedPath::answer(std::string_view text, int process) {
  PathRequest request;
  model::unarchive(text, request);
  switch (request.step) {
    case PathRequest::Step::kBegin: {
      PathBegin begun = begin(request.by);
      return model::archived(begun);
    }
    case PathRequest::Step::kShare:
      finder_->set_launches(std::move(request.launches));
      others_ = std::move(request.ends);
      others_.erase(others_.begin() + process);
      return {};
    case PathRequest::Step::kBefore: {
      auto before = numbered(finder_->before(request.point.rank, request.point.end_ns));
      return model::archived(before);
    }
    default: {
      PathWalk walked = walk(request.point);
      return model::archived(walked);
    }
  }
}

std::optional<metrics::PathPoint> OwnedPath::numbered(
    std::optional<metrics::PathPoint> point) const {
  if (point) {
    point->operation = owner_.numbers()[point->operation];
  }
  return point;
}

PathBegin OwnedPath::begin(metrics::RowsBy by) {
  finder_.emplace(owner_.facts(), by);
  finder_->add_all(owner_.facts());
  finder_->put_together();
  return {finder_->launches(), finder_->ends(), numbered(finder_->last_of_all())};
}

// Whether no other process has an operation of that rank between the one and the time.
bool OwnedPath::is_sure(const metrics::PathPoint& before, std::int64_t until_ns) const {
  return std::all_of(others_.begin(), others_.end(), [&](const EndsOfRanks& ends) {
    const auto& of_rank = ends[before.rank];
    return !of_rank || of_rank->second < before.end_ns || of_rank->first >= until_ns;
  });
}

PathWalk OwnedPath::walk(metrics::PathPoint point) {
  metrics::PathStop stop = finder_->arrive(point);
  for (auto before = finder_->before(stop.rank, stop.until_ns);
       before && is_sure(*before, stop.until_ns);
       before = finder_->before(stop.rank, stop.until_ns)) {
    stop.leave(before, finder_->path());
    stop = finder_->arrive(*before);
  }
  PathWalk walked{finder_->take_path(), stop};
  const std::vector<std::uint32_t>& numbers = owner_.numbers();
  walked.stop.operation = numbers[stop.operation];
  for (metrics::PathPart& part : walked.path.parts) {
    part.operation = numbers[part.operation];
  }
  std::map<std::size_t, metrics::PathOperation> described;
  for (auto& [operation, one] : walked.path.described) {
    described.emplace(numbers[operation], std::move(one));
  }
  walked.path.described = std::move(described);
  return walked;
}

}  // namespace ringside::mpi
