// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/run_summary.h"
#include "analyzer/model/printable.h"
#include "analyzer/report/page/page_data.h"
#include "launch/files.h"
#include "launch/text.h"
#include "simulate/job.h"
#include "simulate/stories.h"

namespace ringside::cli {
namespace {

struct DemoOptions {
  std::string story = "late";
  std::string directory;
  std::uint64_t seed = 1;
  bool lists = false;
};

constexpr char kDemoExample[] =
    "This command simulates a job of eight ranks, and writes traces as the plugin writes them. "
    "Then everything is as after a job of your own: what `ringside run` says at its end, the page "
    "of `ringside report`, the timeline of `ringside merge`, and the commands to go on with. It "
    "needs no GPU, no NCCL and no compiler.\n\n"
    "Examples:\n"
    "  ringside demo\ta rank that comes late\n"
    "  ringside demo hang\ta job that hangs: who has not come\n"
    "  ringside demo slow-link -o /tmp/demo\tits files in a directory of your choice\n"
    "  ringside demo --list\tthe stories\n";

std::string list_of_stories() {
  std::size_t width = 0;
  for (const simulate::Story& story : simulate::kStories) {
    width = std::max(width, std::string_view(story.name).size());
  }
  std::string text;
  for (const simulate::Story& story : simulate::kStories) {
    std::string name = story.name;
    name.resize(width + 2, ' ');
    text += name + story.about + '\n';
  }
  return text;
}

std::vector<std::string> names_of_stories() {
  std::vector<std::string> names(std::size(simulate::kStories));
  std::transform(std::begin(simulate::kStories), std::end(simulate::kStories), names.begin(),
                 [](const simulate::Story& story) { return story.name; });
  return names;
}

// A new directory, or the empty one that was given; "" and what is wrong in `error`.
std::string prepare_directory(const DemoOptions& options, std::string& error) {
  if (options.directory.empty()) {
    return launch::make_new_directory(launch::absolute_path("ringside-demo-" + options.story),
                                      error);
  }
  const std::string directory = launch::absolute_path(options.directory);
  error = launch::make_directory(directory);
  std::error_code unreadable;
  if (error.empty() && !std::filesystem::is_empty(directory, unreadable)) {
    error = directory + (unreadable ? ": " + unreadable.message()
                                    : " is not empty: name a new directory, or an empty one");
  }
  return error.empty() ? directory : "";
}

// The line that lets a shell find this program, if it would not.
std::string path_line() {
  if (is_in_path("ringside")) {
    return {};
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? ""
               : "  export PATH=" + launch::shell_word(program.parent_path().string()) + ":$PATH\n";
}

std::string next_steps(const simulate::Story& story, const std::string& directory, bool has_page) {
  const std::string traces = launch::shell_word(directory + "/traces");
  std::string text = "\nWritten:\n  " + directory + "/traces\n";
  text += has_page ? "  " + directory + "/report.html, a page for any browser\n" : "";
  text += "  " + directory + "/timeline.json, for https://ui.perfetto.dev\n";
  text += "\nTo go on, paste:\n" + path_line();
  text += std::string("  ringside ") + story.command + ' ' + traces + '\n';
  text += has_page ? "  xdg-open " + launch::shell_word(directory + "/report.html") + '\n' : "";
  return text + "  ringside demo --list\n";
}

ExitStatus show_story(const simulate::Story& story, std::uint64_t seed,
                      const std::string& directory) {
  const std::string traces = directory + "/traces";
  simulate::Options job = simulate::job_of(story);
  job.seed = seed;
  job.directory = traces;
  std::vector<std::string> paths;
  try {
    std::filesystem::create_directory(traces);
    simulate::write_job(job, [&](const auto&, const auto&, const auto& files) {
      for (const simulate::TraceFile& file : files) {
        paths.push_back(traces + '/' + file.name());
      }
    });
  } catch (const std::exception& error) {
    tell(std::string("ringside demo: ") + error.what());
    return kExitInternal;
  }
  const bool has_page = report::page_html({}).has_value();
  if (has_page) {
    if (const ExitStatus status =
            run_words("report", {"--quiet", "-o", directory + "/report.html", traces}, add_report);
        status != kExitOk) {
      return status;
    }
  }
  if (const ExitStatus status =
          run_words("merge", {"--quiet", "-o", directory + "/timeline.json", traces}, add_merge);
      status != kExitOk) {
    return status;
  }
  constexpr std::size_t kRows = 20;
  const std::string summary = run_summary(paths, kRows, traces, screen_columns(), false);
  if (summary.empty()) {
    return kExitInternal;
  }
  return print(summary + model::printable_lines(next_steps(story, directory, has_page)))
             ? kExitOk
             : kExitInternal;
}

ExitStatus run_demo(const DemoOptions& options) {
  if (options.lists) {
    return print(list_of_stories()) ? kExitOk : kExitInternal;
  }
  const auto story =
      std::find_if(simulate::kStories.begin(), simulate::kStories.end(),
                   [&](const simulate::Story& one) { return one.name == options.story; });
  std::string error;
  const std::string directory = prepare_directory(options, error);
  if (directory.empty()) {
    tell("ringside demo: " + error);
    return kExitUsage;
  }
  note(std::string("Simulated, not measured: ") + story->about +
       " `ringside run` would end with this:");
  return show_story(*story, options.seed, directory);
}

}  // namespace

void add_demo(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<DemoOptions>();
  CLI::App* const command =
      app.add_subcommand("demo", "Show on a simulated job what Ringside says, without a GPU");
  auto* const story =
      command->add_option("STORY", options->story, "late, hang, mismatch, slow-link or clean");
  story->check(CLI::IsMember(names_of_stories()))->capture_default_str();
  command
      ->add_option("-o,--output", options->directory,
                   "Write into this directory, which is new or empty (default: "
                   "ringside-demo-STORY here, with a number if that exists)")
      ->type_name("DIR");
  command
      ->add_option("--seed", options->seed,
                   "Other noise in the times: jobs with two seeds are two runs of one program")
      ->type_name("COUNT")
      ->capture_default_str();
  command->add_flag("--list", options->lists, "Only name the stories, with a sentence each")
      ->excludes(story);
  add_quiet_option(*command);
  set_command(*command, kDemoExample,
              {{0, "success, whatever is wrong with the simulated job"},
               {2, "the command line is wrong, or the directory is not empty or cannot be made"}},
              options, chosen, run_demo);
}

}  // namespace ringside::cli
