// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/lint/file_linter.h"
#include "analyzer/lint/rules.h"
#include "analyzer/load/inputs.h"
#include "analyzer/model/printable.h"
#include "analyzer/report/numbers.h"

namespace ringside::cli {
namespace {

struct LintOptions {
  std::vector<std::string> inputs;
  bool must_be_closed = false;
  bool list_rules = false;
};

constexpr char kLintExample[] =
    "Examples:\n"
    "  ringside lint traces/\tall traces of a directory\n"
    "  ringside lint --closed run.json\ta file that was not closed is a finding\n"
    "  ringside lint --rules\twhat is checked\n";

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

std::string report_text(const std::string& path, const lint::FileReport& report) {
  std::string text;
  for (const lint::Finding& finding : report.findings) {
    text += model::printable(path + ':' + std::to_string(finding.line) + ": " +
                             std::string(lint::rule_name(finding.rule)) + ": " + finding.text) +
            '\n';
  }
  text += model::printable(path) + ": ";
  if (report.findings.empty()) {
    text += "ok, " + report::counted(report.events, "event");
  } else {
    text += report::counted(report.findings.size(), "finding");
  }
  if (!report.is_closed) {
    text += " (not closed: the process was killed or still runs)";
  }
  return text + '\n';
}

ExitStatus run_lint(const LintOptions& options) {
  if (options.list_rules) {
    return print(rules_text()) ? kExitOk : kExitInternal;
  }
  model::Problems problems;
  const load::Inputs inputs = load::find_inputs(options.inputs, problems);
  bool has_findings = false;
  bool has_read = false;
  for (const std::string& path : inputs.paths) {
    if (!load::first_partial({path}).empty()) {
      problems.add_file(
          path, "a partial, which has no lines to check: name the traces that it was made of");
      continue;
    }
    if (load::is_flight_recorder_dump(path)) {
      problems.add_file(path, "a dump of PyTorch's Flight Recorder, and not a trace");
      continue;
    }
    const lint::FileReport report = lint::lint_file(path, options.must_be_closed);
    if (report.error) {
      problems.add_file(path, *report.error);
      continue;
    }
    has_read = true;
    has_findings = has_findings || !report.findings.empty();
    if (!print(report_text(path, report))) {
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
