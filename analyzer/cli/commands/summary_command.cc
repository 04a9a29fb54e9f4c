// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/baseline.h"
#include "analyzer/cli/analysis/fail_on.h"
#include "analyzer/cli/analysis/health.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/slow_text.h"
#include "analyzer/report/plot.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::cli {
namespace {

struct SummaryOptions : AnalysisOptions {
  bool is_strict = false;
  bool with_intervals = false;
  bool with_nominal = false;
  bool has_plot = false;
  bool no_findings = false;
  std::string baseline;
  std::string fail_on;
  std::vector<Condition> conditions;
  const CLI::App* command = nullptr;  // as it was given
};

constexpr char kSummaryExample[] =
    "Results go to standard output, everything else to standard error. docs/metrics.md defines "
    "each figure.\n\n"
    "Examples:\n"
    "  ringside summary traces/\tall traces of a directory\n"
    "  ringside summary --format json traces/ > out.json\tfor a script\n"
    "  ringside summary --plot --func AllReduce traces/\tbusbw against message size, drawn\n"
    "  ringside summary --fail-on \"efficiency<70%\" traces/\tfail if links are used badly\n"
    "  ringside summary --baseline all_reduce_perf.txt traces/\tpercent of what nccl-tests "
    "reached\n"
    "  ringside summary --strict a.json b.json\tfail if anything is not whole\n"
    "  ringside summary --min-bytes 64mb --fail-on \"busbw<200,straggler>5%,mismatch\" "
    "traces/\tfail if it is slow, late or wrong\n";

std::string render(const report::Summary& summary, const SummaryOptions& options) {
  if (options.format == "json") {
    return report::summary_as_json(summary);
  }
  if (options.format == "csv") {
    return report::summary_as_csv(summary);
  }
  return options.format == "markdown"
             ? report::summary_as_markdown(summary, options.align_report)
             : report::summary_as_table(summary, options.align_report, screen_columns());
}

bool is_utf8_terminal() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    if (value != nullptr && *value != '\0') {
      const std::string_view text(value);
      return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
    }
  }
  return false;
}

// COLUMNS, else that of the terminal.
std::size_t terminal_width() {
  constexpr std::size_t kOtherwise = 80;
  constexpr std::size_t kMost = 1000;
  std::size_t width = 0;
  if (const char* const text = std::getenv("COLUMNS")) {  // NOLINT(concurrency-mt-unsafe)
    std::from_chars(text, text + std::strlen(text), width);
  }
  winsize size{};
  if (width == 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    width = size.ws_col;
  }
  return width == 0 ? kOtherwise : std::min(width, kMost);
}

// Says which conditions hold; what cannot be judged is no success either.
ExitStatus judge(const SummaryOptions& options, const Analysis& analysis,
                 const report::Summary& summary, const std::vector<std::string>& gaps) {
  const Verdicts verdicts = judge_conditions(options.conditions, analysis, summary, gaps);
  for (const std::string& line : verdicts.failed) {
    tell("failed: " + line);
  }
  for (const std::string& line : verdicts.unknown) {
    tell("cannot be judged: " + line);
  }
  if (!verdicts.failed.empty()) {
    return kExitFindings;
  }
  return verdicts.unknown.empty() ? kExitOk : kExitIncomplete;
}

ExitStatus run_summary(const SummaryOptions& options) {
  if (options.has_plot && options.format != "table") {
    std::fprintf(stderr, "ringside summary: --plot is for --format table\n");
    return kExitUsage;
  }
  Analysis* const analysis = keep_until_exit(analyse(options));
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  // CSV is the table alone.
  const bool has_findings = !options.no_findings && options.format != "csv";
  BeforeFacts before;
  if (has_findings) {
    before = look_before_facts(options, *analysis);
  }
  for (const std::string& one : analysis->notes) {
    note("note: " + one);
  }
  report::Summary summary = analysis->summary(has_findings, options.by);
  if (!take_baseline("ringside summary", options.baseline, summary.rows)) {
    return kExitNoInput;
  }
  summary.has_baseline = !options.baseline.empty();
  // Durations without starts leave so much open that one figure would say nothing.
  summary.with_intervals = options.with_intervals || summary.inputs.without_starts > 0;
  summary.with_nominal = options.with_nominal;
  summary.most_rows = options.top.value_or(0);
  report::Health health;
  if (has_findings) {
    health = find_health(before, *analysis, summary);
    add_commands(*options.command, options, *analysis, health);
    summary.health = &health;
  }
  std::string text = render(summary, options);
  if (options.has_plot) {
    text += report::bandwidth_plot(summary, terminal_width(), is_utf8_terminal());
  }
  if (has_findings && options.format == "table" && isatty(STDOUT_FILENO) == 1) {
    text += next_lines(health);
  }
  if (!show(text, options.format)) {
    return kExitInternal;
  }
  const std::vector<std::string> gaps =
      report::find_gaps(summary, analysis->traces, !match::chooses_files(options.selection));
  if (const ExitStatus status = judge(options, *analysis, summary, gaps); status != kExitOk) {
    return status;
  }
  if (options.is_strict && !gaps.empty()) {
    tell("--strict: not all is there: " + model::joined(gaps, gaps.size()));
    return kExitIncomplete;
  }
  return has_findings && report::is_open(analysis->replays())
             ? kExitIncomplete
             : status_of_answer(*analysis, options);
}

}  // namespace

void add_summary(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<SummaryOptions>();
  CLI::App* const command = app.add_subcommand(
      "summary", "Say what is wrong; then how many operations there are, how long and how fast");
  add_analysis_options(*command, *options);
  add_kineto_option(*command, *options);
  options->takes_durations = true;
  command->remove_option(command->get_option("--top"));
  command->remove_option(command->get_option("--table"));
  command
      ->add_option("--top", options->top,
                   "Rows of a table for people at most, those that took most of the time; 0: all "
                   "(default)")
      ->type_name("ROWS");
  add_by_option(
      *command, options->by,
      "Split the rows by the range of the application (range: ringside_push), the line of "
      "the program (caller: nccl_ringside.torch.annotate) or NCCL's tag of the call "
      "(user-tag); with each row's share of all waiting");
  command->add_flag(
      "--strict", options->is_strict,
      "Exit with 4 if something is not in the traces: a line or file that could not be read or is "
      "missing, dropped callbacks, the end of a trace that is not closed, a rank without a trace");
  command->add_flag("--intervals", options->with_intervals,
                    "Show how much of each time and bandwidth the clocks and stamps leave open");
  command->add_flag("--nominal", options->with_nominal,
                    "Show the nominal bandwidth of monitor_collectives.py, too (docs/metrics.md), "
                    "which JSON and CSV always have");
  command->add_flag("--plot", options->has_plot, "Also draw busbw against message size");
  command->add_flag("--no-findings", options->no_findings,
                    "Show the table alone, which takes less time: do not look for what is wrong");
  add_baseline_option(*command, options->baseline);
  options->command = command;
  command->add_option("--fail-on", options->fail_on, kFailOnHelp)
      ->type_name("CONDITIONS")
      ->check([options](const std::string& text) {
        std::string error;
        auto conditions = parse_conditions(text, error);
        if (!conditions) {
          return error;
        }
        options->conditions = std::move(*conditions);
        return std::string();
      });
  set_command(*command, kSummaryExample,
              {{1, "a condition of --fail-on holds"},
               {3, kNothingFits},
               {4,
                "--strict: something is not in the traces; "
                "--fail-on: a condition cannot be judged"}},
              options, chosen, run_summary);
}

}  // namespace ringside::cli
