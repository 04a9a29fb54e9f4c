// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/summary/summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analyzer/model/joined.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::report {
namespace {

// A process counts for as many ranks as it has in the communicator where it has the most.
std::uint64_t count_ranks(const model::Traces& traces,
                          const std::vector<match::Communicator>& communicators) {
  std::vector<std::uint64_t> ranks(traces.files.size(), 1);
  for (const match::Communicator& communicator : communicators) {
    std::map<std::uint32_t, std::uint64_t> here;
    for (const match::Member& member : communicator.members) {
      ranks[member.file] = std::max(ranks[member.file], ++here[member.file]);
    }
  }
  std::uint64_t total = 0;
  for (const std::uint64_t count : ranks) {
    total += count;
  }
  return total;
}

// Both come from the file: the sum of absurd ones must not overflow.
std::int64_t add_seconds(std::int64_t base_time_s, std::int64_t time_ns) {
  constexpr std::int64_t kMost_s = 1'000'000'000'000;
  return std::clamp<std::int64_t>(base_time_s, 0, kMost_s) + time_ns / 1'000'000'000 + 1;
}

void add_segments(const model::TraceFile& file, InputFacts& facts) {
  facts.rotated += file.account.rotated;
  if (file.account.rotated > 0) {
    ++facts.rotated_files;
    facts.rotated_kept_bytes = std::max(facts.rotated_kept_bytes, file.size_bytes);
    // Rounded up: from that second on all is there.
    facts.rotated_kept_from_s =
        std::max(facts.rotated_kept_from_s,
                 add_seconds(file.process.base_time_s, file.process.segment_start_ns));
  } else if (file.process.segment > 1) {
    facts.segments_missing.push_back(file.path + " is segment " +
                                     std::to_string(file.process.segment) +
                                     "; the ones before are not among the files");
  }
  if (file.segments_missing > 0) {
    facts.segments_missing.push_back(std::to_string(file.segments_missing) +
                                     " in the middle of the trace that begins with " + file.path);
  }
  if (file.next_segment) {
    facts.segments_missing.push_back("the trace that begins with " + file.path +
                                     " goes on in segment " + std::to_string(*file.next_segment));
  }
}

std::string words_of(const model::Sampling& sampling) {
  std::vector<std::string> words;
  if (sampling.coll_of > 1) {
    words.push_back("1 of " + std::to_string(sampling.coll_of) + " collectives");
  }
  if (sampling.p2p_of > 1) {
    words.push_back("1 of " + std::to_string(sampling.p2p_of) + " sends and receives");
  }
  if (sampling.period_ns > 0) {
    const auto seconds = [](std::int64_t duration_ns) {
      return fixed(static_cast<double>(duration_ns) / 1e9, 3) + " s";
    };
    words.push_back("those called in the first " + seconds(sampling.window_ns) + " of each " +
                    seconds(sampling.period_ns));
  }
  if (sampling.min_bytes > 0) {
    words.push_back("messages of " + human_bytes(sampling.min_bytes) + " or more");
  }
  return model::joined(words, words.size());
}

void add_file(const model::TraceFile& file, InputFacts& facts) {
  facts.files.push_back(&file);
  facts.operations += file.operations.size();
  facts.size_bytes += file.size_bytes;
  facts.windows = std::max<std::uint64_t>(facts.windows, file.windows.size());
  facts.jobs.insert(file.process.job);
  facts.hosts.insert(file.process.host);
  facts.nccl_versions.insert(file.process.nccl_version.empty() ? "unknown"
                                                               : file.process.nccl_version);
  facts.interfaces.insert(file.process.abi);
  if (!file.closed) {
    facts.not_closed.push_back(file.path);
  }
  if (file.recovered) {
    facts.recovered.push_back(file.path);
    if (!file.marks_lost || !file.ranges_lost) {
      facts.losses_not_known.push_back(file.path);
    }
  }
  if (file.torn) {
    facts.torn.push_back(file.path);
  }
  for (const auto& [what, callbacks] : file.account.dropped) {
    facts.dropped[what] += callbacks;
  }
  facts.produced += file.account.produced;
  facts.given_up += file.account.given_up;
  facts.marks_lost += file.marks_lost.value_or(0);
  facts.ranges_lost += file.ranges_lost.value_or(0);
  facts.sampled_out += file.account.sampled_out;
  if (const std::string words = words_of(file.process.sampling); !words.empty()) {
    facts.samplings.insert(words);
  }
  add_segments(file, facts);
  facts.without_starts += file.process.tells_start ? 0 : 1;
  facts.dumps += file.process.tells_begin ? 0 : 1;
  if (file.operations_written && *file.operations_written > file.operations.size()) {
    auto& lost = file.process.tells_start ? facts.lines_lost : facts.not_recorded;
    lost += *file.operations_written - file.operations.size();
  }
}

}  // namespace

CellColumn group_column(metrics::RowsBy by) {
  switch (by) {
    case metrics::RowsBy::kRange:
      return {"range", "range"};
    case metrics::RowsBy::kCaller:
      return {"called_by", "called at"};
    case metrics::RowsBy::kUserTag:
      return {"user_tag", "user tag"};
    case metrics::RowsBy::kKind:
      break;
  }
  return {"", "", Shown::kAbsent};
}

Cell group_cell(metrics::RowsBy by, const std::string& text) {
  return text_cell(text.empty() && by == metrics::RowsBy::kCaller ? "unknown" : text);
}

std::int64_t all_waited_ns(const std::vector<metrics::CommunicatorRows>& rows) {
  std::int64_t all_ns = 0;
  for (const metrics::CommunicatorRows& communicator : rows) {
    for (const metrics::Row& row : communicator.rows) {
      all_ns = add_saturating(all_ns, row.waited_ns);
    }
  }
  return all_ns;
}

std::optional<double> wait_share_percent(const metrics::Row& row, std::int64_t all_ns) {
  return row.wait && all_ns > 0
             ? std::optional(100 * static_cast<double>(row.waited_ns) / static_cast<double>(all_ns))
             : std::nullopt;
}

Summary make_summary(const facts::Facts& facts, const model::Problems& problems,
                     std::vector<std::string> duplicates, metrics::RowsBy by,
                     const facts::Fold& also) {
  return make_summary(facts.traces(), facts.matches(), facts.alignment(), problems,
                      std::move(duplicates), by, metrics::make_rows(facts, by, also));
}

Summary make_summary(const model::Traces& traces, const match::Matches& matches,
                     const align::Alignment& alignment, const model::Problems& problems,
                     std::vector<std::string> duplicates, metrics::RowsBy by,
                     std::vector<metrics::CommunicatorRows> rows) {
  Summary summary;
  summary.by = by;
  summary.problems = &problems;
  summary.rows = std::move(rows);
  metrics::add_peaks(traces, matches, summary.rows);
  summary.runs = matches.runs.runs;
  summary.communicators = matches.communicators;
  summary.alignment = &alignment;

  for (const model::TraceFile& file : traces.files) {
    add_file(file, summary.inputs);
  }
  summary.inputs.ranks = count_ranks(traces, summary.communicators);
  summary.inputs.unpaired = matches.unpaired;
  summary.inputs.duplicates = std::move(duplicates);
  return summary;
}

std::vector<SummaryRow> all_rows(const Summary& summary) {
  std::vector<SummaryRow> rows;
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    for (const metrics::Row& row : summary.rows[i].rows) {
      rows.push_back({summary.communicators[i], row});
    }
  }
  return rows;
}

std::uint64_t dropped_total(const InputFacts& inputs) {
  std::uint64_t total = 0;
  for (const auto& [what, callbacks] : inputs.dropped) {
    total += callbacks;
  }
  return total;
}

std::vector<std::string> find_gaps(const Summary& summary, const model::Traces& traces,
                                   bool are_all_chosen) {
  std::vector<std::string> gaps;
  const auto add = [&](std::uint64_t count, const char* one, const char* several) {
    if (count > 0) {
      gaps.push_back(counted(count, one, several));
    }
  };
  add(count_unread(traces, *summary.problems), "line or file not read or missing",
      "lines or files not read or missing");
  add(dropped_total(summary.inputs), "callback dropped", "callbacks dropped");
  add(summary.inputs.not_closed.size(), "trace not closed", "traces not closed");
  add(are_all_chosen ? match::most_ranks_without_trace(summary.communicators) : 0,
      "rank without a trace", "ranks without a trace");
  return gaps;
}

const char* state_name(model::State state) {
  constexpr std::array kNames = {"completed", "started", "enqueued"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* times_from_name(model::TimesFrom times_from) {
  constexpr std::array<const char*, model::kTimesFromCount> kNames = {"gpu", "proxy", "proxy_queue",
                                                                      "enqueue", "kineto"};
  return kNames[static_cast<std::size_t>(times_from)];
}

const char* trace_kind(const model::TraceFile& file) {
  return file.recovered      ? "recovered"
         : !file.closed      ? "not closed"
         : file.process.dump ? "dump"
                             : "closed";
}

std::vector<std::string> run_lines(const std::vector<match::Run>& runs) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) {
    lines.push_back("Run " + std::to_string(i + 1) + ": " +
                    (runs[i].job.empty() ? "" : "job " + runs[i].job + ", ") + "began " +
                    utc_time(runs[i].start_ns / 1'000'000'000) + ", " +
                    counted(runs[i].files.size(), "process", "processes") +
                    (runs[i].is_later_profile ? ", after the profiles of run " + std::to_string(i) +
                                                    " had ended by their clocks"
                                              : ""));
  }
  return lines;
}

const char* file_word(const model::Traces& traces) {
  const bool are_dumps =
      !traces.files.empty() &&
      std::none_of(traces.files.begin(), traces.files.end(),
                   [](const model::TraceFile& file) { return file.process.tells_begin; });
  return are_dumps ? "dump" : "trace";
}

std::string label_of(const match::Communicator& communicator) {
  std::string label = match::distinct_name(communicator);
  if (label.empty()) {
    label = !communicator.hash.empty() ? communicator.hash
            : communicator.order == 0  ? "not named by NCCL"
                                       : "number " + std::to_string(communicator.order);
  }
  if (communicator.run > 0) {
    label += " (run " + std::to_string(communicator.run + 1) + ')';
  } else if (communicator.instance > 0) {
    label += " (instance " + std::to_string(communicator.instance + 1) + ')';
  }
  if (communicator.identity == match::Identity::kAlone && communicator.hash.empty()) {
    const auto& rank = communicator.members.front().rank;
    label += ", rank " + (rank ? std::to_string(*rank) : std::string("?")) + " of " +
             communicator.process + " alone";
  }
  return label;
}

std::string inferred_text(const std::vector<match::Communicator>& communicators) {
  constexpr std::size_t kListed = 4;
  std::vector<std::string> labels;
  for (const match::Communicator& communicator : communicators) {
    if (communicator.identity == match::Identity::kOrder) {
      labels.push_back(label_of(communicator));
    }
  }
  return labels.empty()
             ? ""
             : "inferred from the order of creation, since the profiler interface gives "
               "no hash: " +
                   counted(labels.size(), "communicator") + " (" + model::joined(labels, kListed) +
                   "). Ranks that do not fit there may be of different communicators";
}

}  // namespace ringside::report
