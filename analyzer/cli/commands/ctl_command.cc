// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/live.h"
#include "analyzer/cli/live/start_up.h"
#include "analyzer/cli/output.h"
#include "launch/files.h"
#include "live/ctl_report.h"
#include "live/hosts/relay.h"
#include "live/hosts/running_command.h"
#include "live/request.h"
#include "live/watch/moment.h"

namespace ringside::cli {
namespace {

struct RelayOptions {};

struct CtlOptions : LiveOptions {
  std::string verb;
  std::string events;
  std::string at;
  std::uint64_t operations = 0;
  double seconds = 0;
  std::string output;
  std::string text;
};

constexpr std::size_t kMostMarkBytes = 1000;  // of ringside_mark; it cuts what is longer

constexpr char kCtlExample[] =
    "This command asks processes that run, on this host or on those that are named (--hosts, "
    "--slurm, --kubectl), through their control sockets. Without --pid, --dir, --job or --all they "
    "must belong to one job, except for `status`. All are asked at once.\n\n"
    "Examples:\n"
    "  ringside ctl status\twhat each process does\n"
    "  ringside ctl start --seconds 10\ta window of ten seconds\n"
    "  ringside ctl start --slurm 4711 --at +5 --operations 1000\tthe same on all hosts of a job\n"
    "  ringside ctl stop --dir /shared/run-17\tof one job\n"
    "  ringside ctl dump --output /tmp/dumps/\ta file of each process in a directory\n"
    "  ringside ctl mark \"learning rate halved\"\ta text at this moment, in each trace\n";

constexpr std::initializer_list<StatusMeaning> kRelayExitStatuses = {
    {0, "it has answered"}, {2, "standard input is not from another ringside"}};

// `output` is a file for one process; if it is a directory, each process gets a new file in it.
std::string dump_path(const std::string& output, const live::Endpoint& endpoint,
                      std::int64_t now_ns) {
  constexpr std::int64_t kMilli_ns = 1'000'000;
  std::error_code error;
  return std::filesystem::is_directory(output, error)
             ? output + "/" + endpoint.stem + ".dump." + std::to_string(now_ns / kMilli_ns) +
                   ".json"
             : output;
}

ExitStatus run_ctl(const CtlOptions& options) {
  const std::string command = "ctl " + options.verb;
  const std::int64_t now_ns = now_realtime_ns();
  std::optional<std::int64_t> at_ns;
  if (!options.at.empty()) {
    std::string error;
    at_ns = live::parse_moment(options.at, now_ns, error);
    if (!at_ns) {
      print_launch_notes(command.c_str(), {"--at: " + options.at + " " + error});
      return kExitUsage;
    }
  }
  if (options.verb == "mark" && options.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    print_launch_notes(command.c_str(), {"the text is empty: give one that says what happened"});
    return kExitUsage;
  }
  if (options.text.size() > kMostMarkBytes) {
    print_launch_notes(command.c_str(), {"the text has " + std::to_string(options.text.size()) +
                                         " bytes, and a mark holds " +
                                         std::to_string(kMostMarkBytes) + ": give a shorter one"});
    return kExitUsage;
  }
  ExitStatus status = kExitOk;
  LiveOptions asked = options;
  asked.choice.may_be_of_several_jobs = options.verb == "status";
  const auto choice = completed_choice(asked, command.c_str());
  if (!choice) {
    return kExitUsage;
  }
  std::vector<live::Reply> replies = choose_processes(*choice, asked, command.c_str(), status);
  // Hosts are asked once more only if they have answered for nobody.
  if (!choice->hosts || status == kExitNoInput) {
    say_start_up(*choice, replies, command.c_str());
  }
  if (status != kExitOk) {
    return status;
  }
  std::string output;
  if (!options.output.empty()) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(options.output, error);
    const bool is_of_many = replies.size() > 1 || !path.has_filename();
    output = (path.has_filename() ? path : path.parent_path()).lexically_normal().string();
    const bool is_there = std::filesystem::exists(output, error);
    if (const std::string wrong = is_of_many && !is_there ? launch::make_directory(output) : "";
        !wrong.empty()) {
      print_launch_notes(command.c_str(), {wrong});
      return kExitInternal;
    }
    if (is_of_many && !std::filesystem::is_directory(output, error)) {
      print_launch_notes(command.c_str(), {options.output + " is no directory, and there are " +
                                           std::to_string(replies.size()) + " processes"});
      return kExitUsage;
    }
  }
  if (options.verb != "status") {
    std::vector<live::Exchange> exchanges;
    std::vector<std::size_t> of;  // which reply
    for (std::size_t i = 0; i < replies.size(); ++i) {
      if (replies[i].error.empty()) {
        live::Request request(options.verb);
        request.text("events", options.events).integer("operations", options.operations);
        request.integer("at_realtime_ns", static_cast<std::uint64_t>(at_ns.value_or(0)));
        request.seconds("seconds", options.seconds).text("text", options.text);
        request.text("path",
                     output.empty() ? output : dump_path(output, replies[i].endpoint, now_ns));
        live::Exchange& exchange = exchanges.emplace_back();
        exchange.endpoint = replies[i].endpoint;
        exchange.request = request.line();
        of.push_back(i);
      }
    }
    live::ask_chosen(*choice, exchanges, options.timeout());
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      live::Reply reply = live::read_reply(exchanges[i]);
      if (!reply.status) {
        reply.status = std::move(replies[of[i]].status);
      }
      replies[of[i]] = std::move(reply);
    }
  }
  print_failures(replies, command.c_str());
  const bool with_dumps = options.verb == "dump";
  if (!print(options.format == "json" ? live::replies_as_json(options.verb, replies)
                                      : live::replies_as_table(replies, with_dumps))) {
    return kExitInternal;
  }
  return live::count_failed(replies) == 0 ? kExitOk : kExitFindings;
}

CLI::App* add_verb(CLI::App& ctl, Chosen& chosen, const std::string& verb,
                   const std::string& description, const std::string& examples,
                   const std::shared_ptr<CtlOptions>& options) {
  options->verb = verb;
  CLI::App* const command = ctl.add_subcommand(verb, description);
  set_command(*command, "Examples:\n" + examples, kLiveExitStatuses, options, chosen, run_ctl);
  return command;
}

void add_at(CLI::App& command, CtlOptions& options) {
  command
      .add_option("--at", options.at,
                  "When: +SECONDS, HH:MM:SS (Z behind it: UTC), or 2026-10-02T12:34:56Z")
      ->type_name("MOMENT");
}

// Reads a request of another host's ringside, and answers for the processes of this one.
ExitStatus run_relay(const RelayOptions&) {
  constexpr std::size_t kMost_bytes = std::size_t{16} << 20;
  std::string input;
  std::array<char, 65536> part;
  ssize_t got = 0;
  while (input.size() < kMost_bytes && input.find('\n') == std::string::npos &&
         (got = read(STDIN_FILENO, part.data(), part.size())) > 0) {
    input.append(part.data(), static_cast<std::size_t>(got));
  }
  live::end_commands_with_this_process();  // the tools that take stacks
  live::Choice choice;
  complete_choice(choice);
  const std::string answer = live::relay(input, choice.parents());
  if (answer.empty()) {
    print_launch_notes("ctl relay",
                       {"is for ringside itself: `ringside ctl status --hosts FILE --ssh` and "
                        "others start it on each host, and send it what to ask"});
    return kExitUsage;
  }
  return print(answer) ? kExitOk : kExitInternal;
}

}  // namespace

void add_ctl(CLI::App& app, Chosen& chosen) {
  CLI::App* const ctl =
      app.add_subcommand("ctl", "Ask processes that run: status, start, stop, dump, mark");
  ctl->require_subcommand(1);
  ctl->footer(kCtlExample + exit_statuses(kLiveExitStatuses));

  auto options = std::make_shared<CtlOptions>();
  CLI::App* command = add_verb(*ctl, chosen, "status", "Show the state of each process",
                               "  ringside ctl status\tof all jobs here\n"
                               "  ringside ctl status --job llama --format json\tfor a script\n",
                               options);
  add_live_options(*command, *options);

  options = std::make_shared<CtlOptions>();
  command =
      add_verb(*ctl, chosen, "start", "Begin to record; replaces a start that was ordered before",
               "  ringside ctl start --seconds 10\ta window of ten seconds\n"
               "  ringside ctl start --at 12:30:00Z --operations 1000\tthe same on every host\n",
               options);
  command
      ->add_option(
          "--events", options->events,
          "Events to record, as RINGSIDE_EVENTS takes them; else those that are configured")
      ->type_name("EVENTS");
  add_at(*command, *options);
  command
      ->add_option("--operations", options->operations,
                   "Stop when this many operations have begun, in each process")
      ->type_name("COUNT")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 53));
  constexpr double kLeast_s = 0.001;
  constexpr double kMost_s = 2592000;
  command->add_option("--seconds", options->seconds, "Stop after so long")
      ->type_name("SECONDS")
      ->check(CLI::Range(kLeast_s, kMost_s));
  add_live_options(*command, *options);

  options = std::make_shared<CtlOptions>();
  command = add_verb(*ctl, chosen, "stop", "End the window; what has begun is recorded to its end",
                     "  ringside ctl stop\tat once\n"
                     "  ringside ctl stop --dir /shared/run-17 --at +60\tin a minute\n",
                     options);
  add_at(*command, *options);
  add_live_options(*command, *options);

  options = std::make_shared<CtlOptions>();
  command = add_verb(*ctl, chosen, "dump", "Write a trace of everything up to now",
                     "  ringside ctl dump\tnext to the traces\n"
                     "  ringside ctl dump --output /tmp/dumps/\ta file of each process there\n",
                     options);
  command
      ->add_option(
          "--output", options->output,
          "A new file; for several processes, or with / at its end, a directory for one of "
          "each, made if it is not there (default: next to the traces)")
      ->type_name("PATH");
  add_live_options(*command, *options);

  options = std::make_shared<CtlOptions>();
  command =
      add_verb(*ctl, chosen, "mark", "Put a text into the traces, at this moment",
               "  ringside ctl mark \"learning rate halved\"\n"
               "  ringside ctl mark --job llama evaluation\tonly in the traces of one job\n"
               "  ringside ctl mark -- \"--lr 0.1 from here on\"\ta text that begins with a dash\n",
               options);
  command
      ->add_option("TEXT", options->text,
                   "The text, of at most 1,000 bytes; -- comes before one that begins with a dash")
      ->required();
  add_live_options(*command, *options);

  command = ctl->add_subcommand("relay", "Answer another host's ringside, which starts this");
  set_command(
      *command,
      "`ringside ctl` and `ringside top` start it on each host that they ask (--hosts, --slurm, "
      "--kubectl). It reads one line from standard input, asks the processes of this host, and "
      "writes one line.\n\n"
      "Examples:\n"
      "  ssh node1 ringside ctl relay < request\tas --ssh starts it\n"
      "  kubectl exec --stdin pod -- ringside ctl relay < request\tas --kubectl starts it\n",
      kRelayExitStatuses, std::make_shared<RelayOptions>(), chosen, run_relay);
}

}  // namespace ringside::cli
