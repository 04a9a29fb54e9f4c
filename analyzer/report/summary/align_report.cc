// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/summary/align_report.h"

#include <algorithm>

#include "analyzer/model/joined.h"
#include "analyzer/model/profiled_run.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::report {
namespace {

std::string clock_sentence(const align::Alignment& alignment) {
  const auto& hosts = alignment.hosts();
  if (hosts.size() < 2) {
    return "all ranks are on one host and share its clock";
  }
  if (!alignment.is_aligned()) {
    return "the clocks of " + counted(hosts.size(), "host") +
           " are taken as they are (--no-align): nothing is said that depends on their difference";
  }
  std::int64_t most_ns = 0;
  std::vector<std::string> unbounded;
  for (const align::HostOffset& host : hosts) {
    most_ns = std::max(most_ns, host.uncertainty_ns);
    if (!host.is_bounded) {
      unbounded.push_back(host.host);
    }
  }
  const std::string more = " (--align-report shows each)";
  const std::string all = "the clocks of " + counted(hosts.size(), "host");
  if (unbounded.size() == hosts.size()) {
    return all + " are not aligned: nothing is said that depends on their difference" + more;
  }
  if (unbounded.size() + 1 == hosts.size()) {
    return all + " are not aligned, since no operation that they have in common bounds their " +
           "difference: nothing is said that depends on it" + more;
  }
  return all + " are aligned by " +
         counted(alignment.points(), "operation or chunk", "operations and chunks") +
         " that they have in common, to " + human_duration(most_ns) + " or better" +
         (unbounded.empty() ? ""
                            : "; no operation bounds the clocks of " + model::joined(unbounded, 8) +
                                  " against the others") +
         more;
}

}  // namespace

Table alignment_table(const align::Alignment& alignment) {
  Table table{"clocks",
              "Clocks of the hosts, against " +
                  [&] {
                    for (const align::HostOffset& host : alignment.hosts()) {
                      if (host.is_reference) {
                        return host.host;
                      }
                    }
                    return std::string("each other");
                  }(),
              {{"host", "host"},
               {"processes", "processes", Shown::kInteger},
               {"offset_ns", "offset", Shown::kDuration},
               {"at_ns", "at", Shown::kMoment, "UTC"},
               {"drift_ppb", "drift", Shown::kNumber, "ppb", 0},
               {"uncertainty_ns", "+-", Shown::kDuration},
               {"most_uncertainty_ns", "+- at most", Shown::kDuration},
               {"set_by", "set by"}},
              {}};
  const auto& hosts = alignment.hosts();
  const bool has_priors =
      std::any_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.rests_on_prior; });
  if (has_priors) {
    table.columns.push_back({"prior_ns", "prior", Shown::kDuration});
  }
  for (const align::HostOffset& host : hosts) {
    std::vector<Cell> row = {host.host, std::uint64_t{host.files}};
    if (host.is_reference) {
      row.insert(row.end(), {std::int64_t{0}, Cell(), 0.0, std::int64_t{0}, std::int64_t{0},
                             std::string("the reference")});
    } else if (host.is_bounded) {
      const Cell drift_ppb = host.drift_ppb ? Cell(*host.drift_ppb) : Cell();
      row.insert(row.end(), {host.offset_ns, host.at_ns, drift_ppb, host.uncertainty_ns,
                             host.most_uncertainty_ns, host.set_by});
    } else {
      row.insert(row.end(), {Cell(), Cell(), Cell(), Cell(), Cell(),
                             std::string("nothing: CLOCK_REALTIME is believed")});
    }
    if (has_priors) {
      row.emplace_back();
      if (host.prior_ns) {
        row.back() = *host.prior_ns;
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> clock_notes(const align::Alignment& alignment) {
  std::vector<std::string> notes = {clock_sentence(alignment)};
  notes.insert(notes.end(), alignment.notes().begin(), alignment.notes().end());
  if (alignment.untrusted() > 0) {
    notes.push_back(counted(alignment.untrusted(), "operation") +
                    " cannot help to align the clocks: sequence numbers of NCCL up to 2.25, or of "
                    "CUDA graphs");
  }
  return notes;
}

std::vector<std::string> limits(const model::Traces& traces, const align::Alignment* alignment) {
  // Dumps tell no time that depends on how clocks differ.
  const bool is_of_dumps = std::any_of(traces.files.begin(), traces.files.end(),
                                       [](const auto& f) { return !f.process.tells_moment; });
  std::vector<std::string> notes;
  if (!is_of_dumps && alignment != nullptr) {
    notes = clock_notes(*alignment);
  }
  std::size_t lossy = 0;
  std::size_t sampled = 0;
  for (const model::TraceFile& file : traces.files) {
    lossy += file.account.dropped.empty() ? 0 : 1;
    sampled += file.process.sampling == model::Sampling{} ? 0 : 1;
  }
  if (lossy > 0) {
    notes.push_back("records were dropped in " + counted(lossy, "trace") +
                    " (ringside summary says how many)");
  }
  if (sampled > 0) {
    notes.push_back(counted(sampled, "trace is", "traces are") +
                    " sampled (RINGSIDE_SAMPLE): all figures are those of the operations kept, and "
                    "whoever was late may have waited in others");
  }
  return notes;
}

std::string not_closed_sentence(const model::Traces& traces) {
  const auto open = static_cast<std::uint64_t>(std::count_if(
      traces.files.begin(), traces.files.end(), [](const auto& file) { return !file.closed; }));
  if (open == 0) {
    return {};
  }
  return std::to_string(open) + " of " + counted(traces.files.size(), "trace") +
         (open == 1 ? " is" : " are") +
         " not closed: the process was killed or still runs, and its last operations are missing." +
         (model::is_profile(traces.files.front())
              ? ""
              : " `ringside recover` completes the trace of a killed process; `ringside ctl dump` "
                "(or ringside_dump) writes whole traces of a running job.");
}

std::uint64_t count_unread(const model::Traces& traces, const model::Problems& problems) {
  std::uint64_t unread = problems.bad_lines() + problems.files().size();
  for (const model::TraceFile& file : traces.files) {
    // Records of durations leave calls out on purpose.
    const std::uint64_t written =
        file.process.tells_start ? file.operations_written.value_or(0) : 0;
    unread += written - std::min(written, file.operations.size());
    unread += file.account.rotated == 0 && file.process.segment > 1 ? 1 : 0;
    unread += file.segments_missing + (file.next_segment ? 1 : 0);
  }
  return unread;
}

}  // namespace ringside::report
