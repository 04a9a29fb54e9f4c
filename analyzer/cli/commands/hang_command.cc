// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <vector>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/selection_check.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/dump_evidence.h"
#include "analyzer/cli/live/hang_answer.h"
#include "analyzer/cli/live/live.h"
#include "analyzer/cli/live/live_dumps.h"
#include "analyzer/cli/live/live_evidence.h"
#include "analyzer/cli/live/start_up.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/foreign_file.h"
#include "analyzer/load/imports/ras.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/metrics/hang/hang_selection.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/hang/hang_report.h"
#include "analyzer/report/ras_report.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/summary.h"
#include "launch/text.h"

namespace ringside::cli {
namespace {

struct HangOptions : AnalysisOptions {
  double min_age_s = 1;
  std::vector<std::string> ras_files;
  LiveOptions live;
  bool has_no_samples = false;
};

constexpr char kHangExample[] =
    "The trace of a running job lacks the operations in flight. Take a dump first (ringside ctl "
    "dump), or run `ringside recover` after the job has died. Without files, "
    "processes that run (--job, --dir, --all, --pid), here or on all hosts (--slurm, --kubectl, "
    "--hosts), each write a dump next to its trace, and are judged by that.\n"
    "\nExamples:\n"
    "  ringside hang traces/\twho has not joined, and who waits for whom\n"
    "  ringside hang --min-age 30 traces/\tonly what has waited for half a minute\n"
    "  ringside hang --comm world traces/\twhat is stuck there, and what that waits for\n"
    "  ringside hang --slurm 4711\tof a job that runs, on all its hosts\n"
    "  ringside hang dumps/\tfrom dumps of PyTorch's Flight Recorder\n"
    "  ringside hang --format json traces/ | jq '.sentences[]'\n";

// Evidence of its own: it changes neither the verdict nor the exit status.
bool add_ras_answers(const HangOptions& options, const model::Traces& traces,
                     report::Document& document) {
  std::vector<std::string> files = load::find_ras(options.inputs);
  const std::size_t found = files.size();
  for (const std::string& named : options.ras_files) {
    const bool is_known = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
      std::error_code error;
      return std::filesystem::equivalent(file, named, error);
    });
    if (!is_known) {
      files.push_back(named);
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    model::Ras ras;
    const std::string trouble = load::load_ras(files[i], ras);
    if (trouble.empty()) {
      report::add_ras(ras, files[i], traces, document);
      continue;
    }
    tell("ringside hang: " + files[i] + ": " +
         load::trouble_or_kind(files[i], trouble, load::begins_as_ras));
    if (i >= found) {
      return false;
    }
  }
  return true;
}

// The first stuck operations cause the others. A rank that is stuck in another operation itself is
// not at fault.
void choose_whom_to_sample(const metrics::Hang& hang, HangAnswer& answer) {
  constexpr std::size_t kMostAtFault = 2;
  std::set<std::uint32_t> known;
  for (const metrics::StuckOperation& operation : hang.operations) {
    for (const metrics::Blocker& blocker : operation.blockers) {
      const std::uint32_t file = hang.positions[blocker.position].file;
      if (!blocker.stuck_in && known.size() < kMostAtFault && known.insert(file).second) {
        answer.at_fault.push_back(file);
      }
    }
  }
  if (!known.empty() && !hang.operations.front().waiting.empty()) {
    const std::uint32_t file = hang.positions[hang.operations.front().waiting.front()].file;
    answer.waiting = known.contains(file) ? std::nullopt : std::optional(file);
  }
}

// The dumps of a job that runs, and whom to ask of it.
struct LiveJob {
  live::Choice choice;
  std::vector<live::Reply> replies;
  std::vector<std::string> hosts;     // that have answered, as they are asked
  std::vector<std::string> troubles;  // of processes that have given no dump
};

// `job`: NULL for files.
ExitStatus judge(const HangOptions& options, const LiveJob* job) {
  Analysis analysis;
  if (!load_traces(options, analysis)) {
    return kExitNoInput;
  }
  auto answer = answer_hang(options, options.min_age_s, analysis);
  if (!answer || !add_ras_answers(options, analysis.traces, answer->document)) {
    return kExitNoInput;
  }
  if (job != nullptr && !job->troubles.empty()) {
    answer->document.notes.push_back(
        report::counted(job->troubles.size(), "process or host has", "processes or hosts have") +
        " given no dump: what is stuck there is not known");
    answer->status = answer->status == kExitOk ? kExitIncomplete : answer->status;
  }
  if (job != nullptr && answer->status == kExitFindings) {
    if (!options.has_no_samples) {
      // What the ranks at fault do is a part of the answer; in files they are first.
      for (const live::WatchEvidence& one :
           stacks_to_take(job->choice, job->replies, analysis.traces, *answer).take()) {
        answer->document.sentences.push_back(one.text + '.');
      }
    }
    for (const auto& evidence :
         {evidence_of_links(analysis.traces), evidence_of_hosts(job->choice, job->hosts)}) {
      for (const live::WatchEvidence& one : evidence) {
        answer->document.notes.push_back(live::evidence_text(one));
      }
    }
  }
  return print_document(std::move(answer->document), analysis, options, answer->status);
}

// Takes dumps of processes that run, and judges by them.
ExitStatus run_live(const HangOptions& options) {
  const auto choice = completed_choice(options.live, "hang");
  if (!choice) {
    return kExitUsage;
  }
  ExitStatus status = kExitOk;
  const std::vector<live::Reply> replies = choose_processes(*choice, options.live, "hang", status);
  if (const auto starting = say_start_up(*choice, replies, "hang");
      !starting.empty() && !options.has_no_samples) {
    std::vector<std::string> lines;
    for (const live::WatchEvidence& one : stacks_of_start_up(*choice, starting).take()) {
      lines.push_back(one.text);
    }
    print_launch_notes("hang", lines);
  }
  if (status != kExitOk) {
    return status;
  }
  print_failures(replies, "hang");
  LiveJob job{*choice, replies, {}, {}};
  std::vector<live::Endpoint> answering;
  std::set<std::string> hosts;
  for (const live::Reply& reply : replies) {
    if (reply.status) {
      answering.push_back(reply.endpoint);
      hosts.insert(reply.endpoint.host);
    } else {
      job.troubles.push_back(reply.error);
    }
  }
  job.hosts.assign(hosts.begin(), hosts.end());
  LiveDumps dumps;
  dumps.take(*choice, answering, options.live.timeout());
  print_launch_notes("hang", dumps.troubles());
  job.troubles.insert(job.troubles.end(), dumps.troubles().begin(), dumps.troubles().end());
  if (dumps.files().empty()) {
    print_launch_notes("hang", {"no process has written a dump that can be read here"});
    return kExitNoInput;
  }
  HangOptions of_dumps = options;
  of_dumps.inputs = dumps.files();
  return judge(of_dumps, &job);
}

ExitStatus run_hang(const HangOptions& options) {
  if (options.inputs.empty() != options.live.are_given()) {
    print_launch_notes("hang",
                       {options.inputs.empty()
                            ? "DIR_OR_FILE is required, or which processes are meant: "
                              "--job, --dir, --all, --pid, --slurm, --kubectl or --hosts"
                            : "files exclude --job, --dir, --all, --pid, --slurm, --kubectl and "
                              "--hosts, which choose processes that run"});
    return kExitUsage;
  }
  return options.inputs.empty() ? run_live(options) : judge(options, nullptr);
}

}  // namespace

std::optional<HangAnswer> answer_hang(const AnalysisOptions& options, double min_age_s,
                                      Analysis& analysis) {
  // Dumps hold the operations in flight, so the last file counts, not the one with most operations.
  auto left_out = metrics::keep_latest_files(analysis.traces);
  if (!choose_traces(options, analysis)) {
    return std::nullopt;
  }
  align_clocks(options, analysis);
  constexpr double kNsPerSecond = 1e9;
  metrics::Hang hang = metrics::find_hang(analysis.traces, analysis.alignment,
                                          static_cast<std::int64_t>(min_age_s * kNsPerSecond));
  if (const std::string trouble =
          unknown_communicator_or_function(options.selection, analysis.traces, hang.matches);
      !trouble.empty()) {
    tell("ringside: " + trouble);
    return std::nullopt;
  }
  metrics::choose_communicators(options.selection, hang);
  report::Document document = report::make_hang_report(analysis.traces, analysis.alignment, hang,
                                                       options.most_rows(), options.wants_frames());
  document.notes.insert(document.notes.end(), left_out.begin(), left_out.end());
  const bool is_stuck_by_dumps = add_hang_of_dumps(options, hang, analysis, document);
  const bool is_read = report::count_unread(analysis.traces, analysis.problems) == 0;
  if (hang.operations.empty() && !is_read) {
    document.sentences.emplace_back(
        report::file_word(analysis.traces) == std::string_view("dump")
            ? "Some dumps, or entries of them, are damaged or missing: a call that is lost there "
              "may be stuck."
            : "Some lines, files or segments could not be read or are missing: what they hold may "
              "be stuck.");
  }
  // Whoever leaves ranks out by choice asks of the others only.
  const std::size_t absent = match::chooses_files(options.selection)
                                 ? 0
                                 : match::most_ranks_without_trace(hang.matches.communicators);
  if (hang.operations.empty() && absent > 0) {
    document.sentences.push_back("No trace or dump of " + report::counted(absent, "rank") +
                                 " was read: nothing is known of what may be stuck there.");
  }
  const auto& files = analysis.traces.files;
  if (hang.operations.empty() && !hang.undecided.empty()) {
    const model::TraceFile& file = files.front();
    document.sentences.front() +=
        !file.process.dump && !file.silent_ns ? " To record what runs: ringside run -- COMMAND"
        : file.process.job.empty()
            ? " Dump all ranks once more: a call that has ended by then ran."
            : " To look again: ringside hang --job " + launch::shell_word(file.process.job);
  }
  const bool are_profiles =
      std::any_of(analysis.profiles.begin(), analysis.profiles.end(),
                  [](const match::KinetoFileJoin& profile) { return profile.is_alone; });
  if (hang.operations.empty() && are_profiles) {
    document.sentences.front() +=
        " Profiles have what ran to its end; dumps of PyTorch's Flight Recorder show what is "
        "stuck, and so does `ringside run -- COMMAND`.";
  }
  const bool has_ends = std::all_of(files.begin(), files.end(), [](const model::TraceFile& file) {
    return file.closed || file.process.dump;
  });
  const bool is_whole = is_read && has_ends && absent == 0 && !are_profiles;
  const bool is_known = is_whole && hang.operations.empty() && hang.undecided.empty() &&
                        !hang.opposite_order && hang.unaligned.empty();
  const bool is_stuck = is_stuck_by_dumps || is_surely_stuck(hang);
  HangAnswer answer{std::move(document), is_stuck   ? kExitFindings
                                         : is_known ? kExitOk
                                                    : kExitIncomplete};
  choose_whom_to_sample(hang, answer);
  return answer;
}

void add_hang(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<HangOptions>();
  CLI::App* const command = app.add_subcommand(
      "hang", "Say what is stuck, who has not joined it, and who waits for whom");
  add_analysis_options(*command, *options);
  add_dump_options(*command, *options);
  add_stacks_option(*command, *options);
  // An operation in flight has no end to be chosen by, and is stuck whatever its function and size.
  for (const char* const option : {"--func", "--min-bytes", "--user-tag", "--from", "--to"}) {
    command->remove_option(command->get_option(option));
  }
  command->get_option("DIR_OR_FILE")->required(false);
  command
      ->add_option("--min-age", options->min_age_s,
                   "Seconds for which a rank must have waited in an operation")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command
      ->add_option("--ras", options->ras_files,
                   "Also show this answer of NCCL's RAS service, as those in the directories")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_flag(
      "--no-samples", options->has_no_samples,
      "Of a running job: do not look at the stacks of the ranks at fault, which takes "
      "five seconds");
  add_process_options(*command, options->live);
  add_host_options(*command, options->live.hosts);
  set_command(
      *command, kHangExample,
      {{0, "nothing is seen to be stuck"},
       {1, "something is stuck"},
       {3, kNothingFits},
       {4,
        "nothing is seen to be stuck, but something could not be read or is missing, or whether "
        "ranks that left no dump have joined cannot be known, or calls alone do not show it"}},
      options, chosen, run_hang);
}

}  // namespace ringside::cli
