// SPDX-License-Identifier: Apache-2.0
//
// The commands that analyse traces and print one document.
#include <cstdint>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/path_graphs.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/live/dump_evidence.h"
#include "analyzer/cli/output.h"
#include "analyzer/metrics/overlap/overlap.h"
#include "analyzer/report/calls_report.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/iterations_report.h"
#include "analyzer/report/kineto/profile_join_report.h"
#include "analyzer/report/kineto/step_report.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/stragglers_report.h"
#include "analyzer/report/time_report.h"
#include "analyzer/report/what_if_report.h"

namespace ringside::cli {
namespace {

struct MatchOptions : AnalysisOptions {
  std::optional<std::size_t> mismatch_cap;  // operations of one communicator that are described
};

struct IterationsOptions : AnalysisOptions {
  bool is_series = false;
  std::size_t period = 0;
};

struct WhatIfOptions : AnalysisOptions {
  report::AskedChange asked;

  /// Why the job cannot be asked that; empty if it can.
  std::string why_no_path(const Analysis& analysis) const {
    const replay::RunReplay* const run = asked.is_empty() ? nullptr : analysis.replays().longest();
    return run == nullptr ? "" : report::read_change(asked, run->job()).wrong;
  }
};

struct PathOptions : AnalysisOptions {
  std::optional<std::size_t> instance;

  /// Why there is no path of what is asked for; empty if there is.
  std::string why_no_path(Analysis& analysis) const {
    const std::string why = nothing_fits(analysis);
    return why.empty() ? complete_graphs(*this, instance, true, analysis) : why;
  }

  /// Why no step is one of those that are asked for; empty if some is.
  std::string nothing_fits(const Analysis& analysis) const {
    if (!annotation && !instance) {
      return {};
    }
    std::set<std::pair<std::string_view, std::size_t>> steps;
    for (const metrics::ProcessGraph& process : analysis.graphs) {
      for (const metrics::StepRoot& step : process.graph.steps) {
        steps.emplace(process.graph.names.text(step.name), step.occurrence);
      }
    }
    return steps.size() > instance.value_or(0)
               ? ""
               : "no trace of PyTorch's profiler has " +
                     (instance ? "step " + std::to_string(*instance) + " (they count from 0)"
                               : std::string("a range")) +
                     " whose name contains \"" + annotation.value_or("ProfilerStep") + '"';
  }
};

constexpr char kMatchExample[] =
    "The worst come first, and of these the earliest: it is often the cause of the others. "
    "docs/metrics.md defines the verdicts.\n\n"
    "Examples:\n"
    "  ringside match traces/\twhich operations do not match, and whose fault\n"
    "  ringside match --mismatch-cap 1 traces/\tonly the first of each communicator\n"
    "  ringside match --format csv traces/\ta line for each side of each mismatch\n";

constexpr char kCallsExample[] =
    "Examples:\n"
    "  ringside calls --comm world --func AllReduce --from 60 --to 61 traces/\tone second\n"
    "  ringside calls --stacks --top 5 dumps/\tof a Flight Recorder, with the lines that called\n";

constexpr char kCommunicatorsExample[] =
    "Examples:\n"
    "  ringside communicators traces/\twho is in which communicator\n"
    "  ringside communicators --format csv traces/\tfor a script\n";

constexpr char kStragglersExample[] =
    "This command replays the job as if one rank or host were like the others: what that saves is "
    "what it costs. All times of a rank are by its own clock, so the hosts' clocks do not matter. "
    "docs/metrics.md has the equations.\n\n"
    "Examples:\n"
    "  ringside stragglers traces/\tall communicators, the whole run\n"
    "  ringside stragglers --from 60 traces/\tafter the first minute\n"
    "  ringside stragglers --by range traces/\twhere in the program the waiting is\n";

constexpr char kOverlapExample[] =
    "This says for how much of each rank's time operations run, how much of that is waiting for "
    "other ranks, and which communicators run at the same time.\n\n"
    "Examples:\n"
    "  ringside overlap traces/\teach rank\n"
    "  ringside overlap --format csv --table pairs traces/\tcommunicators against each other\n";

constexpr char kCriticalPathExample[] =
    "This command follows a replay of the run from its last operation back to its first: an "
    "operation waits for the rank that comes last, and that rank for its own operation before. The "
    "result says where the time of that chain went.\n\n"
    "With --kineto it follows each step of the training (ProfilerStep) back from its end, through "
    "CPU operators, launches, kernels, copies and NCCL's operations of all ranks: what the end "
    "waited for, on which rank, and what the step would take without it. docs/metrics.md has the "
    "rules.\n\n"
    "Examples:\n"
    "  ringside critical-path traces/\tthe whole run\n"
    "  ringside critical-path --from 10 --to 12 traces/\ttwo seconds of it\n"
    "  ringside critical-path traces/ --kineto profiles/\tthe steps, through CPU, GPU and network\n"
    "  ringside critical-path traces/ --kineto profiles/ --instance 1 --format csv --table "
    "path\tone step, moment by moment\n";

constexpr char kWhatIfExample[] =
    "This command replays the job from what each rank did between its operations and from how long "
    "the data took, with something changed. Without a change it asks all questions: who slows the "
    "job, and what would balanced work or a faster network bring.\n\n"
    "Examples:\n"
    "  ringside what-if traces/\tall questions\n"
    "  ringside what-if --without rank:3 traces/\trank 3 is like the other ranks\n"
    "  ringside what-if --without host:node4 --network 2x traces/\ttwo changes together\n";

constexpr char kIterationsExample[] =
    "Training repeats the same operations again and again. This finds what repeats, whatever comes "
    "before, after and now and then in between, and says how long each iteration took. "
    "docs/metrics.md says what is taken for an iteration.\n\n"
    "Examples:\n"
    "  ringside iterations traces/\tthe slowest, and for whom they waited\n"
    "  ringside iterations --series --format csv traces/\tall in their order, to be drawn\n"
    "  ringside iterations --period 12 traces/\tof 12 operations, if it chose another length\n";

// The command, to which options of its own may be added. `make` makes the document.
template <typename Options, typename Make>
CLI::App& add_document(CLI::App& app, const char* name, const char* description,
                       const char* examples, const std::shared_ptr<Options>& options,
                       Chosen& chosen, Make make, bool has_findings = false) {
  CLI::App& command = *app.add_subcommand(name, description);
  add_analysis_options(command, *options);
  command.footer(examples + (has_findings ? exit_statuses({{1, kHasError}, {3, kNothingFits}})
                                          : exit_statuses({{3, kNothingFits}})));
  command.callback([options, &command, &chosen, make, command_name = std::string(name)] {
    check_together(command);
    chosen = [options, make, command_name] {
      Analysis* const analysis = keep_until_exit(analyse(*options));
      if (analysis == nullptr) {
        return kExitNoInput;
      }
      if constexpr (requires { options->why_no_path(*analysis); }) {
        if (const std::string why = options->why_no_path(*analysis); !why.empty()) {
          tell("ringside " + command_name + ": " + why);
          return kExitNoInput;
        }
      }
      report::Document document = make(*analysis, *options);
      return print_document(std::move(document), *analysis, *options);
    };
  });
  return command;
}

}  // namespace

void add_match(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<MatchOptions>();
  CLI::App& command = add_document(
      app, "match", "Say which operations do not match between the ranks, and which ranks are odd",
      kMatchExample, options, chosen,
      [](Analysis& analysis, const MatchOptions& chosen_options) {
        const std::size_t cap =
            chosen_options.mismatch_cap.value_or(chosen_options.is_for_people() ? 10 : SIZE_MAX);
        const bool is_all_read = report::count_unread(analysis.traces, analysis.problems) == 0;
        report::Document document =
            report::match_document(analysis.traces, analysis.matches, analysis.alignment, cap,
                                   chosen_options.wants_frames(), is_all_read);
        add_mismatches_of_dumps(chosen_options, analysis, document);
        if (const std::size_t unread = analysis.problems.files().size(); unread > 0) {
          document.sentences.push_back(
              report::counted(unread, "file or directory", "files or directories") +
              " could not be read: the verdicts rest on the others only.");
        }
        return document;
      },
      true);
  options->takes_durations = true;
  add_dump_options(command, *options);
  add_kineto_option(command, *options);
  add_stacks_option(command, *options);
  command
      .add_option("--mismatch-cap", options->mismatch_cap,
                  "Operations to describe of each communicator; all are counted (default: 10 "
                  "in tables, all in json and csv)")
      ->type_name("COUNT");
}

void add_calls(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App& command = add_document(
      app, "calls", "List the operations one by one, with what each rank did", kCallsExample,
      options, chosen, [](const Analysis& analysis, const AnalysisOptions& chosen_options) {
        report::Document document = report::calls_document(
            analysis.traces, analysis.matches, analysis.alignment, chosen_options.most_rows(1000),
            chosen_options.wants_frames(), chosen_options.format == "table" ? screen_columns() : 0);
        if (!analysis.profiles.empty()) {
          document.tables.push_back(report::profile_join_table(analysis.profiles, analysis.traces));
          report::Table kernels = report::kernel_join_table(analysis.profiles, analysis.traces);
          if (!kernels.rows.empty()) {
            document.tables.push_back(std::move(kernels));
          }
        }
        return document;
      });
  add_dump_options(command, *options);
  add_kineto_option(command, *options);
  add_stacks_option(command, *options);
  command.get_option("--top")->description(
      "Rows of a table at most; 0: all (default: 1000 in tables, all in json and csv)");
}

void add_communicators(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App& command = add_document(
      app, "communicators", "List the communicators: their ranks, hosts, and which is inside which",
      kCommunicatorsExample, options, chosen, [](const Analysis& analysis, const auto&) {
        return report::communicators_document(analysis.traces, analysis.matches);
      });
  options->takes_durations = true;
  add_dump_options(command, *options);
}

void add_stragglers(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  options->by = metrics::RowsBy::kCaller;
  options->compares_clocks = false;
  CLI::App& command = add_document(
      app, "stragglers", "Say which rank or host slows the job, and by how much",
      kStragglersExample, options, chosen,
      [](const Analysis& analysis, const AnalysisOptions& chosen_options) {
        report::Document document = report::stragglers_document(analysis.replays());
        report::add_waits_by(analysis.replays(), analysis.traces, analysis.matches,
                             chosen_options.by, document);
        return document;
      },
      true);
  add_by_option(command, options->by,
                "Sum the waiting up by the range of the application (range), the line of the "
                "program (caller, the default) or NCCL's tag of the call (user-tag)");
  add_kineto_option(command, *options);
}

void add_overlap(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<AnalysisOptions>();
  CLI::App& command = add_document(
      app, "overlap", "Say how long communication runs, and which communicators run at once",
      kOverlapExample, options, chosen, [](const Analysis& analysis, const auto&) {
        return report::overlap_document(metrics::find_overlap(analysis.facts()), analysis.replays(),
                                        analysis.matches, analysis.traces, analysis.profiles);
      });
  add_kineto_option(command, *options);
}

void add_critical_path(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<PathOptions>();
  options->has_graphs = true;
  CLI::App& command = add_document(
      app, "critical-path", "Follow the longest chain over all ranks, and say where its time went",
      kCriticalPathExample, options, chosen,
      [](Analysis& analysis, const PathOptions& chosen_options) {
        if (!analysis.graphs.empty()) {
          return report::step_path_document(
              metrics::find_step_paths(analysis.facts(), analysis.graphs, chosen_options.instance),
              analysis.graphs, analysis.facts(), chosen_options.by, chosen_options.most_rows());
        }
        return report::critical_path_document(analysis.replays().longest(), analysis.traces,
                                              analysis.matches, analysis.alignment,
                                              chosen_options.by);
      });
  add_kineto_option(command, *options);
  add_graph_memory_option(command, *options);
  command
      .add_option("--annotation", options->annotation,
                  "With --kineto: steps are the ranges of record_function whose names contain this "
                  "(default: ProfilerStep, or the whole recording where there are none)")
      ->type_name("NAME");
  command
      .add_option("--instance", options->instance,
                  "With --kineto: only the step with this number, counted from 0")
      ->type_name("COUNT");
  add_by_option(
      command, options->by,
      "Split the operations on the path by the range of the application (range), the line "
      "of the program (caller) or NCCL's tag of the call (user-tag)");
}

void add_what_if(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<WhatIfOptions>();
  options->compares_clocks = false;
  CLI::App& command = add_document(
      app, "what-if", "Say what the job would take without a slow rank, or with a faster network",
      kWhatIfExample, options, chosen,
      [](const Analysis& analysis, const WhatIfOptions& chosen_options) {
        return report::what_if_document(analysis.replays(), chosen_options.asked);
      },
      true);
  add_kineto_option(command, *options);
  command
      .add_option("--without", options->asked.without,
                  "This rank or host is like the others: rank:NUMBER or host:NAME; may be repeated")
      ->type_name("WHO")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return std::regex_match(text, std::regex("rank:[0-9]+|host:.+"))
                       ? ""
                       : '"' + text + "\" is neither rank:NUMBER nor host:NAME";
          },
          ""))
      ->allow_extra_args(false);
  command.add_flag("--balanced", options->asked.is_balanced, "All ranks have the same work");
  command
      .add_option("--network", options->asked.network,
                  "A network so many times as fast (2x), as fast as its fastest transfers (peak), "
                  "or without any delay (infinite)")
      ->type_name("SPEED")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text == "peak" || report::network_speed(text)
                       ? ""
                       : text + " is none of 2x (or another factor), peak, infinite";
          },
          ""));
}

void add_iterations(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<IterationsOptions>();
  CLI::App& command = add_document(
      app, "iterations", "Find the iterations of the job; say how long each took, and why",
      kIterationsExample, options, chosen,
      [](const Analysis& analysis, const IterationsOptions& chosen_options) {
        return report::iterations_document(analysis.iterations(chosen_options.period),
                                           analysis.traces, analysis.matches,
                                           chosen_options.is_series);
      });
  add_kineto_option(command, *options);
  command.add_flag("--series", options->is_series,
                   "All iterations in the order of time, instead of the slowest");
  command
      .add_option("--period", options->period,
                  "Operations of one rank in an iteration; 0: find that out")
      ->type_name("COUNT")
      ->capture_default_str();
}

}  // namespace ringside::cli
