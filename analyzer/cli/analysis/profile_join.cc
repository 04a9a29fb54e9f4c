// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/profile_join.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "analyzer/load/foreign_file.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/kineto/kineto_trace.h"
#include "analyzer/match/kineto/profile_numbers.h"
#include "analyzer/match/kineto/profile_trace.h"
#include "analyzer/model/parallel.h"

namespace ringside::cli {
namespace {

std::string whose(const model::KinetoTrace& trace) {
  return trace.rank  ? "rank " + std::to_string(*trace.rank)
         : trace.pid ? "pid " + std::to_string(*trace.pid)
                     : std::string("a process that it does not name");
}

}  // namespace

std::vector<match::KinetoFileJoin> join_profiles(const std::vector<std::string>& kineto,
                                                 bool are_read_again, model::Traces& traces,
                                                 model::Problems& problems,
                                                 const ProfileTake& take) {
  const std::vector<std::string> paths = load::kineto_paths(kineto);
  std::vector<match::KinetoFileJoin> joins;
  // A few are read at once, so that memory holds no more; they are joined in order, so that the
  // result is the same on every machine.
  const std::size_t at_once = core_count();
  const bool are_alone = traces.files.empty();
  for (std::size_t begin = 0; begin < paths.size(); begin += at_once) {
    const std::size_t count = std::min(at_once, paths.size() - begin);
    std::vector<model::KinetoTrace> read(count);
    std::vector<std::optional<std::string>> errors(count);
    for_each_on_cores(count, [&](std::size_t, std::size_t i) {
      errors[i] = are_read_again ? load::why_not_again(paths[begin + i]) : std::nullopt;
      if (!errors[i]) {
        errors[i] = load::read_kineto_trace(paths[begin + i], read[i], true);
        read[i].rank = read[i].rank ? read[i].rank : match::rank_by_calls(read[i]);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      if (errors[i]) {
        problems.add_file(paths[begin + i], load::trouble_or_kind(paths[begin + i], *errors[i],
                                                                  load::begins_as_kineto));
        continue;
      }
      if (are_alone) {
        joins.push_back(match::add_profile_trace(read[i], traces));
        if (traces.files.back().operations.empty()) {
          traces.files.pop_back();
          joins.pop_back();
          problems.add_file(paths[begin + i],
                            "a trace of PyTorch's profiler that has no kernel of NCCL, and no call "
                            "of torch.distributed with its arguments (record_param_comms); "
                            "those that ProfilerActivity.CPU and CUDA record have them");
          continue;
        }
      } else {
        const auto file = match::profiled_file(read[i], traces, joins);
        if (!file) {
          problems.add_file(paths[begin + i], "of " + whose(read[i]) +
                                                  ", of which there is no trace, or several runs");
          continue;
        }
        if (const std::string why = match::why_of_another_job(read[i], traces.files[*file]);
            !why.empty()) {
          problems.add_file(paths[begin + i], "of " + whose(read[i]) + " of another job than " +
                                                  traces.files[*file].path + ": " + why);
          continue;
        }
        if (const auto* const same = match::find_same_time(read[i], *file, joins)) {
          // Both forms of one file are nobody's mistake.
          if (paths[begin + i] == same->path + ".gz" && read[i].events == same->events &&
              match::profiled_time(read[i]) == same->time) {
            continue;
          }
          problems.add_file(paths[begin + i],
                            "of " + whose(read[i]) + " at the same time as " + same->path);
          continue;
        }
        joins.push_back(match::join_kineto(read[i], *file, traces));
      }
      if (take) {
        take(read[i], joins.back());
      }
      read[i] = {};
    }
  }
  if (are_alone) {
    match::number_profiled_calls(traces);
  }
  return joins;
}

}  // namespace ringside::cli
