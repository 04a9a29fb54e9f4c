// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/runs.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/match/communicators.h"

namespace ringside::match {
namespace {

std::string identity_of(const model::Process& process) {
  if (process.launcher_rank) {
    return "rank " + std::to_string(*process.launcher_rank);
  }
  return process.host + '\n' + process.boot_id + '\n' + std::to_string(process.pid);
}

std::int64_t start_of(const model::TraceFile& file) {
  return since_epoch(file.process, file.process.start_ns);
}

// A run of a job to which files are still being added.
struct Open {
  Run run;
  std::map<std::string, std::int64_t> ends;  // by the process's identity

  void add(const model::Traces& traces, std::uint32_t file) {
    const model::TraceFile& added = traces.files[file];
    if (run.files.empty()) {
      run.job = added.process.job;
      run.start_ns = start_of(added);
    }
    run.files.push_back(file);
    std::int64_t& end_ns = ends[identity_of(added.process)];
    end_ns = std::max(end_ns, end_of(added));
  }
};

// Moves the files that started after `end_ns`, which are the last ones, to a new run.
Open split(const model::Traces& traces, Open& open, std::int64_t end_ns) {
  Open before;
  Open after;
  for (const std::uint32_t file : open.run.files) {
    (start_of(traces.files[file]) > end_ns ? after : before).add(traces, file);
  }
  open = std::move(before);
  return after;
}

}  // namespace

std::int64_t end_of(const model::TraceFile& file) {
  return since_epoch(file.process, std::max(file.last_ns.value_or(0), file.process.start_ns));
}

Runs find_runs(const model::Traces& traces) {
  std::vector<std::uint32_t> order(traces.files.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto key = [&](std::uint32_t i) {
    return std::tuple(std::string_view(traces.files[i].process.job), start_of(traces.files[i]), i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  std::vector<Open> all;
  for (const std::uint32_t i : order) {
    const model::TraceFile& file = traces.files[i];
    if (all.empty() || all.back().run.job != file.process.job) {
      all.emplace_back();
    } else {
      const auto earlier = all.back().ends.find(identity_of(file.process));
      if (earlier != all.back().ends.end() && earlier->second < start_of(file)) {
        Open next = split(traces, all.back(), earlier->second);
        all.push_back(std::move(next));
      }
    }
    all.back().add(traces, i);
  }
  Runs runs;
  runs.of_file.resize(traces.files.size());
  for (Open& open : all) {
    for (const std::uint32_t file : open.run.files) {
      runs.of_file[file] = static_cast<std::uint32_t>(runs.runs.size());
    }
    runs.runs.push_back(std::move(open.run));
  }
  return runs;
}

}  // namespace ringside::match
