// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/lint/file_linter.h"
#include "analyzer/lint/rules.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/model/printable.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::cli {
namespace {

struct LintOptions {
  std::vector<std::string> inputs;
  bool must_be_closed = false;
  bool list_rules = false;
};

constexpr char kLintExample[] =
    "It also takes dumps of PyTorch's Flight Recorder. A finding there is an entry that is "
    "damaged, by its place, with what that means for the other commands.\n\n"
    "Examples:\n"
    "  ringside lint traces/\tall traces of a directory\n"
    "  ringside lint --closed run.json\ta file that was not closed is a finding\n"
    "  ringside lint --rules\twhat is checked\n"
    "  ringside lint dumps/\tentries of dumps that are damaged\n";

std::string rules_text() {
  std::string text;
  for (std::size_t i = 0; i < lint::kRuleCount; ++i) {
    const auto rule = static_cast<lint::Rule>(i);
    std::string name(lint::rule_name(rule));
    name.resize(24, ' ');
    text += name.append(lint::rule_text(rule)) + '\n';
  }
  return text;
}

using Counts = std::array<std::uint64_t, lint::kRuleCount>;

// `shown`: lines of each rule so far.
std::string report_text(const std::string& path, const lint::FileReport& report, Counts& shown,
                        const char* counted = "event", const char* several = "events") {
  std::string text;
  Counts left_out{};
  for (std::size_t i = 0; i < lint::kRuleCount; ++i) {
    left_out[i] = report.findings.count(static_cast<lint::Rule>(i));
  }
  for (const lint::Finding& finding : report.findings.kept()) {
    const auto rule = static_cast<std::size_t>(finding.rule);
    if (shown[rule] == lint::Findings::kKept) {
      continue;
    }
    ++shown[rule];
    --left_out[rule];
    text += model::printable(path + ':' + std::to_string(finding.line) + ": " +
                             std::string(lint::rule_name(finding.rule)) + ": " + finding.text) +
            '\n';
  }
  text += model::printable(path) + ": ";
  if (report.findings.count() == 0) {
    text += "ok, " + report::counted(report.events, counted, several);
  } else {
    text += report::counted(report.findings.count(), "finding");
    for (std::size_t i = 0; i < lint::kRuleCount; ++i) {
      if (left_out[i] > 0) {
        text += ", of them " + std::to_string(left_out[i]) + " more of " +
                std::string(lint::rule_name(static_cast<lint::Rule>(i)));
      }
    }
  }
  if (!report.is_closed) {
    text += " (not closed: the process was killed or still runs)";
  }
  return text + '\n';
}

// All together, since one dump may tell what another one lacks. Those that cannot be read are added
// to `problems`.
std::vector<std::pair<std::string, lint::FileReport>> lint_dumps(
    const std::vector<std::string>& paths, const load::DumpChoice& choice,
    model::Problems& problems) {
  model::Problems found(SIZE_MAX);
  const model::Traces traces =
      load::load_traces(paths, found, 0, load::kRangeBytes, nullptr, choice);
  for (const model::Problem& problem : found.files()) {
    problems.add_file(problem.path, problem.reason);
  }
  std::map<std::string, lint::Findings> findings;  // by path
  for (const model::Problem& problem : found.lines()) {
    findings[problem.path].add(problem.line, lint::Rule::kDumpEntry, problem.reason);
  }
  std::vector<std::pair<std::string, lint::FileReport>> reports;
  for (const model::TraceFile& file : traces.files) {
    lint::FileReport report;
    report.events = file.operations.size();
    report.is_closed = true;
    report.findings = std::move(findings[file.path]);
    reports.emplace_back(file.path, std::move(report));
  }
  return reports;
}

ExitStatus run_lint(const LintOptions& options) {
  if (options.list_rules) {
    return print(rules_text()) ? kExitOk : kExitInternal;
  }
  model::Problems problems;
  const load::DumpChoice choice{.takes_dumps = true, .joins_traces = true, .prefix = {}};
  const load::Inputs inputs = load::find_inputs(options.inputs, problems, choice);
  std::vector<std::string> dumps;
  bool has_findings = false;
  bool has_read = false;
  Counts shown{};
  for (const std::string& path : inputs.paths) {
    if (!load::first_partial({path}).empty()) {
      problems.add_file(
          path, "a partial, which has no lines to check: name the traces that it was made of");
      continue;
    }
    if (load::is_flight_recorder_dump(path)) {
      dumps.push_back(path);
      continue;
    }
    const lint::FileReport report = lint::lint_file(path, options.must_be_closed);
    if (report.error) {
      problems.add_file(path, *report.error);
      continue;
    }
    has_read = true;
    has_findings = has_findings || report.findings.count() > 0;
    if (!print(report_text(path, report, shown))) {
      return kExitInternal;
    }
  }
  for (const auto& [path, report] : lint_dumps(dumps, choice, problems)) {
    has_read = true;
    has_findings = has_findings || report.findings.count() > 0;
    if (!print(report_text(path, report, shown, "entry", "entries"))) {
      return kExitInternal;
    }
  }
  print_problems(problems, inputs.notes);
  // A file that could not be read was not checked, so the answer is not "all is well".
  if (has_findings || (has_read && !problems.files().empty())) {
    return kExitFindings;
  }
  return has_read ? kExitOk : kExitNoInput;
}

}  // namespace

void add_lint(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<LintOptions>();
  CLI::App* const command =
      app.add_subcommand("lint", "Check trace files against the format and what Perfetto demands");
  command->add_option("DIR_OR_FILE", options->inputs, "Directories with traces, or trace files");
  command->add_flag("--closed", options->must_be_closed, "A file that was not closed is a finding");
  add_quiet_option(*command);
  command->add_flag("--rules", options->list_rules, "List the rules and exit");
  set_command(*command, kLintExample,
              {{1, "a file has findings, or could not be read while others could"},
               {3, "nothing that was named could be read"}},
              options, chosen, run_lint);
  // Not required(): --rules needs none.
  command->parse_complete_callback([options] {
    if (options->inputs.empty() && !options->list_rules) {
      throw CLI::RequiredError("DIR_OR_FILE");
    }
  });
}

}  // namespace ringside::cli
