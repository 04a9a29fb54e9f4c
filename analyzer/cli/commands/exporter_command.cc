// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <stop_token>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/live.h"
#include "analyzer/cli/live/otlp.h"
#include "analyzer/cli/output.h"
#include "live/metrics/exporter.h"
#include "live/metrics/finding_metrics.h"
#include "live/metrics/inspector_feed.h"
#include "live/metrics/metrics_server.h"

namespace ringside::cli {
namespace {

struct ExporterOptions {
  std::string listen = "127.0.0.1:9401";
  std::string ring_directory;
  std::string otlp, inspector;
  double timeout_s = 2;
  bool is_watching = false;
  live::Watcher::Options limits;
  double interval_s = 5;
  live::HostOptions hosts;
};

constexpr char kExporterExample[] =
    "This command serves the metrics of all processes with the plugin on this host, at one port, "
    "to Prometheus, the OpenTelemetry Collector or whatever reads their format. It asks the "
    "processes through their control sockets at each scrape; it may be started before, while and "
    "after jobs run, and delays nothing. As root it asks the processes of all users, else "
    "those of its own user. docs/live-metrics.md lists the metrics; examples/exporter has a "
    "systemd unit, a DaemonSet for Kubernetes, and configurations for Prometheus and the "
    "OpenTelemetry Collector. With --watch it also serves what `ringside watch` finds: stuck "
    "communicators, late ranks, processes that do not answer.\n"
    "\n"
    "There is no authentication: whoever reaches the address reads the metrics.\n"
    "\nExamples:\n"
    "  ringside exporter\tthen: curl http://127.0.0.1:9401/metrics\n"
    "  ringside exporter --listen 0.0.0.0:9401\tfor a Prometheus on another host\n"
    "  ringside exporter --otlp http://otel:4318\tto a collector, without a scrape\n"
    "  ringside exporter --inspector /var/log/nccl\tlines of NCCL Inspector, for its collectors\n"
    "  ringside exporter --watch --slurm 4711\tand what goes wrong on all hosts of a job\n"
    "  ringside exporter --ring-dir /run/ringside\tjobs that have "
    "RINGSIDE_RING_DIR=/run/ringside\n";

// Before any thread is made, so that each inherits it and only sigwait() sees them.
sigset_t block_end_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&ends, number);
  }
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return ends;
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

live::FindingMetrics::Options watching(const ExporterOptions& options, const live::Choice& local,
                                       std::string& error) {
  live::FindingMetrics::Options made;
  made.choice = local;
  made.limits = options.limits;
  if (options.hosts.are_given()) {
    made.choice = live::Choice();
    made.choice.hosts = live::find_hosts(options.hosts, error);
    made.choice.hosts->slow = std::make_shared<live::SlowHosts>();
    made.choice.likely_job = options.hosts.slurm;
  }
  made.choice.may_be_of_several_jobs = true;
  return made;
}

// Calls work() at each interval. It returns a trouble, or nothing; a trouble is printed when it is
// not that of the call before.
std::jthread repeat(const std::string& option, std::chrono::milliseconds interval,
                    const std::function<std::string(const std::stop_token&)>& work) {
  return std::jthread([=](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::string said;
    while (!stop.stop_requested()) {
      const std::string trouble = work(stop);
      if (!trouble.empty() && trouble != said) {
        print_launch_notes("exporter", {std::string(option).append(": ").append(trouble)});
      }
      said = trouble;
      std::unique_lock lock(mutex);
      stopped.wait_for(lock, stop, interval, [] { return false; });
    }
  });
}

std::string send_metrics(const OtlpTarget& target, live::Exporter& exporter,
                         const std::stop_token& stop) {
  std::vector<live::HostCommand> sending = {target.command};
  sending[0].input = exporter.scrape(live::MetricsForm::kOtlp, target.resource);
  live::run_all(sending, 1, target.timeout, stop);
  // One trouble is one text: curl also says how long it took.
  static const std::regex took(" after [0-9]+ m[a-z]+");
  return sending[0].error.empty() ? "" : "curl " + std::regex_replace(sending[0].error, took, "");
}

// Each process that is asked takes one, and so does each client.
void allow_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

ExitStatus run_exporter(const ExporterOptions& options) {
  const sigset_t ends = block_end_signals();
  allow_all_descriptors();
  // It was checked with the command line.
  const live::ListenAddress address =
      live::parse_listen_address(options.listen).value_or(live::ListenAddress());
  live::Choice choice;
  choice.ring_directory = options.ring_directory;
  complete_choice(choice);
  live::Exporter::Options how;
  how.parents = choice.parents();
  std::string places;
  for (const std::string& parent : how.parents) {
    struct stat about {};
    if (stat(parent.c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) {
      print_launch_notes("exporter",
                         {parent + ": there is no such directory; --ring-dir names that of the "
                                   "jobs (RINGSIDE_RING_DIR)"});
      return kExitNoInput;
    }
    places += (places.empty() ? "" : " or ") + parent;
  }
  how.timeout = milliseconds_of(options.timeout_s);
  how.all_users = geteuid() == 0;
  std::string error;
  std::optional<live::FindingMetrics> findings;
  if (options.hosts.are_given() && !options.is_watching) {
    error = "hosts are asked with --watch only";
  } else if (options.is_watching) {
    live::FindingMetrics::Options watched = watching(options, choice, error);
    if (error.empty()) {
      how.findings = &findings.emplace(std::move(watched));
    }
  }
  OtlpTarget otlp;
  if (error.empty() && !options.otlp.empty()) {
    otlp = otlp_target(options.otlp, error);
    error.insert(0, error.empty() ? "" : "--otlp: ");
  }
  if (error.empty() && !options.inspector.empty()) {
    error = live::InspectorFeed::check(options.inspector);
    error.insert(0, error.empty() ? "" : "--inspector: ");
  }
  if (!error.empty()) {
    print_launch_notes("exporter", {error});
    return kExitUsage;
  }
  live::Exporter exporter(how);
  live::MetricsServer server;
  if (!server.start(address, [&](live::MetricsForm form) { return exporter.scrape(form); })) {
    print_launch_notes("exporter", {"cannot listen at " + options.listen + ": " + server.why()});
    return kExitFindings;
  }
  print_launch_notes("exporter", {"metrics of the processes that have a control socket in " +
                                  places + ": http://" + server.address() + "/metrics"});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  live::InspectorFeed feed(options.inspector, std::chrono::nanoseconds(now).count());
  std::vector<std::jthread> threads;
  if (!options.inspector.empty()) {
    threads.push_back(repeat("--inspector", std::chrono::seconds(1), [&](const std::stop_token&) {
      return feed.look(exporter.statuses());
    }));
  }
  if (findings) {
    threads.push_back(
        repeat("--watch", milliseconds_of(options.interval_s), [&](const std::stop_token&) {
          findings->look();
          return std::string();
        }));
  }
  if (otlp.is_disabled) {
    print_launch_notes("exporter", {"--otlp: OTEL_SDK_DISABLED is true: nothing is sent"});
  } else if (!options.otlp.empty()) {
    threads.push_back(repeat("--otlp", otlp.interval, [&](const std::stop_token& stop) {
      return send_metrics(otlp, exporter, stop);
    }));
  }
  for (int number = 0; sigwait(&ends, &number) != 0;) {
  }
  threads.clear();
  if (!options.inspector.empty()) {
    feed.look(exporter.statuses());  // once more, for what has come since
  }
  server.stop();
  return kExitOk;
}

}  // namespace

void add_exporter(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ExporterOptions>();
  CLI::App* const command = app.add_subcommand(
      "exporter", "Serve the metrics of the processes that run on this host, for Prometheus");
  command
      ->add_option("--listen", options->listen,
                   "ADDRESS:PORT or PORT to listen at, IPv4; port 0: any that is free")
      ->type_name("ADDRESS")
      ->check([](const std::string& text) {
        return live::parse_listen_address(text)
                   ? std::string()
                   : "'" + text + "' is not PORT or ADDRESS:PORT, such as 127.0.0.1:9401";
      })
      ->capture_default_str();
  command
      ->add_option(
          "--ring-dir", options->ring_directory,
          "Directory of the processes' rings and sockets (default: RINGSIDE_RING_DIR, else "
          "/dev/shm, and TMPDIR, else /tmp)")
      ->type_name("DIR");
  constexpr double kLeast_s = 0.05;
  constexpr double kMost_s = 60;
  command
      ->add_option("--timeout", options->timeout_s,
                   "Seconds that the processes have to answer; less than the scrape's own timeout")
      ->check(CLI::Range(kLeast_s, kMost_s))
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option(
          "--otlp", options->otlp,
          "Also send the metrics to this collector, http://HOST:4318 or https://..., every "
          "minute (OTLP, JSON); env: to OTEL_EXPORTER_OTLP_ENDPOINT. It needs curl")
      ->type_name("URL");
  command
      ->add_option("--inspector", options->inspector,
                   "Also write each finished operation as NCCL Inspector does: into files of this "
                   "directory, or to a socket, unix:PATH")
      ->type_name("DIR");
  command->add_flag("--watch", options->is_watching,
                    "Also serve what `ringside watch` finds, here or on several hosts");
  add_watch_limits(*command, options->limits, options->interval_s);
  add_host_options(*command, options->hosts);
  set_command(*command, kExporterExample,
              {{0, "a signal has ended it: SIGINT, SIGTERM or SIGHUP"},
               {1, "it cannot listen at the address"},
               {3, "the directory of the rings is not there"}},
              options, chosen, run_exporter);
}

}  // namespace ringside::cli
