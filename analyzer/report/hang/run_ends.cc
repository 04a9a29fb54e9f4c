// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/hang/run_ends.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <optional>
#include <sys/wait.h>
#include <utility>

#include "analyzer/metrics/hang/hang_positions.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::report {
namespace {

// Ends that are closer came together: a process that died unseen may have lived for so long after
// its last sign of life; one cause takes a while to end several in the same way.
constexpr std::int64_t kSignOfLife_ns = 75'000'000;
constexpr std::int64_t kSameWay_ns = 50'000'000;
constexpr std::int64_t kOtherWay_ns = 1'000'000;
constexpr std::size_t kRanksNamed = 4;

// "rank 3 (node1)"; by the pid if the rank is not known.
std::string processes_text(const model::Traces& traces, const std::vector<End>& ends,
                           std::size_t first) {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  bool are_ranks = true;
  for (std::size_t i = 0; i < first; ++i) {
    are_ranks = are_ranks && traces.files[ends[i].file].process.launcher_rank.has_value();
  }
  for (std::size_t i = 0; i < first; ++i) {
    const model::Process& process = traces.files[ends[i].file].process;
    sorted.emplace_back(are_ranks ? *process.launcher_rank : process.pid, process.host);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> names;
  names.reserve(sorted.size());
  for (const auto& [number, host] : sorted) {
    names.push_back(std::to_string(number) + " (" + host + ')');
  }
  return (are_ranks ? "rank" : "process") +
         std::string(first == 1  ? " "
                     : are_ranks ? "s "
                                 : "es ") +
         model::joined(names, kRanksNamed);
}

bool has_failed(const End& end) {
  return end.status ? *end.status != 0 : end.has_died;
}

RunEnds ends_of(const model::Traces& traces, const align::Alignment& alignment,
                const match::Run& run) {
  RunEnds made;
  for (const std::uint32_t f : run.files) {
    const model::TraceFile& file = traces.files[f];
    if (!file.closed || file.process.dump || file.silent_ns) {
      ++made.unknown;
      continue;
    }
    const bool was_seen = file.end.has_value();
    made.ends.push_back(
        {f,
         was_seen ? alignment.host_to_common_ns(alignment.host_of(f), file.end->realtime_ns)
                  : alignment.to_common_ns(f, metrics::end_of_trace_ns(file)),
         file.recovered, was_seen ? file.end->status : std::optional<std::int64_t>()});
  }
  std::stable_sort(made.ends.begin(), made.ends.end(),
                   [](const End& a, const End& b) { return a.at_ns < b.at_ns; });
  return made;
}

std::string signal_name(int signal) {
  constexpr std::array<std::pair<int, const char*>, 11> kNames = {{{SIGKILL, "SIGKILL"},
                                                                   {SIGTERM, "SIGTERM"},
                                                                   {SIGABRT, "SIGABRT"},
                                                                   {SIGSEGV, "SIGSEGV"},
                                                                   {SIGBUS, "SIGBUS"},
                                                                   {SIGFPE, "SIGFPE"},
                                                                   {SIGILL, "SIGILL"},
                                                                   {SIGINT, "SIGINT"},
                                                                   {SIGHUP, "SIGHUP"},
                                                                   {SIGQUIT, "SIGQUIT"},
                                                                   {SIGPIPE, "SIGPIPE"}}};
  const auto* const found = std::find_if(kNames.begin(), kNames.end(),
                                         [&](const auto& one) { return one.first == signal; });
  return found != kNames.end() ? found->second : "signal " + std::to_string(signal);
}

std::string how_one_ended(const End& end) {
  if (end.status) {
    return how_it_ended(static_cast<int>(*end.status));
  }
  return end.has_died ? "as if killed" : "by exiting";
}

bool are_together(const model::Traces& traces, const align::Alignment& alignment, const End& first,
                  const End& other) {
  const bool is_unseen_death = first.has_died && !traces.files[first.file].end;
  const std::int64_t apart_ns = is_unseen_death                                ? kSignOfLife_ns
                                : how_one_ended(first) == how_one_ended(other) ? kSameWay_ns
                                                                               : kOtherWay_ns;
  return metrics::elapsed_ns(first.at_ns, other.at_ns) <=
         apart_ns + alignment.uncertainty_ns(first.file, other.file, first.at_ns)
                        .value_or(align::kUnboundClocks_ns);
}

// ", by SIGTERM"; ", 2 by SIGTERM, 1 by exiting".
std::string how_text(const std::vector<End>& ends, std::size_t from, std::size_t to) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = from; i < to; ++i) {
    ++counts[how_one_ended(ends[i])];
  }
  std::string text;
  for (const auto& [how, count] : counts) {
    text += ", " + (counts.size() == 1 ? "" : std::to_string(count) + ' ') + how;
  }
  return text;
}

std::string text_of(const model::Traces& traces, const RunEnds& run) {
  const std::vector<End>& ends = run.ends;
  const auto apart = [&](const End& end) {
    return human_duration(metrics::elapsed_ns(ends.front().at_ns, end.at_ns));
  };
  const std::size_t others = ends.size() - run.first;
  std::string text =
      processes_text(traces, ends, run.first) + " ended " +
      (others > 0       ? "first, "
       : run.first == 1 ? ""
                        : "together, ") +
      "at " + time_of_day(ends.front().at_ns) + " UTC" +
      (others > 0 || ends.front().at_ns == ends.back().at_ns ? ""
                                                             : ", within " + apart(ends.back())) +
      how_text(ends, 0, run.first);
  if (others > 0) {
    const std::string soonest = apart(ends[run.first]);
    const std::string latest = apart(ends.back());
    text += "; the other" + (others == 1 ? "" : ' ' + std::to_string(others)) + " ended " +
            soonest + (soonest == latest ? "" : " to " + latest) + " later" +
            how_text(ends, run.first, ends.size());
  }
  return run.unknown == 0 ? text
                          : text + "; of " + counted(run.unknown, "process", "processes") +
                                " no end is recorded";
}

}  // namespace

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? "by " + signal_name(WTERMSIG(status))
                             : "with exit status " + std::to_string(WEXITSTATUS(status));
}

std::vector<RunEnds> find_run_ends(const model::Traces& traces, const align::Alignment& alignment,
                                   const std::vector<match::Run>& runs) {
  std::vector<RunEnds> found;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    RunEnds run = ends_of(traces, alignment, runs[r]);
    if (std::none_of(run.ends.begin(), run.ends.end(), has_failed)) {
      continue;
    }
    while (run.first < run.ends.size() &&
           are_together(traces, alignment, run.ends.front(), run.ends[run.first])) {
      ++run.first;
    }
    run.text = text_of(traces, run);
    if (runs.size() > 1) {
      const RunEnds last = ends_of(traces, alignment, runs.back());
      run.text = "run " + std::to_string(r + 1) + " of " + std::to_string(runs.size()) + ": " +
                 run.text +
                 (last.unknown == 0 && std::none_of(last.ends.begin(), last.ends.end(), has_failed)
                      ? "; all processes of the last run exited"
                      : "");
    }
    found.push_back(std::move(run));
  }
  return found;
}

bool explains(const RunEnds& run, const metrics::Hang& hang) {
  const auto is_first = [&](std::uint32_t file) {
    return std::any_of(run.ends.begin(), run.ends.begin() + static_cast<std::ptrdiff_t>(run.first),
                       [&](const End& end) { return end.file == file; });
  };
  return hang.undecided.empty() &&
         std::all_of(hang.operations.begin(), hang.operations.end(),
                     [&](const metrics::StuckOperation& stuck) {
                       // Whoever died soon after the others had begun to wait may be in it.
                       return stuck.differs == match::Difference::kNone &&
                              run.first < run.ends.size() &&
                              (std::any_of(stuck.blockers.begin(), stuck.blockers.end(),
                                           [&](const metrics::Blocker& blocker) {
                                             return !blocker.stuck_in &&
                                                    is_first(hang.positions[blocker.position].file);
                                           }) ||
                               (stuck.waited_ns &&
                                metrics::elapsed_ns(stuck.since_ns, run.ends.front().at_ns) <=
                                    *stuck.waited_ns / 2));
                     });
}

}  // namespace ringside::report
