// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/path_leader.h"

#include <string_view>

#include "analyzer/model/archive.h"
#include "analyzer/mpi/asking.h"

namespace ringside::mpi {

std::vector<std::string> PathLeader::ask_all(PathRequest& request) {
  return mpi::ask_all(messages_, Request::kPath, model::archived(request),
                      [&](std::string_view text) { return own_.answer(text, 0); });
}

std::string PathLeader::ask(int process, PathRequest& request) {
  const std::string text = model::archived(request);
  if (process == 0) {
    return own_.answer(text, 0);
  }
  messages_.send(process, request_of(Request::kPath, text).packed());
  return messages_.receive().text;
}

void PathLeader::take_later(const std::optional<metrics::PathPoint>& point, int process,
                            std::optional<Place>& last) {
  if (point && (!last || last->point < *point)) {
    last = {*point, process};
  }
}

// Returns the last operation of all.
std::optional<PathLeader::Place> PathLeader::begin(metrics::RowsBy by) {
  PathRequest request;
  request.by = by;
  std::optional<Place> last;
  PathRequest shared;
  shared.step = PathRequest::Step::kShare;
  for (const std::string& text : ask_all(request)) {
    PathBegin begun;
    model::unarchive(text, begun);
    take_later(begun.last, static_cast<int>(shared.ends.size()), last);
    shared.launches.resize(begun.launches.size());
    metrics::take_launches(shared.launches, begun.launches);
    shared.ends.push_back(std::move(begun.ends));
  }
  ask_all(shared);
  return last;
}

std::optional<PathLeader::Place> PathLeader::before(const metrics::PathStop& stop) {
  PathRequest request;
  request.step = PathRequest::Step::kBefore;
  request.point.rank = stop.rank;
  request.point.end_ns = stop.until_ns;
  std::optional<Place> last;
  int process = 0;
  for (const std::string& text : ask_all(request)) {
    std::optional<metrics::PathPoint> point;
    model::unarchive(text, point);
    take_later(point, process++, last);
  }
  return last;
}

metrics::CriticalPath PathLeader::find(metrics::RowsBy by) {
  std::optional<Place> at = begin(by);
  metrics::CriticalPath path = metrics::PathFinder(owner_.facts()).take_path();  // all ranks
  while (at) {
    PathRequest request;
    request.step = PathRequest::Step::kWalk;
    request.point = at->point;
    PathWalk walked;
    model::unarchive(ask(at->process, request), walked);
    path.take(std::move(walked.path));
    at = before(walked.stop);
    walked.stop.leave(at ? std::optional(at->point) : std::nullopt, path);
  }
  path.finish();
  return path;
}

}  // namespace ringside::mpi
