// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/baseline.h"
#include "analyzer/cli/analysis/health.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/inputs.h"
#include "analyzer/merge/output_file.h"
#include "analyzer/metrics/compare/compare.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/page/comparison.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/summary_text.h"
#include "launch/text.h"

namespace ringside::cli {
namespace {

struct ReportOptions : AnalysisOptions {
  std::string output;
  std::string baseline;
  bool force = false;
  const CLI::App* command = nullptr;  // as it was given
};

constexpr char kReportExample[] =
    "One HTML file that opens from disk in any browser and needs no network: what is wrong, who "
    "was late, where the time went, how fast it was. docs/report.md says what is where.\n\n"
    "Examples:\n"
    "  ringside report traces/\treport.html in this directory\n"
    "  ringside report monday/ tuesday/ wednesday/\truns side by side\n"
    "  ringside report -o minute.html --from 60 --to 120 traces/\tthe second minute\n"
    "  ringside report -o - --format json traces/\tits data alone, for a script\n";

// Nothing, after a message on stderr, if the baseline cannot be read.
std::optional<std::string> make_json(const ReportOptions& options, Analysis& analysis) {
  BeforeFacts before = look_before_facts(options, analysis);
  report::PageData data =
      report::make_page_data(analysis.facts(), analysis.problems, analysis.duplicates);
  if (!take_baseline("ringside report", options.baseline, data.summary.rows)) {
    return std::nullopt;
  }
  data.hang = std::move(before.stuck);
  data.network.not_chosen = before.not_chosen;
  data.add_commands = [&](report::Health& health) {
    add_commands(*options.command, options, analysis, health);
  };
  return report::page_json(data);
}

// One run after the other: the traces of all need not fit into memory together. Nothing, after a
// message on stderr, if one of them has no trace.
std::optional<std::string> compare_runs(const ReportOptions& options, ExitStatus& status) {
  std::vector<report::ComparedRun> runs;
  bool is_whole = true;
  for (const std::string& input : options.inputs) {
    ReportOptions one = options;
    one.inputs = {input};
    const auto analysis = analyse(one);
    if (analysis == nullptr) {
      return std::nullopt;
    }
    if (is_input("report", options.output, analysis->inputs, analysis->traces)) {
      return std::nullopt;
    }
    is_whole = is_whole && status_of_reading(*analysis) == kExitOk;
    const BeforeFacts before = look_before_facts(one, *analysis);
    const report::Summary summary = analysis->summary(true);
    report::ComparedRun run;
    run.input = launch::shell_word(input);
    run.origin = report::origin_lines(summary);
    run.ranks = summary.inputs.ranks;
    run.hosts = summary.inputs.hosts.size();
    run.operations = summary.inputs.operations;
    run.health = find_health(before, *analysis, summary);
    run.times = metrics::times_of_kinds(analysis->facts());
    run.notes = report::limits(analysis->traces, &analysis->alignment);
    runs.push_back(std::move(run));
  }
  status = is_whole ? kExitOk : kExitIncomplete;
  return report::comparison_json(runs);
}

// The data of the page. Nothing, after a message on stderr, if there is none.
std::optional<std::string> find_data(const ReportOptions& options, ExitStatus& status) {
  status = kExitNoInput;
  if (load::are_several_runs(options.inputs)) {
    if (!options.baseline.empty()) {
      tell("ringside report: --baseline is for one run; name one directory");
      status = kExitUsage;
      return std::nullopt;
    }
    return compare_runs(options, status);
  }
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return std::nullopt;
  }
  if (is_input("report", options.output, analysis->inputs, analysis->traces)) {
    status = kExitUsage;
    return std::nullopt;
  }
  auto json = make_json(options, *analysis);
  status = json ? status_of_reading(*analysis) : status;
  return json;
}

ExitStatus run_report(const ReportOptions& given) {
  ReportOptions options = given;
  if (options.output.empty()) {
    options.output = "report." + options.format;
  }
  const bool is_page = options.format == "html";
  if (is_page && !report::page_html({})) {
    std::fprintf(stderr,
                 "ringside report: this ringside was built without D3, which draws the charts; "
                 "build it with\nnode-d3, or take the data alone with --format json\n");
    return kExitUsage;
  }
  merge::OutputFile output(options.output, options.force);
  if (!output.error().empty()) {
    tell("ringside report: " + output.error());
    return kExitUsage;
  }
  ExitStatus status = kExitOk;
  const auto json = find_data(options, status);
  if (!json) {
    return status;
  }
  output.write(is_page ? *report::page_html(*json) : *json);
  if (!output.finish()) {
    tell("ringside report: " + output.error());
    return kExitInternal;
  }
  if (options.output != "-") {
    note(options.output + ": " + report::human_bytes(output.bytes()));
  }
  return status;
}

}  // namespace

void add_report(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* const command =
      app.add_subcommand("report", "Write a page that shows all of this, to open in a browser");
  options->format = "html";
  options->command = command;
  add_analysis_options(*command, *options);
  add_dump_options(*command, *options);
  add_kineto_option(*command, *options);
  for (const char* const of_documents : {"--format", "--table", "--top", "--align-report"}) {
    command->remove_option(command->get_option(of_documents));
  }
  command
      ->add_option("-o,--output", options->output,
                   "Write this file (default: report.html here); -: stdout")
      ->type_name("FILE");
  command->add_option("--format", options->format, "html, or json: the data of the page alone")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"html", "json"}))
      ->capture_default_str();
  add_baseline_option(*command, options->baseline);
  command->add_flag("--force", options->force, "Replace what is there");
  set_command(*command, kReportExample, {{2, kUsageOrExists}, {3, kNothingFits}}, options, chosen,
              run_report);
}

}  // namespace ringside::cli
