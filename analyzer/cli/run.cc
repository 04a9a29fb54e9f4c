// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/cli/commands.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::cli {
namespace {

// Says what is wrong with the command line, and where to read on.
std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const auto used = app->get_subcommands();
  const std::string command = used.empty() ? "ringside" : "ringside " + used.front()->get_name();
  return command + ": " + error.what() + "\nTry `" + command + " --help`.\n";
}

bool is_command(const CLI::App& app, std::string_view word) {
  for (const CLI::App* const command : app.get_subcommands({})) {
    if (command->get_name() == word) {
      return true;
    }
  }
  return false;
}

// "summary, match and lint"
std::string command_names(const CLI::App& app) {
  const auto commands = app.get_subcommands({});
  std::string names;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    names += i == 0 ? "" : i + 1 == commands.size() ? " and " : ", ";
    names += commands[i]->get_name();
  }
  return names;
}

// Takes the words behind `--` of `ringside run` off the command line: they are no options of ours.
std::vector<std::string> take_command(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "run") {
    return {};
  }
  char** const end = argv + argc;
  char** const marker =
      std::find_if(argv + 2, end, [](const char* word) { return std::string_view(word) == "--"; });
  argc = static_cast<int>(marker - argv);
  return marker == end ? std::vector<std::string>() : std::vector<std::string>(marker + 1, end);
}

// The library takes "-5" for a count of 2^64 - 5, and "nan" passes any range.
void refuse_wrapped_numbers(CLI::App& app) {
  const CLI::Validator whole(
      [](std::string& text) {
        return text.find('-') != std::string::npos ? text + " is below 0" : std::string();
      },
      "");
  const CLI::Validator ordered(
      [](std::string& text) {
        double number = 0;
        return CLI::detail::lexical_cast(text, number) && std::isnan(number)
                   ? text + " is no number"
                   : std::string();
      },
      "");
  for (CLI::App* const command : app.get_subcommands({})) {
    for (CLI::Option* const option : command->get_options()) {
      const std::string type = option->get_type_name();
      if (type.starts_with("UINT")) {
        option->check(whole);
      } else if (type.starts_with("FLOAT")) {
        option->check(ordered);
      }
    }
  }
}

}  // namespace

ExitStatus run(int argc, char** argv) {
  CLI::App app(
      "Profiles the NCCL operations of a job, and puts the traces of all its ranks together.",
      "ringside");
  Chosen chosen;
  app.set_version_flag("--version", "ringside " RINGSIDE_VERSION);
  app.require_subcommand(1);
  add_run(app, chosen, take_command(argc, argv));
  add_env(app, chosen);
  add_doctor(app, chosen);
  add_ctl(app, chosen);
  add_top(app, chosen);
  add_exporter(app, chosen);
  add_summary(app, chosen);
  add_match(app, chosen);
  add_calls(app, chosen);
  add_communicators(app, chosen);
  add_hang(app, chosen);
  add_stragglers(app, chosen);
  add_network(app, chosen);
  add_overlap(app, chosen);
  add_critical_path(app, chosen);
  add_iterations(app, chosen);
  add_compare(app, chosen);
  add_report(app, chosen);
  add_merge(app, chosen);
  add_export(app, chosen);
  add_reduce(app, chosen);
  add_recover(app, chosen);
  add_lint(app, chosen);
  app.footer(std::string("Example:\n"
                         "  ringside run --dir traces -- torchrun --nproc-per-node 8 train.py\n"
                         "  ringside stragglers traces/\n"
                         "`ringside COMMAND --help` says more about a command.\n\n") +
             kExitStatuses +
             "`ringside run` has the status of its command, `ringside doctor` 1 for a problem.\n");
  app.failure_message(usage_error);
  refuse_wrapped_numbers(app);
  if (argc > 1 && argv[1][0] != '-' && !is_command(app, argv[1])) {
    std::fprintf(stderr,
                 "ringside: there is no command \"%s\"; the commands are %s.\n"
                 "Try `ringside --help`.\n",
                 argv[1], command_names(app).c_str());
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return chosen();
}

}  // namespace ringside::cli
