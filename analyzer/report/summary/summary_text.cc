// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/summary/summary_text.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "analyzer/match/communicators/duplicate_files.h"
#include "analyzer/model/joined.h"
#include "analyzer/model/profiled_run.h"
#include "analyzer/model/unknown_host.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::report {
namespace {

constexpr std::size_t kListed = 5;

template <typename Texts>
std::string joined(const Texts& texts) {
  return model::joined(texts, kListed);
}

bool is_of_example_profiler(const model::TraceFile& file) {
  return !file.process.tells_start && file.process.run_id.starts_with("NVIDIA's example profiler");
}

// Says which values of these files are wrong, and therefore not used.
void add_example_lines(const InputFacts& inputs, std::uint64_t files,
                       std::vector<std::string>& lines) {
  if (files == 0) {
    return;
  }
  lines.push_back("Durations: " + counted(files, "file") +
                  " of NVIDIA's example profiler, whose times count from each process's own start: "
                  "who came late is unknown. Its times of 0 are no times and are not used. It "
                  "keeps the calls that its pools had room for, and does not count the others");
  std::uint64_t channels = 0;
  for (const model::TraceFile* const file : inputs.files) {
    for (std::size_t i = 0; is_of_example_profiler(*file) && i < file->operations.size(); ++i) {
      channels += model::Operation(file->operations[i]).gpu_rejected;
    }
  }
  if (channels > 0) {
    lines.push_back("Not used: " + counted(channels, "kernel channel") +
                    " there without a stop, or of an earlier call (the profiler of NCCL 2.28 to "
                    "2.30 loses the stops of all channels but 0). Such a call has a time only if "
                    "network operations show the end of these channels");
  }
}

std::vector<std::string> completeness_lines(const Summary& summary) {
  const InputFacts& inputs = summary.inputs;
  std::vector<std::string> lines;
  if (const std::uint64_t total = dropped_total(inputs); total > 0) {
    std::vector<std::string> reasons;
    for (const auto& [what, callbacks] : inputs.dropped) {
      reasons.push_back(what + ' ' + std::to_string(callbacks));
    }
    lines.push_back("Dropped: " + std::to_string(total) + " of " +
                    counted(inputs.produced, "callback") + " (" + joined(reasons) +
                    "); operations may be absent or without times");
  }
  if (inputs.sampled_out > 0) {
    lines.push_back("Sampled: " + counted(inputs.sampled_out, "callback") + " left out on purpose");
  }
  for (const std::string& sampling : inputs.samplings) {
    lines.push_back("Sampled: the traces have " + sampling + "; counts with ~ are scaled");
  }
  if (inputs.rotated > 0 && inputs.are_dumps()) {
    lines.push_back("Rotated: " + counted(inputs.rotated, "entry", "entries") +
                    " replaced by later ones before the dumps were made, in " +
                    counted(inputs.rotated_files, "dump"));
  } else if (inputs.rotated > 0) {
    lines.push_back("Rotated: " + std::to_string(inputs.rotated) + " of " +
                    counted(inputs.produced, "callback") +
                    " were in older segments, which the plugin deleted to keep its bound; " +
                    counted(inputs.rotated_files, "trace") + " with the newest " +
                    human_bytes(inputs.rotated_kept_bytes) + " only, from " +
                    utc_time(inputs.rotated_kept_from_s) + " on");
  }
  for (const std::string& segments : inputs.segments_missing) {
    lines.push_back("Missing segments: " + segments);
  }
  if (!inputs.not_closed.empty()) {
    lines.push_back(
        "Not closed (the process was killed or still runs): " + joined(inputs.not_closed) +
        (model::is_profile(*inputs.files.front())
             ? ""
             : ". If it was killed, `ringside recover` on its host has the rest"));
  }
  if (!inputs.recovered.empty()) {
    lines.push_back("Recovered after their process had died: " + joined(inputs.recovered));
  }
  if (!inputs.torn.empty()) {
    lines.push_back("Torn last line, ignored: " + joined(inputs.torn));
  }
  if (summary.problems->bad_lines() > 0) {
    lines.push_back((inputs.are_dumps() ? "Damage in entries: " : "Bad lines, left out: ") +
                    std::to_string(summary.problems->bad_lines()));
  }
  if (inputs.lines_lost > 0) {
    lines.push_back("Lost: " + counted(inputs.lines_lost, "operation") +
                    " that the files' last lines count and that could not be read");
  }
  const auto example_files = static_cast<std::uint64_t>(
      std::count_if(inputs.files.begin(), inputs.files.end(),
                    [](const model::TraceFile* file) { return is_of_example_profiler(*file); }));
  const std::uint64_t inspector_files = inputs.without_starts - example_files;
  if (inspector_files > 0) {
    lines.push_back("Durations: " + counted(inspector_files, "file") +
                    " of NCCL Inspector, whose records have no starts: who came late is unknown. "
                    "Calls smaller than its least size and calls after the last one that it wrote "
                    "are not in them");
  }
  add_example_lines(inputs, example_files, lines);
  if (inputs.not_recorded > 0) {
    lines.push_back(
        "Not recorded: " + counted(inputs.not_recorded, "operation") +
        " whose numbers are absent there" +
        (inspector_files > 0
             ? ": too small for it, without times of the GPU, or replaced by later ones "
               "before it wrote them"
             : ""));
  }
  if (inputs.marks_lost + inputs.ranges_lost > 0) {
    lines.push_back(
        "Lost: " + counted(inputs.marks_lost, "mark") + " and " +
        counted(inputs.ranges_lost, "range") +
        " of the application, which came faster than they could be written" +
        (inputs.recovered.empty() ? "" : " or had not been written when their process died"));
  }
  if (!inputs.losses_not_known.empty()) {
    lines.push_back(
        "Not known: how many marks and ranges of the application were lost, and events given up, "
        "in " +
        joined(inputs.losses_not_known));
  }
  if (inputs.given_up > 0) {
    lines.push_back("Given up: " + counted(inputs.given_up, "event") +
                    ", since too many were open; they are in the traces as in flight");
  }
  if (!summary.problems->files().empty()) {
    lines.push_back("Could not be read: " + counted(summary.problems->files().size(),
                                                    "file or directory", "files or directories"));
  }
  if (inputs.unpaired > 0) {
    lines.push_back("Not paired, since rank or peer are not known: " +
                    counted(inputs.unpaired, "send or receive", "sends and receives"));
  }
  if (lines.empty()) {
    const bool ran_on =
        std::any_of(inputs.files.begin(), inputs.files.end(),
                    [](const model::TraceFile* file) { return file->process.dump; });
    lines.emplace_back(
        inputs.are_dumps() ? "Dumps: nothing of them is damaged"
        : ran_on ? "Files: closed or dumps of running processes, nothing dropped, no bad lines"
                 : "Files: all closed, nothing dropped, no bad lines");
  }
  if (!inputs.duplicates.empty()) {
    lines.push_back("Duplicate: " + match::duplicates_text(inputs.duplicates));
  }
  return lines;
}

std::string job_line(const InputFacts& inputs) {
  if (inputs.are_dumps()) {
    return "Dumps of PyTorch's Flight Recorder: what each rank called and what was seen to finish, "
           "without the times of either";
  }
  std::vector<std::string> interfaces;
  for (const std::int64_t interface : inputs.interfaces) {
    interfaces.push_back(interface == 0 ? "none yet" : 'v' + std::to_string(interface));
  }
  return "Job " + joined(inputs.jobs) + "; NCCL " + joined(inputs.nccl_versions) +
         ", profiler interface " + joined(interfaces) + "; " +
         counted(inputs.windows, "recording window");
}

}  // namespace

std::vector<std::string> origin_lines(const Summary& summary) {
  std::vector<std::string> began;
  for (const match::Run& run : summary.runs) {
    began.push_back(utc_time(run.start_ns / 1'000'000'000));
  }
  std::set<std::string> directories;
  for (const model::TraceFile* const file : summary.inputs.files) {
    directories.insert(std::filesystem::path(file->path).parent_path().string());
  }
  directories.erase("");
  const bool are_dumps = summary.inputs.are_dumps();
  return {(are_dumps ? "First call recorded " + joined(began)
                     : "Began " + joined(began) + " on " + joined(summary.inputs.hosts)) +
              (directories.empty()
                   ? ""
                   : (are_dumps ? "; dumps in " : "; traces in ") + joined(directories)),
          job_line(summary.inputs)};
}

// "2 ranks on 1 host (node1)".
std::string ranks_on_hosts(const InputFacts& inputs) {
  const std::string ranks = counted(inputs.ranks, "rank");
  return inputs.hosts.size() == 1 &&
                 (inputs.hosts.contains(model::kUnknownHost) || inputs.hosts.contains(""))
             ? ranks + " on hosts that the records do not name"
             : ranks + " on " + counted(inputs.hosts.size(), "host") + " (" + joined(inputs.hosts) +
                   ')';
}

std::vector<std::string> input_lines(const Summary& summary) {
  const InputFacts& inputs = summary.inputs;
  std::vector<std::string> lines = {
      "Read: " + counted(inputs.files.size(), inputs.are_dumps() ? "dump" : "trace") + ", " +
          ranks_on_hosts(inputs) + ", " + counted(inputs.operations, "operation") + ", " +
          human_bytes(inputs.size_bytes),
      job_line(inputs)};
  const auto runs = run_lines(summary.runs);
  lines.insert(lines.end(), runs.begin(), runs.end());
  const auto rest = completeness_lines(summary);
  lines.insert(lines.end(), rest.begin(), rest.end());
  return lines;
}

std::string communicator_title(const match::Communicator& communicator) {
  std::string title = label_of(communicator);
  if (!communicator.name.empty() && !communicator.hash.empty() &&
      communicator.hash != communicator.distinction) {
    title += ' ' + communicator.hash;
  }
  title += ", " + std::to_string(communicator.nranks) +
           (communicator.nranks_inferred ? "? " : " ") +
           (communicator.nranks == 1 ? "rank" : "ranks");
  return title;
}

std::vector<std::string> communicator_lines(const match::Communicator& communicator,
                                            const metrics::CommunicatorRows& rows) {
  std::vector<std::string> lines;
  if (communicator.identity == match::Identity::kSole) {
    lines.emplace_back(
        "the profiler interface gives no hash, but no process has another communicator");
  } else if (communicator.identity == match::Identity::kOrder) {
    lines.emplace_back(
        "identity inferred from the order of creation: the profiler interface gives no hash");
  }
  if (!communicator.why_alone.empty()) {
    lines.push_back("not compared with other ranks: " + communicator.why_alone);
  }
  if (communicator.nranks_inferred) {
    lines.emplace_back("number of ranks inferred from the ranks seen");
  }
  const auto absent = match::ranks_without_trace(communicator);
  if (!absent.empty()) {
    std::vector<std::string> ranks;
    ranks.reserve(absent.size());
    for (const std::uint32_t rank : absent) {
      ranks.push_back(std::to_string(rank));
    }
    lines.push_back("no trace of " + std::string(absent.size() == 1 ? "rank " : "ranks ") +
                    model::joined(ranks, 16));
  }
  lines.insert(lines.end(), communicator.notes.begin(), communicator.notes.end());
  if (communicator.unaligned_calls > 0) {
    lines.push_back(counted(communicator.unaligned_calls, "call") + " of " +
                    counted(communicator.unaligned_members.size(), "rank") +
                    " could not be aligned for certain (in no row)");
  }
  const auto verdicts = [&](match::Verdict verdict) {
    return rows.verdicts[static_cast<std::size_t>(verdict)];
  };
  const auto say = [&](match::Verdict verdict, std::string_view what) {
    if (verdicts(verdict) > 0) {
      lines.push_back(counted(verdicts(verdict), "operation") + ' ' + std::string(what));
    }
  };
  say(match::Verdict::kMissing, "not on all ranks: missing on a rank whose trace is complete");
  say(match::Verdict::kNotRecorded, "not recorded on all ranks");
  say(match::Verdict::kFunctionMismatch,
      "that other ranks called another function for (in no row)");
  say(match::Verdict::kSizeMismatch, "on whose size the ranks disagree (in no row)");
  say(match::Verdict::kDatatypeMismatch, "on whose datatype the ranks disagree (in no row)");
  say(match::Verdict::kRootMismatch, "on whose root the ranks disagree (in no row)");
  say(match::Verdict::kStateMismatch, "finished on some ranks and in flight on others (in no row)");
  say(match::Verdict::kUndecided,
      !communicator.why_alone.empty() ? "undecided: the other ranks are not known"
      : communicator.identity == match::Identity::kOrder
          ? "undecided: ranks disagree or made no such call, but may be of another communicator"
          : "undecided: the ranks disagree, but records may be lost (in no row)");
  for (const std::string& example : rows.examples) {
    lines.push_back("  " + example);
  }
  if (rows.examples_left_out > 0) {
    lines.push_back("  and " + std::to_string(rows.examples_left_out) + " more");
  }
  for (std::size_t i = 0; i < rows.unfinished.size(); ++i) {
    if (rows.unfinished[i] > 0) {
      lines.push_back(counted(rows.unfinished[i], "operation") + " not finished: " +
                      state_name(static_cast<model::State>(i)) + " only (in no row)");
    }
  }
  if (rows.repeated > 0) {
    lines.push_back(counted(rows.repeated, "operation") +
                    " with repeated sequence numbers (replays of CUDA graphs repeat them)");
  }
  return lines;
}

std::vector<std::string> footer_lines(const Summary& summary) {
  std::vector<std::string> lines = {
      "median, p99: transfer time, which is the shortest of a rank, as the last to come waits for "
      "nobody; wall: a rank's time in the operation; wait: the part of it in which it waited for "
      "other ranks.",
      "algbw and busbw are nccl-tests', from the median time; 1 GB/s = 1e9 bytes/s. "
      "docs/metrics.md has the formulas."};
  if (summary.with_nominal) {
    lines.emplace_back(
        "nominal: as monitor_collectives.py of torch.distributed's calls defines it, with the "
        "message "
        "as that counts it: of ReduceScatter busbw / ranks, of AlltoAll busbw x ranks, else "
        "busbw.");
  }
  if (has_peaks(summary)) {
    lines.emplace_back(
        "of peak: busbw by the most that the ranks' links allow, or that --baseline has reached.");
  }
  bool is_vague = false;
  bool is_on_some = false;
  bool has_groups = false;
  std::uint64_t excluded = 0;
  std::uint64_t rejected = 0;
  bool has_inferred = false;
  bool has_partial = false;
  bool has_no_bandwidth = false;
  bool is_above_peak = false;
  for (const metrics::CommunicatorRows& communicator : summary.rows) {
    for (const metrics::Row& row : communicator.rows) {
      has_inferred = has_inferred || row.ranks_inferred;
      has_partial = has_partial || row.partial > 0;
      has_groups = has_groups || row.is_grouped;
      is_on_some = is_on_some || row.on_some_ranks > 0;
      is_vague = is_vague || (row.busy && row.busy->median.is_vague()) ||
                 (row.wait && row.is_wait_vague());
      excluded += row.excluded;
      rejected += row.gpu_rejected;
      const auto percent = row.efficiency_percent();
      is_above_peak = is_above_peak || (percent && percent->best > 100);
      has_no_bandwidth = has_no_bandwidth || !model::tells_execution(row.times_from);
    }
  }
  if (is_above_peak && !summary.has_baseline) {
    lines.emplace_back(
        "Above 100 % of peak: the links carry more than the machine states, as where a hypervisor "
        "hides some, or the stamps make the time too short.");
  }
  if (summary.inputs.without_starts > 0) {
    lines.emplace_back(
        "These traces have durations only: those of the other ranks also have their waiting.");
  } else {
    for (const std::string& note : clock_notes(*summary.alignment)) {
      lines.push_back("Clocks: " + note + '.');
    }
  }
  if (is_vague) {
    lines.emplace_back(
        "~: an estimate that may be wrong by more than a tenth. --intervals shows its range.");
  }
  if (has_groups) {
    lines.emplace_back(
        "+: called together with others. NCCL runs such a group as one kernel, so its row has "
        "their "
        "time, and what all of them moved in it.");
  }
  if (is_on_some) {
    lines.emplace_back(
        "*: not every rank was seen to run some of these. The time is that of the others, and may "
        "hold waiting for those ranks.");
  }
  if (excluded > 0) {
    lines.push_back(counted(excluded, "operation") +
                    " left out of all times: they contradict each other (NCCL's stamps of another "
                    "operation).");
  }
  if (rejected > 0 && summary.inputs.without_starts == 0) {
    lines.push_back("In " + counted(rejected, "operation") +
                    " NCCL's stamps of some GPU channels cannot be true; the others were used.");
  }
  if (has_inferred) {
    lines.emplace_back("?: rests on a number of ranks that is inferred from the ranks seen.");
  }
  if (has_partial) {
    lines.emplace_back("ranks 3/4: of 4 ranks, some operations were recorded on 3 only.");
  }
  if (has_no_bandwidth) {
    lines.emplace_back(
        "times from enqueue or proxy_queue: the execution was not seen, so there is no bandwidth. "
        "Kernel channels show it: ringside run -- COMMAND");
  }
  return lines;
}

}  // namespace ringside::report
