// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/cli/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/hang_answer.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/numbers.h"
#include "launch/text.h"
#include "live/finding_outlet.h"
#include "live/moment.h"
#include "live/request.h"
#include "live/watch_report.h"
#include "live/watcher.h"

namespace ringside::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct WatchOptions : LiveOptions {
  live::Watcher::Options limits;
  double interval_s = 2;
  double for_s = 0;
  double wait_s = 0;
  bool ends_at_finding = false;
  bool has_no_dumps = false;
  std::string command;
};

constexpr unsigned kLooksAtNobody = 3;

constexpr char kWatchExample[] =
    "Looks at all processes of a job again and again, and says at once what goes wrong: an "
    "operation that is stuck, ranks that the others wait for, a process that has died, a host that "
    "does not answer. If something is stuck, each process writes a dump beside its trace, and "
    "`ringside hang` says from them who has not joined. It ends when the job has ended.\n"
    "\n"
    "Examples:\n"
    "  ringside watch --job llama\ta line for each finding\n"
    "  ringside watch --slurm 4711 --format json >> watch.jsonl\ton all hosts of a job, for a "
    "program\n"
    "  ringside watch --slurm 4711 --command 'curl -d @- https://example.org/hook'\teach finding "
    "as JSON to a webhook\n"
    "  ringside watch --until-finding --for 3600\tstatus 1 as soon as something is wrong\n";

std::vector<live::FindingTaker> takers_of(const WatchOptions& options) {
  std::vector<live::FindingTaker> takers;
  if (!options.command.empty()) {
    live::FindingTaker& taker = takers.emplace_back();
    taker.name = "--command";
    taker.command.command = options.command;
  }
  return takers;
}

class Watch {
 public:
  Watch(const WatchOptions& options, live::Choice choice)
      : options_(options),
        choice_(std::move(choice)),
        watcher_(options.limits),
        outlet_(takers_of(options),
                [](const std::string& text) { print_launch_notes("watch", {text}); }) {
    choice_.may_be_of_several_jobs = true;
    if (choice_.hosts) {
      choice_.hosts->slow = std::make_shared<live::SlowHosts>();
    }
  }

  /// `begin`: since when a job is waited for.
  ExitStatus run(Clock::time_point begin) {
    constexpr std::chrono::seconds kForTheLast(30);
    const ExitStatus status = watch(begin);
    outlet_.finish(kForTheLast);
    return status;
  }

 private:
  ExitStatus watch(Clock::time_point begin) {
    for (;;) {
      const Clock::time_point now = Clock::now();
      live::Chosen chosen = live::choose(choice_, options_.timeout(), "live");
      // If hosts fail, whether there is anybody left is not known: it goes on.
      const bool is_anybody = chosen.how == live::Chosen::How::kFound;
      const auto answering = static_cast<std::uint64_t>(
          std::count_if(chosen.replies.begin(), chosen.replies.end(),
                        [](const live::Reply& one) { return one.status.has_value(); }));
      const double since_s = std::chrono::duration<double>(now - begin).count();
      if (!has_seen_ && answering == 0 && since_s >= options_.wait_s) {
        print_launch_notes("watch", chosen.notes);
        print_failures(chosen.replies, "watch");
        return kExitNoInput;
      }
      looks_at_nobody_ = is_anybody ? 0 : looks_at_nobody_ + 1;
      if (!is_anybody && has_seen_) {
        look(chosen, {}, now);  // who has died
        // One that is being killed still holds its lock for a moment.
        if (looks_at_nobody_ >= kLooksAtNobody) {
          return has_found_ ? kExitFindings : kExitOk;
        }
      }
      if (answering > 0 && !has_seen_) {
        has_seen_ = true;
        print_launch_notes("watch",
                           {"watches " + report::counted(answering, "process", "processes")});
      }
      if (is_anybody) {
        const live::LiveProcesses processes = live::live_processes(std::move(chosen.replies));
        if (!look(chosen, processes, now)) {
          return kExitInternal;
        }
      }
      const bool is_over = options_.for_s > 0 && since_s >= options_.for_s;
      if (is_over || (has_found_ && options_.ends_at_finding)) {
        return has_found_ ? kExitFindings : kExitOk;
      }
      std::this_thread::sleep_until(now + std::chrono::duration<double>(options_.interval_s));
    }
  }

  // False if the output cannot be written.
  bool look(const live::Chosen& chosen, const live::LiveProcesses& processes,
            Clock::time_point now) {
    for (live::WatchFinding& finding : watcher_.look(chosen, processes, now)) {
      live::Verdict verdict;
      if (finding.kind == live::WatchFinding::Kind::kStuck && !finding.ends &&
          !options_.has_no_dumps) {
        verdict = verdict_of_dumps(finding, processes);
      }
      has_found_ = has_found_ || !finding.ends;
      const std::string line = live::finding_as_json(finding, verdict, now_realtime_ns());
      if (!print(options_.format == "json"
                     ? line
                     : live::finding_as_text(finding, verdict, now_realtime_ns())) ||
          std::fflush(stdout) != 0) {
        return false;
      }
      outlet_.add(line);
    }
    return true;
  }

  // Has the job's processes write dumps, and asks `hang` of those that can be read here.
  live::Verdict verdict_of_dumps(const live::WatchFinding& finding,
                                 const live::LiveProcesses& processes) const {
    std::vector<live::Exchange> exchanges;
    for (const auto& [place, process] : processes) {
      const auto& status = process.reply.status;
      if (status && status->job == finding.job && status->directory == finding.directory) {
        live::Exchange& exchange = exchanges.emplace_back();
        exchange.endpoint = process.reply.endpoint;
        exchange.request = live::Request("dump").line();
      }
    }
    live::ask_chosen(choice_, exchanges, options_.timeout());
    live::Verdict verdict;
    AnalysisOptions options;
    options.format = "json";
    for (const live::Exchange& exchange : exchanges) {
      const live::Reply reply = live::read_reply(exchange);
      const std::string path = reply.status ? reply.status->dump_path : "";
      std::error_code error;
      verdict.missing += path.empty() ? 1 : 0;
      if (!path.empty()) {
        verdict.dumps.push_back(path);
        if (std::filesystem::exists(path, error)) {
          options.inputs.push_back(path);
        }
      }
    }
    Analysis analysis;
    if (options.inputs.empty() || !load_traces(options, analysis)) {
      return verdict;
    }
    const double min_age_s = options_.limits.hang_s / 2;
    if (const auto answer = answer_hang(options, min_age_s, analysis)) {
      verdict.sentences = answer->document.sentences;
    }
    return verdict;
  }

  const WatchOptions& options_;
  live::Choice choice_;
  live::Watcher watcher_;
  live::FindingOutlet outlet_;
  bool has_seen_ = false;
  bool has_found_ = false;
  unsigned looks_at_nobody_ = 0;  // one after the other
};

ExitStatus run_watch(const WatchOptions& options) {
  // A job that is in the queue has no hosts yet.
  const bool may_come = !options.hosts.slurm.empty() || !options.hosts.kubectl.empty();
  const Clock::time_point begin = Clock::now();
  const auto until = begin + std::chrono::duration<double>(options.wait_s);
  std::string error;
  auto choice = find_choice(options, error);
  while (!choice && may_come && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
    choice = find_choice(options, error);
  }
  if (!choice) {
    print_launch_notes("watch", {error});
    return kExitUsage;
  }
  return Watch(options, *std::move(choice)).run(begin);
}

void add_seconds(CLI::App& command, const char* name, double& value, double least,
                 const char* description) {
  constexpr double kMost_s = 2592000;
  command.add_option(name, value, description)
      ->type_name("SECONDS")
      ->check(CLI::Range(least, kMost_s))
      ->capture_default_str();
}

}  // namespace

void add_watch(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* const command =
      app.add_subcommand("watch", "Watch a job that runs, and say at once what goes wrong");
  add_seconds(*command, "--hang-seconds", options->limits.hang_s, 1,
              "An operation that is in flight for so long is stuck");
  command
      ->add_option("--late-percent", options->limits.late_percent,
                   "Of all ranks' time, that the others must wait for late ranks")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.1, 100.0))
      ->capture_default_str();
  add_seconds(*command, "--window", options->limits.window_s, 1,
              "Time over which lateness is measured; two windows, one after the other, must agree");
  add_seconds(*command, "--interval", options->interval_s, 0.1, "From one look to the next");
  add_seconds(*command, "--wait", options->wait_s, 0, "For the job's first process to come");
  add_seconds(*command, "--for", options->for_s, 0, "Then it ends; 0: with the job");
  command->add_flag("--until-finding", options->ends_at_finding, "End with the first finding");
  command->add_flag("--no-dumps", options->has_no_dumps, "Write no dumps if something is stuck");
  command
      ->add_option(
          "--command", options->command,
          "A shell command that gets each finding as JSON on its standard input, and 30 s; one "
          "after the other, beside the looks")
      ->type_name("COMMAND");
  add_live_options(*command, *options);
  set_command(*command, kWatchExample,
              {{0, "nothing was found"},
               {1, "something was found"},
               {2, "the command line is wrong"},
               {3, "no process was found"}},
              options, chosen, run_watch);
}

}  // namespace ringside::cli
