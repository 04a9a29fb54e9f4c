// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/document/json_writer.h"

namespace ringside::cli {
namespace {

struct EnvOptions : LaunchOptions {
  std::string format = "shell";
};

constexpr char kEnvExample[] =
    "For launchers that `ringside run` cannot be put in front of: prints what it would set, and "
    "changes nothing. RINGSIDE_ variables that are set already are among it.\n\n"
    "Examples:\n"
    "  eval \"$(ringside env --dir /shared/run-17)\"\tin a batch script, before srun\n"
    "  mpirun $(ringside env --format mpirun --dir /shared/run-17) -n 16 ./train\n"
    "  docker run $(ringside env --format docker --dir /traces) ...\n\n"
    "shell has `export NAME='value'` lines, mpirun `-x NAME=value` (Open MPI), docker `-e "
    "NAME=value`, json an object. The forms mpirun and docker quote a value with blanks; then the "
    "shell needs `eval`.\n";

std::string variables_as_json(const launch::Variables& variables) {
  report::JsonWriter json;
  json.begin_object();
  for (const launch::Variable& variable : variables) {
    json.text(variable.name, variable.value);
  }
  json.end_object();
  return json.finish();
}

ExitStatus run_env(const EnvOptions& options) {
  const launch::Plan plan = make_launch_plan(options);
  if (!plan.error.empty()) {
    print_launch_notes("env", {plan.error});
    return kExitNotStarted;
  }
  print_launch_notes("env", plan.notes);
  launch::Variables all = plan.variables();
  all.insert(all.end(), plan.inherited.begin(), plan.inherited.end());
  for (const launch::Variable& variable : all) {
    if (options.format == "json" && !launch::is_utf8(variable.name + variable.value)) {
      print_launch_notes("env", {variable.name + " is not UTF-8, which JSON cannot hold"});
      return kExitInternal;
    }
  }
  const std::string text = options.format == "mpirun"   ? launch::as_options(all, "-x")
                           : options.format == "docker" ? launch::as_options(all, "-e")
                           : options.format == "json"   ? variables_as_json(all)
                                                        : launch::as_exports(all);
  return print(text) ? kExitOk : kExitInternal;
}

}  // namespace

void add_env(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<EnvOptions>();
  CLI::App* const command =
      app.add_subcommand("env", "Print the variables that `run` sets, for other launchers");
  add_place_options(*command, *options);
  add_recording_options(*command, *options);
  command->add_option("--format", options->format, "shell, mpirun, docker or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"shell", "mpirun", "docker", "json"}))
      ->capture_default_str();
  set_command(*command, kEnvExample, {{125, "the plugin is not found"}}, options, chosen, run_env);
}

}  // namespace ringside::cli
