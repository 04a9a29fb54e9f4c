// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/hang_answer.h"
#include "analyzer/cli/live/live.h"
#include "analyzer/cli/live/live_dumps.h"
#include "analyzer/cli/live/live_evidence.h"
#include "analyzer/cli/live/start_up.h"
#include "analyzer/cli/live/watch_takers.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/document/numbers.h"
#include "launch/files.h"
#include "live/hosts/running_command.h"
#include "live/metrics/finding_outlet.h"
#include "live/watch/moment.h"
#include "live/watch/watch_report.h"
#include "live/watch/watcher.h"

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
  bool has_no_evidence = false;
  bool has_last_look = false;  // after SIGTERM
  TakerOptions taking;
  std::string output;  // also gets each finding as JSON
};

constexpr unsigned kLooksAtNobody = 3;
constexpr std::chrono::milliseconds kPart(50);          // of a wait
constexpr std::chrono::milliseconds kForDumps(30'000);  // what is stuck has been told by then

volatile std::sig_atomic_t g_is_ending = 0;

void note_end(int) {
  g_is_ending = 1;
}

constexpr char kWatchExample[] =
    "This command looks at all processes of a job again and again, and says at once what goes "
    "wrong: an operation that is stuck, ranks that the others wait for, a process that has died, a "
    "host that does not answer. If something is stuck, each process then writes a dump next to its "
    "trace, and what `ringside hang` says of these, who has not joined, follows. It ends when the "
    "job has ended.\n\n"
    "Examples:\n"
    "  ringside watch --job llama\ta line for each finding\n"
    "  ringside watch --slurm 4711 --format json >> watch.jsonl\ton all hosts of a job, for a "
    "program\n"
    "  ringside watch --slurm 4711 --webhook https://example.org/hook\teach finding as JSON to a "
    "webhook\n"
    "  ringside watch --command 'mail -s ringside me@example.org'\teach finding to a command\n"
    "  ringside watch --until-finding --for 3600\tstatus 1 as soon as something is wrong\n";

// A file to which each finding is appended. It is made with the first one.
class FindingFile {
 public:
  explicit FindingFile(std::string path) : path_(std::move(path)) {}

  void add(const std::string& line) {
    if (path_.empty()) {
      return;
    }
    constexpr mode_t kPrivate = 0600;
    const int file =
        open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivate);
    if (file < 0 || !launch::write_whole(file, line)) {
      print_launch_notes("watch", {"--output " + path_ + ": " + std::strerror(errno)});
    }
    if (file >= 0) {
      close(file);
    }
  }

 private:
  std::string path_;
};

class Watch {
 public:
  Watch(const WatchOptions& options, live::Choice choice, std::vector<live::FindingTaker> takers)
      : options_(options),
        choice_(std::move(choice)),
        watcher_(options.limits),
        file_(options.output),
        outlet_(std::move(takers),
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
    finish_sampling();
    outlet_.finish(kForTheLast);
    return status;
  }

 private:
  struct Sampling {
    live::WatchFinding finding;
    std::stop_source stop;
    std::future<std::vector<live::WatchEvidence>> stacks;
  };

  ExitStatus watch(Clock::time_point begin) {
    for (;;) {
      const Clock::time_point now = Clock::now();
      const bool is_ending = g_is_ending != 0;
      live::Chosen chosen = live::choose(choice_, options_.timeout(), "live");
      // If hosts fail, whether there is anybody left is not known: it goes on.
      const bool is_anybody = chosen.how == live::Chosen::How::kFound;
      const auto answering = static_cast<std::uint64_t>(
          std::count_if(chosen.replies.begin(), chosen.replies.end(),
                        [](const live::Reply& one) { return one.status.has_value(); }));
      const double since_s = std::chrono::duration<double>(now - begin).count();
      if (!has_seen_ && answering == 0 && is_ending) {
        return has_found_ ? kExitFindings : kExitOk;
      }
      look_at_start_up(answering, now);
      if (!has_seen_ && answering == 0 && starting_.empty() && since_s >= options_.wait_s) {
        print_launch_notes("watch", chosen.notes);
        print_failures(chosen.replies, "watch");
        return has_found_ ? kExitFindings : kExitNoInput;
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
      const bool is_over = is_ending || (options_.for_s > 0 && since_s >= options_.for_s);
      if (is_over || (has_found_ && options_.ends_at_finding)) {
        return has_found_ ? kExitFindings : kExitOk;
      }
      wait_until(now + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(options_.interval_s)));
    }
  }

  // In parts, since a signal does not end a sleep.
  void wait_until(Clock::time_point until) {
    while (g_is_ending == 0 && Clock::now() < until) {
      say_stacks();
      if (options_.has_last_look && getppid() != parent_) {
        return note_end(0);  // `ringside run` was killed
      }
      std::this_thread::sleep_for(std::min<Clock::duration>(kPart, until - Clock::now()));
    }
  }

  // Ranks without a communicator are looked for until all have one: it costs the hosts something.
  void look_at_start_up(std::size_t answering, Clock::time_point now) {
    constexpr double kHangsWithoutAny = 6;  // imports and the first data take their time
    constexpr std::chrono::seconds kHosts(10);
    const bool has_all = starting_.empty() && first_seen_ && !start_up_;
    if (has_all || (choice_.hosts && now < next_start_up_)) {
      return;
    }
    next_start_up_ = now + kHosts;
    starting_ = starting_ranks_of(choice_);
    if (answering > 0 && !first_seen_) {
      first_seen_ = now;
    }
    if (starting_.empty() && start_up_) {
      start_up_->ends = true;
      start_up_->sentence = "No rank is in start-up any more.";
      tell(*std::exchange(start_up_, std::nullopt), {});
    }
    double longest_s = 0;
    for (const live::StartingRank& rank : starting_) {
      longest_s = std::max(longest_s, rank.since_s);
    }
    const double hang_s = options_.limits.hang_s;
    const bool is_long = first_seen_
                             ? std::chrono::duration<double>(now - *first_seen_).count() >= hang_s
                             : longest_s >= kHangsWithoutAny * hang_s;
    if (starting_.empty() || start_up_ || !is_long) {
      return;
    }
    live::WatchFinding finding;
    finding.kind = live::WatchFinding::Kind::kStartUp;
    finding.sentence = start_up_sentence(starting_, answering);
    finding.job = starting_.front().job;
    finding.directory = starting_.front().directory;
    finding.seconds = longest_s;
    has_found_ = true;
    tell(finding, {});
    start_up_ = finding;
    if (!options_.has_no_evidence) {
      start_sampling(finding, stacks_of_start_up(choice_, starting_));
    }
  }

  // False if the output cannot be written.
  bool look(const live::Chosen& chosen, const live::LiveProcesses& processes,
            Clock::time_point now) {
    for (const auto& [place, process] : processes) {
      if (process.reply.status) {
        asked_names_[process.reply.status->host] = process.reply.endpoint.host;
      }
    }
    std::vector<live::WatchFinding> stuck;
    for (live::WatchFinding& finding : watcher_.look(chosen, processes, now)) {
      const bool is_stuck = finding.kind == live::WatchFinding::Kind::kStuck && !finding.ends;
      live::Verdict verdict;
      if (!is_stuck) {
        add_evidence(finding, verdict);
      }
      has_found_ = has_found_ || !finding.ends;
      if (!tell(finding, verdict)) {
        return false;
      }
      if (is_stuck) {
        stuck.push_back(std::move(finding));
      } else if (finding.kind == live::WatchFinding::Kind::kLate && !finding.ends &&
                 !options_.has_no_evidence) {
        start_sampling(finding, stacks_of_late(choice_, finding, processes));
      }
    }
    return tell_verdicts(std::move(stuck), processes);
  }

  // Tells the verdicts of findings that were told already, since dumps of a large job take long.
  bool tell_verdicts(std::vector<live::WatchFinding> stuck, const live::LiveProcesses& processes) {
    std::map<std::pair<std::string, std::string>, live::Verdict> of_jobs;
    for (live::WatchFinding& finding : stuck) {
      live::Verdict verdict;
      if (!options_.has_no_dumps) {
        const auto [place, is_new] = of_jobs.try_emplace({finding.job, finding.directory});
        if (is_new) {
          place->second = verdict_of_dumps(finding, processes);
        }
        verdict = place->second;
      }
      add_evidence(finding, verdict);
      if (verdict.is_empty()) {
        continue;
      }
      finding.kind = live::WatchFinding::Kind::kVerdict;
      if (!verdict.sentences.empty()) {
        finding.sentence = verdict.sentences.front();
      }
      if (!tell(finding, verdict)) {
        return false;
      }
    }
    return true;
  }

  // Takes stacks while the watch goes on: they would delay other findings.
  void start_sampling(const live::WatchFinding& finding, StacksToTake stacks) {
    if (stacks.processes.empty()) {
      return;
    }
    Sampling& sampling = samplings_.emplace_back();
    sampling.finding = finding;
    sampling.finding.kind = live::WatchFinding::Kind::kVerdict;
    stacks.hosts.stop = sampling.stop.get_token();
    sampling.stacks = std::async(std::launch::async, &StacksToTake::take, std::move(stacks));
  }

  void say_stacks() {
    std::erase_if(samplings_, [&](Sampling& one) {
      const bool is_ready =
          one.stacks.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      if (is_ready) {
        live::Verdict verdict;
        verdict.evidence = one.stacks.get();
        tell(one.finding, verdict);
      }
      return is_ready;
    });
  }

  // Waits for the stacks, unless the job has gone or this process has been asked to end.
  void finish_sampling() {
    const bool has_gone = has_seen_ && looks_at_nobody_ >= kLooksAtNobody;
    while (!samplings_.empty() && g_is_ending == 0 && !has_gone) {
      say_stacks();
      std::this_thread::sleep_for(kPart);
    }
    for (Sampling& one : samplings_) {
      one.stop.request_stop();
    }
    samplings_.clear();
  }

  bool tell(const live::WatchFinding& finding, const live::Verdict& verdict) {
    const std::int64_t now_ns = now_realtime_ns();
    const std::string line = live::finding_as_json(finding, verdict, now_ns);
    const bool is_printed =
        print(options_.format == "json" ? line : live::finding_as_text(finding, verdict, now_ns)) &&
        std::fflush(stdout) == 0;
    file_.add(line);
    outlet_.add(line);
    return is_printed;
  }

  // Has the job's processes write dumps, and asks `hang` of them.
  live::Verdict verdict_of_dumps(const live::WatchFinding& finding,
                                 const live::LiveProcesses& processes) {
    std::vector<live::Endpoint> of_job;
    std::vector<live::Reply> replies;
    for (const auto& [place, process] : processes) {
      const auto& status = process.reply.status;
      if (status && status->job == finding.job && status->directory == finding.directory) {
        of_job.push_back(process.reply.endpoint);
        replies.push_back(process.reply);
      }
    }
    LiveDumps dumps;
    dumps.take(choice_, of_job, std::max(options_.timeout(), kForDumps));
    live::Verdict verdict;
    verdict.dumps = dumps.paths();
    verdict.missing = dumps.missing();
    AnalysisOptions options;
    options.format = "json";
    options.inputs = dumps.files();
    Analysis analysis;
    if (options.inputs.empty() || !load_traces(options, analysis)) {
      return verdict;
    }
    const double min_age_s = options_.limits.hang_s / 2;
    if (const auto answer = answer_hang(options, min_age_s, analysis)) {
      verdict.sentences = answer->document.sentences;
      if (!options_.has_no_evidence) {
        start_sampling(finding, stacks_to_take(choice_, replies, analysis.traces, *answer));
      }
    }
    std::vector<live::WatchEvidence> of_links = evidence_of_links(analysis.traces);
    std::move(of_links.begin(), of_links.end(), std::back_inserter(verdict.evidence));
    return verdict;
  }

  // Asks the hosts of those that hold the others up, or that have gone.
  void add_evidence(const live::WatchFinding& finding, live::Verdict& verdict) const {
    using Kind = live::WatchFinding::Kind;
    if (finding.ends || options_.has_no_evidence ||
        (finding.kind != Kind::kStuck && finding.kind != Kind::kDied)) {
      return;
    }
    std::set<std::string> hosts;
    for (const std::string& host :
         finding.idle_hosts.empty() ? finding.hosts : finding.idle_hosts) {
      const auto asked = asked_names_.find(host);
      hosts.insert(asked != asked_names_.end() ? asked->second : host);
    }
    std::vector<live::WatchEvidence> found =
        evidence_of_hosts(choice_, {hosts.begin(), hosts.end()});
    std::move(found.begin(), found.end(), std::back_inserter(verdict.evidence));
  }

  const WatchOptions& options_;
  live::Choice choice_;
  live::Watcher watcher_;
  std::map<std::string, std::string> asked_names_;  // of hosts, by their own names
  FindingFile file_;
  live::FindingOutlet outlet_;
  std::vector<Sampling> samplings_;
  std::vector<live::StartingRank> starting_;
  std::optional<live::WatchFinding> start_up_;   // that is not over
  std::optional<Clock::time_point> first_seen_;  // the first process with a communicator
  Clock::time_point next_start_up_;
  const pid_t parent_ = getppid();
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
  std::vector<live::FindingTaker> takers = takers_of(options.taking, error);
  if (!error.empty()) {
    print_launch_notes("watch", {error});
    return kExitUsage;
  }
  if (options.has_last_look) {
    struct sigaction action {};
    action.sa_handler = note_end;
    action.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &action, nullptr);
  }
  auto choice = find_choice(options, error);
  while (!choice && may_come && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
    choice = find_choice(options, error);
  }
  if (!choice) {
    print_launch_notes("watch", {error});
    return kExitUsage;
  }
  return Watch(options, *std::move(choice), std::move(takers)).run(begin);
}

}  // namespace

void add_watch(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* const command =
      app.add_subcommand("watch", "Watch a job that runs, and say at once what goes wrong");
  add_watch_limits(*command, options->limits, options->interval_s);
  add_seconds(*command, "--wait", options->wait_s, 0, "For the job's first process to come");
  add_seconds(*command, "--for", options->for_s, 0, "Then it ends; 0: with the job");
  command->add_flag("--until-finding", options->ends_at_finding, "End with the first finding");
  command->add_flag("--no-dumps", options->has_no_dumps, "Write no dumps if something is stuck");
  command->add_flag("--no-evidence", options->has_no_evidence,
                    "Ask neither the kernel nor NCCL's RAS of the hosts of a finding");
  command
      ->add_option(
          "--command", options->taking.command,
          "A shell command that gets each finding as JSON on its standard input, and 30 s; one "
          "after the other, while it goes on looking")
      ->type_name("COMMAND");
  auto* const webhook =
      command
          ->add_option("--webhook", options->taking.webhook,
                       "POST each finding as JSON to this address, by the program curl; it has "
                       "10 s")
          ->type_name("URL")
          ->check([](const std::string& url) {
            std::string error;
            takers_of({.command = {}, .webhook = url, .header_file = {}}, error);
            return error;
          });
  command
      ->add_option("--webhook-header", options->taking.header_file,
                   "A file whose first line is a header for it, such as a secret (default: "
                   "RINGSIDE_WEBHOOK_HEADER)")
      ->type_name("FILE")
      ->check([](const std::string& file) {
        std::string error;
        webhook_header(file, error);
        return error;
      })
      ->needs(webhook);
  command
      ->add_option("--output", options->output, "Also append each finding as a line of JSON there")
      ->type_name("FILE");
  command->add_flag("--last-look", options->has_last_look)->group("");  // of `ringside run`
  add_live_options(*command, *options);
  set_command(*command, kWatchExample,
              {{0, "nothing was found"},
               {1, "something was found"},
               {2, "the command line is wrong"},
               {3, "no process was found"}},
              options, chosen, run_watch);
}

}  // namespace ringside::cli
