// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/numbers.h"
#include "launch/doctor.h"

namespace ringside::cli {
namespace {

struct DoctorOptions : LaunchOptions {
  std::string format = "table";
};

constexpr char kDoctorExample[] =
    "This command checks whether a job on this machine, in this environment, would be profiled. It "
    "changes nothing and does not initialise CUDA. Run it where the ranks run: on a node, in the "
    "container, in the Python environment.\n\n"
    "Examples:\n"
    "  ringside doctor\tthis machine, this environment\n"
    "  srun --ntasks-per-node 1 ringside doctor --dir /shared/run-17\ton every node\n"
    "  ringside doctor --format json > doctor.json\tfor a script\n";

const char* health_name(launch::Health health) {
  return health == launch::Health::kOk     ? "ok"
         : health == launch::Health::kNote ? "note"
                                           : "problem";
}

std::uint64_t count_of(const std::vector<launch::Check>& checks, launch::Health health) {
  return static_cast<std::uint64_t>(
      std::count_if(checks.begin(), checks.end(),
                    [health](const launch::Check& check) { return check.health == health; }));
}

std::string checks_as_json(const std::vector<launch::Check>& checks) {
  report::JsonWriter json;
  json.begin_object();
  json.integer("schema_version", 1);
  json.integer("problems", count_of(checks, launch::Health::kProblem));
  json.integer("notes", count_of(checks, launch::Health::kNote));
  json.begin_array("checks");
  for (const launch::Check& check : checks) {
    json.begin_object();
    json.text("health", health_name(check.health));
    json.text("subject", check.subject);
    json.text("text", launch::printable(check.text));
    json.text("advice", launch::printable(check.advice));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.finish();
}

std::string checks_as_table(const std::vector<launch::Check>& checks) {
  constexpr std::size_t kHealthWidth = 9;
  constexpr std::size_t kSubjectWidth = 11;
  const auto padded = [](std::string word, std::size_t width) {
    word.resize(std::max(word.size() + 1, width), ' ');
    return word;
  };
  std::string text;
  for (const launch::Check& check : checks) {
    text += padded(health_name(check.health), kHealthWidth) + padded(check.subject, kSubjectWidth) +
            launch::printable(check.text) + '\n';
    if (!check.advice.empty()) {
      text += std::string(kHealthWidth + kSubjectWidth, ' ') + "-> " +
              launch::printable(check.advice) + '\n';
    }
  }
  return text + report::counted(count_of(checks, launch::Health::kProblem), "problem") + ", " +
         report::counted(count_of(checks, launch::Health::kNote), "note") + '\n';
}

ExitStatus run_doctor(const DoctorOptions& options) {
  const std::vector<launch::Check> checks = launch::judge(
      launch::gather_facts(options.plan, options.nccl_file, get_variable, environment_variables()));
  if (!print(options.format == "json" ? checks_as_json(checks) : checks_as_table(checks))) {
    return kExitInternal;
  }
  return count_of(checks, launch::Health::kProblem) == 0 ? kExitOk : kExitFindings;
}

}  // namespace

void add_doctor(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* const command = app.add_subcommand(
      "doctor", "Check whether a job here would be profiled: plugin, NCCL, memory, variables");
  add_place_options(*command, *options);
  command->add_option("--format", options->format, "table or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  set_command(*command, kDoctorExample, {{0, "no problems"}, {1, "problems; each says what to do"}},
              options, chosen, run_doctor);
}

}  // namespace ringside::cli
