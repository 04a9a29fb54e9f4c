// SPDX-License-Identifier: Apache-2.0
#include "test/host/options.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

namespace ringside::host {
namespace {

constexpr char kDescription[] =
    "Loads a profiler plugin as NCCL does and makes the calls that NCCL made in a recording: the "
    "same\n"
    "calls in the same order, on as many threads, with the same values; handles and contexts are "
    "the\n"
    "plugin's own, and GPU time stamps are moved into the time of the replay. One process per "
    "file.";

constexpr char kFooter[] =
    "Calls (init, startEvent, recordEventState, stopEvent, finalize) are numbered from 1 in order "
    "of time.\n"
    "One line of JSON per process says what happened.\n"
    "\n"
    "  nccl_host --plugin build/plugin/libnccl-profiler-ringside.so "
    "test/data/transcripts/2.30.7-v6-mix-n2\n"
    "  nccl_host --plugin P --window 100:500 --window 900:1200 DIR/rank0.jsonl.gz\n"
    "\n"
    "Exit code: 0 all calls were made and the plugin kept to the rules; 1 not so; 2 wrong command "
    "line.";

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const auto first = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().string().ends_with(".jsonl.gz")) files.push_back(entry.path().string());
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end());
  }
  return files;
}

// "100:rest" -> 100 and "rest".
std::pair<std::int64_t, std::string> split(const std::string& text) {
  const auto colon = text.find(':');
  std::size_t used = 0;
  std::int64_t number = -1;
  try {
    number = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = std::string::npos;
  }
  if (colon == std::string::npos || used != colon || number < 0) {
    throw CLI::ValidationError(text, "must be a number of calls, a colon and a value");
  }
  return {number, text.substr(colon + 1)};
}

void add_window(std::vector<Action>& actions, const std::string& text) {
  const auto [first, rest] = split(text);
  actions.push_back({Action::What::kStart, first, ""});
  if (!rest.empty()) actions.push_back({Action::What::kStop, split(rest + ":").first, ""});
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::vector<std::string> paths;
  std::vector<std::string> windows;
  std::vector<std::string> dumps;
  std::vector<std::string> marks;
  std::vector<std::string> ranges;
  std::vector<std::string> sleeps;
  std::vector<std::string> starts;
  std::vector<std::string> masks;
  std::vector<std::int64_t> forks;
  CLI::App app(kDescription);
  app.footer(kFooter);
  app.add_option("RECORDING", paths, "files, or directories of files named *.jsonl.gz")
      ->required()
      ->check(CLI::ExistingPath);
  app.add_option("--plugin", options.plugin, "the plugin's file")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option(
         "--abi", options.abi,
         "interface version to use; else the newest that the plugin has. Another one than the\n"
         "recording's is fed as NCCL's adapters do: with what it has fields for")
      ->check(CLI::Range(1, 7));
  app.add_flag("--timing", options.timing,
               "keep the recorded intervals (else as fast as possible)");
  app.add_option("--speed", options.speed, "with that many times the recorded speed; sets --timing")
      ->check(CLI::PositiveNumber);
  app.add_option("--repeat", options.repeat,
                 "play the recording so often in one process; calls are numbered on")
      ->check(CLI::PositiveNumber);
  app.add_option("--until", options.until,
                 "play it again and again in one process, until there is a file of this name");
  app.add_option("--pause", options.pause_s, "do nothing for so many seconds after each time")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--honour-mask", options.honour_mask,
               "start only events that the plugin's mask asks for, as NCCL reads it where a call\n"
               "begins (else all that were recorded)");
  app.add_option("--mask-at", masks,
                 "N:MASK somebody else writes NCCL's mask after N calls; MASK `back`: as it was")
      ->allow_extra_args(false);
  app.add_option("--mask-process", options.mask_process,
                 "of this process alone, by its place among the recordings from 0 on");
  app.add_flag(
      "--foreign", options.foreign,
      "make every third proxy operation another process's, as with PXN: its pid, context and\n"
      "parent are not ours, nor is the context of its steps");
  app.add_option("--window", windows,
                 "START:STOP or START: ringside_start and ringside_stop after so many calls")
      ->allow_extra_args(false);
  app.add_option("--start-at", starts, "N:EVENTS ringside_start with these events after N calls")
      ->allow_extra_args(false);
  app.add_option("--dump-at", dumps, "N:PATH ringside_dump after N calls; empty path: NULL")
      ->allow_extra_args(false);
  app.add_option("--mark-at", marks, "N:TEXT ringside_mark after N calls")->allow_extra_args(false);
  app.add_option("--range-at", ranges,
                 "FROM:TO:TEXT ringside_push after FROM calls, ringside_pop after TO calls")
      ->allow_extra_args(false);
  app.add_option("--fork-at", forks,
                 "N fork after N calls; the child tries the C API and exits normally")
      ->allow_extra_args(false);
  app.add_option("--sleep-at", sleeps, "N:SECONDS do nothing for so long after N calls")
      ->allow_extra_args(false);
  app.add_option("--death", options.death, "How --kill-after ends: kill, abort, segfault, _exit")
      ->check(CLI::IsMember({"kill", "abort", "segfault", "_exit"}));
  app.add_option("--kill-after", options.kill_after, "Die after N calls, by SIGKILL or as --death")
      ->check(CLI::PositiveNumber);
  app.add_flag("--exit-without-finalize", options.no_finalize,
               "do not finalize communicators and do not unload the plugin");
  app.add_flag("--status", options.status, "print ringside_status at the end, before exit");
  try {
    app.parse(argc, argv);
    options.recordings = files_of(paths);
    for (const auto& window : windows) add_window(options.actions, window);
    for (const auto& start : starts) {
      const auto [after, events] = split(start);
      options.actions.push_back({Action::What::kStart, after, events});
    }
    for (const auto& mask : masks) {
      const auto [after, value] = split(mask);
      options.actions.push_back({Action::What::kMask, after, value});
    }
    for (const auto& dump : dumps) {
      const auto [after, path] = split(dump);
      options.actions.push_back({Action::What::kDump, after, path});
    }
    for (const auto& mark : marks) {
      const auto [after, text] = split(mark);
      options.actions.push_back({Action::What::kMark, after, text});
    }
    for (const auto& range : ranges) {
      const auto [from, rest] = split(range);
      const auto [to, text] = split(rest);
      options.actions.push_back({Action::What::kPush, from, text});
      options.actions.push_back({Action::What::kPop, to, ""});
    }
    for (const auto& sleep : sleeps) {
      const auto [after, text] = split(sleep);
      options.actions.push_back({Action::What::kSleep, after, text});
    }
    for (const auto after : forks) options.actions.push_back({Action::What::kFork, after, ""});
    if (options.recordings.empty()) throw CLI::ValidationError("RECORDING", "no *.jsonl.gz there");
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  options.timing = options.timing || app.count("--speed") > 0;
  std::stable_sort(options.actions.begin(), options.actions.end(),
                   [](const Action& a, const Action& b) { return a.after_calls < b.after_calls; });
  return options;
}

}  // namespace ringside::host
