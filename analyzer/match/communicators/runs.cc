// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/runs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/match/communicators/communicators.h"
#include "analyzer/model/profiled_run.h"
#include "analyzer/model/saturating.h"

namespace ringside::match {
namespace {

// The rank in the first communicator of a process, if the interface gives no hash of it. Two
// processes with equal ranks there are not in one communicator.
std::optional<std::uint32_t> rank_without_hash(const model::TraceFile& file) {
  for (const auto& [number, context] : file.contexts) {
    if (number != 0) {
      return context.comm ? std::nullopt : context.rank;
    }
  }
  return std::nullopt;
}

std::string identity_of(const model::TraceFile& file) {
  const model::Process& process = file.process;
  if (process.launcher_rank) {
    return "rank " + std::to_string(*process.launcher_rank);
  }
  if (const auto rank = rank_without_hash(file)) {
    return "first rank " + std::to_string(*rank);
  }
  return process.host + '\n' + process.boot_id + '\n' + std::to_string(process.pid);
}

// Processes with equal names of their clocks are on one clock exactly.
std::string clock_of(const model::Process& process) {
  return process.boot_id.empty() ? "host " + process.host : process.boot_id;
}

// Clocks of hosts that run one job are seldom further apart, whoever sets them.
constexpr std::int64_t kMostApart_ns = 10'000'000'000;

// When the last of what a profile saw had ended; the GPU runs behind the calls.
std::int64_t end_of_work(const model::TraceFile& file) {
  std::int64_t end_ns = std::max(file.last_ns.value_or(0), file.process.start_ns);
  for (const model::Operation& operation : file.operations) {
    end_ns = std::max(end_ns, operation.end_ns.value_or(end_ns));
  }
  return since_epoch(file.process, end_ns);
}

std::int64_t start_of(const model::TraceFile& file) {
  return since_epoch(file.process, file.process.start_ns);
}

// A run of a job to which files are still being added.
struct Open {
  Run run;
  std::map<std::string, std::int64_t> ends;  // by the process's identity
  std::set<std::string> clocks;
  std::int64_t last_end_ns = 0;

  void add(const model::Traces& traces, std::uint32_t file) {
    const model::TraceFile& added = traces.files[file];
    if (run.files.empty()) {
      run.job = added.process.job;
      run.start_ns = start_of(added);
    }
    run.files.push_back(file);
    std::int64_t& end_ns = ends[identity_of(added)];
    end_ns = std::max(end_ns, end_of(added));
    clocks.insert(clock_of(added.process));
    last_end_ns =
        std::max(last_end_ns, model::is_profile(added) ? end_of_work(added) : end_of(added));
  }

  // Nothing shows that profiles without a common time have an operation in common.
  bool had_ended_before(const model::TraceFile& file) const {
    const bool is_one_clock = clocks == std::set{clock_of(file.process)};
    return model::is_profile(file) && !run.files.empty() &&
           last_end_ns < subtract_saturating(start_of(file), is_one_clock ? 0 : kMostApart_ns);
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

using Files = std::vector<std::uint32_t>;  // of one job, by start

// A process that comes again after it had ended begins the next run, as does a profile that begins
// after all had ended.
std::vector<Open> runs_by_time(const model::Traces& traces, const Files& files) {
  std::vector<Open> all(1);
  for (const std::uint32_t i : files) {
    const model::TraceFile& file = traces.files[i];
    const auto earlier = all.back().ends.find(identity_of(file));
    if (earlier != all.back().ends.end() && earlier->second < start_of(file)) {
      Open next = split(traces, all.back(), earlier->second);
      all.push_back(std::move(next));
    } else if (all.back().had_ended_before(file)) {
      all.emplace_back();
    }
    all.back().add(traces, i);
  }
  return all;
}

// The number of each file's run on its own clock, from 0.
std::map<std::uint32_t, std::size_t> runs_on_own_clocks(const model::Traces& traces,
                                                        const Files& files) {
  std::map<std::string, Files> by_clock;
  for (const std::uint32_t i : files) {
    by_clock[clock_of(traces.files[i].process)].push_back(i);
  }
  std::map<std::uint32_t, std::size_t> number;
  std::optional<std::size_t> count;
  for (const auto& [clock, of_clock] : by_clock) {
    const std::vector<Open> runs = runs_by_time(traces, of_clock);
    if (count.value_or(runs.size()) != runs.size()) {
      return {};
    }
    count = runs.size();
    for (std::size_t run = 0; run < runs.size(); ++run) {
      for (const std::uint32_t i : runs[run].run.files) {
        number[i] = run;
      }
    }
  }
  return number;
}

// True if a communicator's hash is on several clocks, but not on two in any one run.
bool is_refuted_by_hashes(const model::Traces& traces,
                          const std::map<std::uint32_t, std::size_t>& number) {
  std::map<std::string, std::map<std::size_t, std::set<std::string>>> clocks;  // by hash and run
  for (const auto& [i, run] : number) {
    for (const auto& [context, known] : traces.files[i].contexts) {
      if (known.comm) {
        clocks[*known.comm][run].insert(clock_of(traces.files[i].process));
      }
    }
  }
  return std::any_of(clocks.begin(), clocks.end(), [](const auto& of_hash) {
    std::set<std::string> all;
    bool is_shared = false;
    for (const auto& [run, of_run] : of_hash.second) {
      all.insert(of_run.begin(), of_run.end());
      is_shared = is_shared || of_run.size() > 1;
    }
    return all.size() > 1 && !is_shared;
  });
}

// The clocks of hosts may differ by more than the time between two runs. So if each clock has seen
// as many runs, those of the same number are one. Returns nothing if that cannot be.
std::optional<std::vector<Open>> runs_by_number(const model::Traces& traces, const Files& files) {
  const auto number = runs_on_own_clocks(traces, files);
  if (number.empty() || is_refuted_by_hashes(traces, number)) {
    return std::nullopt;
  }
  std::vector<Open> all;
  std::map<std::pair<std::size_t, std::string>, std::string> clock_of_identity;  // by run
  for (const std::uint32_t i : files) {
    const std::size_t run = number.at(i);
    const model::TraceFile& file = traces.files[i];
    const std::string clock = clock_of(file.process);
    if (clock_of_identity.try_emplace({run, identity_of(file)}, clock).first->second != clock) {
      return std::nullopt;
    }
    all.resize(std::max(all.size(), run + 1));
    if (all[run].had_ended_before(file)) {
      return std::nullopt;
    }
    all[run].add(traces, i);
  }
  return all;
}

}  // namespace

std::int64_t end_of(const model::TraceFile& file) {
  return since_epoch(file.process, std::max(file.last_ns.value_or(0), file.process.start_ns));
}

Runs find_runs(const model::Traces& traces) {
  Files order(traces.files.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto key = [&](std::uint32_t i) {
    return std::tuple(std::string_view(traces.files[i].process.job), start_of(traces.files[i]), i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  Runs runs;
  runs.of_file.resize(traces.files.size());
  for (auto begin = order.begin(); begin != order.end();) {
    const std::string& job = traces.files[*begin].process.job;
    const auto end = std::find_if(
        begin, order.end(), [&](std::uint32_t i) { return traces.files[i].process.job != job; });
    const Files files(begin, end);
    auto of_job = runs_by_number(traces, files);
    const std::size_t first = runs.runs.size();
    for (Open& open : of_job ? *of_job : runs_by_time(traces, files)) {
      open.run.is_later_profile =
          runs.runs.size() > first && model::is_profile(traces.files[*begin]);
      for (const std::uint32_t file : open.run.files) {
        runs.of_file[file] = static_cast<std::uint32_t>(runs.runs.size());
      }
      runs.runs.push_back(std::move(open.run));
    }
    begin = end;
  }
  return runs;
}

}  // namespace ringside::match
