// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/help.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/source/descriptor.h"
#include "analyzer/model/printable.h"
#include "plugin/config/nearest_name.h"

#ifndef RINGSIDE_VERSION
#error "RINGSIDE_VERSION is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::cli {
namespace {

// Returns the command that was chosen, with all its words: `ringside`, or `ringside ctl start`.
const CLI::App* chosen_command(const CLI::App* app, std::string& words) {
  words = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    words += ' ' + app->get_name();
  }
  return app;
}

std::vector<std::string> names_in(const CLI::App& command, bool are_options) {
  std::vector<std::string> names;
  if (!are_options) {
    for (const CLI::App* const one : command.get_subcommands({})) {
      names.push_back(one->get_name());
    }
    return names;
  }
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// The hint for an option that this command lacks, and that others have.
std::string hint_for(const CLI::App& command, const std::string& option) {
  const auto has = [](const CLI::App& app, const std::string& name) {
    return app.get_option_no_throw(name) != nullptr;
  };
  for (const char* const format : {"json", "csv", "markdown"}) {
    if (option == std::string("--") + format && has(command, "--format") &&
        command.get_option("--format")->get_description().find(format) != std::string::npos) {
      return std::string("; --format ") + format + " does that";
    }
  }
  if (option == "--dir" && has(command, "DIR_OR_FILE")) {
    return "; name the directory without an option";
  }
  std::string others;
  std::size_t count = 0;
  if (command.get_parent() != nullptr) {
    for (const CLI::App* const other : command.get_parent()->get_subcommands({})) {
      if (has(*other, option) && ++count <= 3) {
        others += (count == 1 ? "" : ", ") + other->get_name();
      }
    }
  }
  return count == 0 ? ""
                    : " in " + command.get_name() + "; " + others +
                          (count > 3 ? " and " + std::to_string(count - 3) + " more" : "") +
                          (count == 1 ? " has it" : " have it");
}

// A word that a command does not take.
std::string unexpected(const CLI::App& command, const std::string& given) {
  const bool is_option = given.starts_with('-');
  const std::string word = is_option ? given.substr(0, given.find('=')) : given;
  const std::vector<std::string> names = names_in(command, is_option);
  if (names.empty()) {
    return "\"" + word + "\" is one argument too many";
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = config::nearest_name(word, views, is_option && word.size() > 1 ? 2 : 0);
  if (nearest == word) {
    return word + " is an option of this command: put it behind the command's name";
  }
  if (is_option && word.find(' ') != word.npos) {
    return '"' + word + "\" is no option: put -- before a text that begins with a dash";
  }
  std::string text = "there is no " + std::string(is_option ? "option " : "command ") + word;
  if (const std::string hint = is_option ? hint_for(command, word) : std::string(); !hint.empty()) {
    return text + hint;
  }
  if (!nearest.empty()) {
    return text.append("; did you mean ").append(nearest).append("?");
  }
  if (!is_option) {
    text += "; the commands are";
    for (const std::string& name : names) {
      text += (name == names.front() ? " " : ", ") + name;
    }
  }
  return text;
}

// The library's words for what is wrong with an option, as a sentence of ours.
std::string reworded(std::string text) {
  static const std::array<std::pair<std::regex, const char*>, 15> wordings = {{
      {std::regex(R"(: At least (\d+) required but received (\d+)$)"), ": give $1 or more, not $2"},
      {std::regex(R"(: At Most (\d+) required but received (\d+)$)"), ": give $1 at most, not $2"},
      {std::regex(R"(: 1 required (\w+).* missing$)"), ": it needs a value ($1)"},
      {std::regex(R"(^Could not convert: (\S+) = (.*)$)"), "$1: $2 is no number"},
      {std::regex(R"(^(\S+) excludes (\S+)$)"), "$1 and $2 exclude each other"},
      {std::regex(R"(^(\S+) requires (\S+)$)"), "$1 goes with $2"},
      {std::regex(R"(^(\S+) was given a disallowed flag override$)"), "--$1 takes no value"},
      {std::regex(R"(File is actually a directory: (.*)$)"), "$1 is a directory, not a file"},
      {std::regex(R"((\S+) unit not recognized\..*$)"), "$1 is no size, like 65536 or 64mb"},
      {std::regex(R"(Value (\S+) could not be converted to .*$)"),
       "$1 is no size, like 65536 or 64mb"},
      {std::regex(R"(->[^,}]*)"), ""},
      {std::regex(R"(Check (.*) value in \{(.*)\} OR \{.* FAILED$)"), "$1 is not one of $2"},
      {std::regex(R"((\S*) not in \{(.*)\}$)"), "$1 is not one of $2"},
      {std::regex(R"(Value (\S+) not in range \[?(\S+) (?:to|-) ([^\s\]]+)\]?$)"),
       "$1 is not from $2 to $3"},
      {std::regex(R"((\.\d*[1-9])0{3,}\b|\.0{6}\b)"), "$1"},
  }};
  for (const auto& [library, ours] : wordings) {
    text = std::regex_replace(text, library, ours);
  }
  constexpr std::string_view kNoneOf = " is not one of ";
  const std::size_t list = text.find(kNoneOf);
  for (std::size_t at = text.find(',', list); list != text.npos && at != text.npos;
       at = text.find(',', at + 1)) {
    text.insert(at + 1, 1, ' ');
  }
  return text;
}

// Says what is wrong with the command line, and where to read on.
std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  std::string words;
  const CLI::App* const command = chosen_command(app, words);
  std::vector<std::string> rest = app->remaining(true);
  std::erase(rest, "--");
  const bool needs_command = command->get_require_subcommand_min() > 0;
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  // An option that is not known comes before an argument that is missing: it may be the cause.
  const bool is_unexpected =
      !rest.empty() &&
      (code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError ||
       (code == CLI::ExitCodes::ValidationError && rest.front().starts_with('-')));
  if (needs_command && !is_unexpected) {
    return app->help() + '\n' + words + ": say which command\n";
  }
  return words + ": " +
         model::printable(is_unexpected ? unexpected(*command, rest.front())
                                        : reworded(error.what())) +
         "\nTry `" + words + " --help`.\n";
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

std::string trouble_with_whole(std::string& text) {
  if (text.find('-') != text.npos) {
    return text + " is below 0";
  }
  constexpr std::size_t kMostDigits = 18;
  return text.find_first_not_of("0123456789") != text.npos ? text + " is no whole number"
         : text.size() > kMostDigits                       ? text + " is too large"
                                                           : "";
}

std::string trouble_with_size(std::string& text) {
  static const std::regex size(R"(\s*[0-9.]+(e[0-9]+)?\s*[kmgtpe]?i?b?\s*)", std::regex::icase);
  return text.find('-') != text.npos     ? text + " is below 0"
         : !std::regex_match(text, size) ? text + " is no size, like 65536 or 64mb"
                                         : "";
}

std::string trouble_with_number(std::string& text) {
  double number = 0;
  return !CLI::detail::lexical_cast(text, number) || std::isnan(number) ? text + " is no number"
                                                                        : "";
}

// A variable of a shell that is not set makes an empty value, which the library would take for 0.
std::string trouble_with_empty(std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

// The library takes "-5" for a count of 2^64 - 5, and "nan" passes any range. These checks come
// before those of the options (transform() puts them there). A flag has no value.
void refuse_odd_values(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    option->disable_flag_override();
    const std::string kind = kind_of(*option);
    if (kind == "COUNT" || kind == "ROWS" || kind == "RANKS" || kind == "RANK" || kind == "PID") {
      option->transform(CLI::Validator(trouble_with_whole, ""));
    } else if (kind == "SIZE") {
      option->transform(CLI::Validator(trouble_with_size, ""));
    } else if (kind == "SECONDS" || kind == "PERCENT") {
      option->transform(CLI::Validator(trouble_with_number, ""));
    }
    if (option->nonpositional() && !kind.empty() && kind != "PREFIX") {
      option->transform(CLI::Validator(trouble_with_empty, ""));
    }
  }
  for (CLI::App* const command : app.get_subcommands({})) {
    refuse_odd_values(*command);
  }
}

void parse_words(const std::string& command, const std::vector<std::string>& words, CLI::App& app) {
  refuse_odd_values(app);
  std::vector<std::string> line(words.rbegin(), words.rend());  // as the library takes them
  line.push_back(command);
  app.parse(std::move(line));
}

// Puts the commands that have no group yet into this one.
void name_group(CLI::App& app, const char* group) {
  for (CLI::App* const command : app.get_subcommands({})) {
    if (command->get_group() == "Subcommands") {
      command->group(group);
    }
  }
}

}  // namespace

void check_together(const CLI::App& command) {
  const CLI::Option* const table = command.get_option_no_throw("--table");
  if (table != nullptr && table->count() > 0 &&
      command.get_option("--format")->as<std::string>() != "csv") {
    throw CLI::ValidationError("--table", "it goes with --format csv, which has one table");
  }
  const auto seconds = [&command](const char* name) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    double value = 0;
    return option != nullptr && option->count() > 0 &&
                   CLI::detail::lexical_cast(option->results().back(), value)
               ? std::optional(value)
               : std::nullopt;
  };
  const auto from_s = seconds("--from");
  const auto to_s = seconds("--to");
  if (from_s && to_s && *from_s > *to_s) {
    throw CLI::ValidationError("--from", "it is later than --to: exchange them");
  }
}

std::string trouble_with(const std::string& command, const std::vector<std::string>& words,
                         void (*add)(CLI::App& app, Chosen& chosen)) {
  CLI::App app("", "ringside");
  Chosen chosen;
  add(app, chosen);
  try {
    parse_words(command, words, app);
  } catch (const CLI::CallForHelp&) {
    return "--help runs nothing";
  } catch (const CLI::ParseError& error) {
    std::string text = usage_error(&app, error);
    text.erase(0, text.find(": ") + 2);
    text.pop_back();
    return text;
  }
  return "";
}

ExitStatus run_words(const std::string& command, const std::vector<std::string>& words,
                     void (*add)(CLI::App& app, Chosen& chosen)) {
  CLI::App app("", "ringside");
  Chosen chosen;
  add(app, chosen);
  parse_words(command, words, app);
  return chosen();
}

ExitStatus run(int argc, char** argv) {
  CLI::App app(
      "Profiles the NCCL operations of a job, and puts the traces of all its ranks together",
      "ringside");
  Chosen chosen;
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", "ringside " RINGSIDE_VERSION, "Print the version and exit");
  // Hidden: `ringside mcp` has its tools read nothing else.
  app.add_option_function<std::vector<std::string>>("--within", load::read_only_within)
      ->allow_extra_args(false)
      ->group("");
  app.require_subcommand(1);
  add_demo(app, chosen);
  add_run(app, chosen, take_command(argc, argv));
  add_env(app, chosen);
  add_doctor(app, chosen);
  name_group(app, "Run a job");
  add_ctl(app, chosen);
  add_top(app, chosen);
  add_watch(app, chosen);
  add_ras(app, chosen);
  add_exporter(app, chosen);
  name_group(app, "While it runs");
  add_summary(app, chosen);
  add_match(app, chosen);
  add_calls(app, chosen);
  add_communicators(app, chosen);
  add_hang(app, chosen);
  add_fr(app, chosen);
  add_stragglers(app, chosen);
  add_what_if(app, chosen);
  add_network(app, chosen);
  add_overlap(app, chosen);
  add_critical_path(app, chosen);
  add_iterations(app, chosen);
  add_dependencies(app, chosen);
  add_compare(app, chosen);
  add_topology(app, chosen);
  add_query(app, chosen);
  add_mcp(app, chosen);
  name_group(app, "Analyse traces");
  add_report(app, chosen);
  add_merge(app, chosen);
  add_export(app, chosen);
  add_reduce(app, chosen);
  add_recover(app, chosen);
  add_lint(app, chosen);
  name_group(app, "Write and check files");
  app.footer(
      "Examples:\n"
      "  ringside demo late\tall of this on a simulated job, in seconds and without a GPU\n"
      "  ringside run --dir traces -- torchrun --nproc-per-node 8 train.py\trecord a job\n"
      "  ringside summary traces/\thow it went\n"
      "  ringside report traces/\ta page for a browser: report.html\n"
      "  ringside hang traces/\twhat is stuck, and who has not come\n\n"
      "`ringside help COMMAND` has the options, examples and exit statuses of a command.\n");
  app.failure_message(usage_error);
  refuse_odd_values(app);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    if (!words.empty() && words.front() == "help") {
      words.clear();
    }
    words.emplace_back("--help");
  }
  // The library would only say that a command is required.
  if (const std::vector<std::string> commands = names_in(app, false);
      !words.empty() && !words.front().starts_with('-') &&
      std::find(commands.begin(), commands.end(), words.front()) == commands.end()) {
    tell("ringside: " + unexpected(app, words.front()));
    tell("Try `ringside --help`.");
    return kExitUsage;
  }
  // The library would take the next word for the value.
  if (const auto empty = std::find_if(words.begin(), words.end(),
                                      [](const std::string& word) {
                                        return word.starts_with("--") && word.ends_with('=') &&
                                               word.find('=') + 1 == word.size();
                                      });
      empty != std::find(words.begin(), words.end(), "--") && empty != words.end()) {
    tell("ringside " + words.front() + ": " + empty->substr(0, empty->size() - 1) +
         ": the value is empty");
    tell("Try `ringside " + words.front() + " --help`.");
    return kExitUsage;
  }
  try {
    std::reverse(words.begin(), words.end());  // as the library takes them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    std::cout.flush();
    return !std::cout ? kExitInternal : status == 0 ? kExitOk : kExitUsage;
  }
  return chosen();
}

}  // namespace ringside::cli
