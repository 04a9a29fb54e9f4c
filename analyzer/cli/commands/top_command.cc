// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <termios.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/live.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/document/numbers.h"
#include "live/ctl_report.h"
#include "live/hosts/running_command.h"
#include "live/top_report.h"
#include "live/watch/moment.h"

namespace ringside::cli {
namespace {

struct TopOptions : LiveOptions {
  double interval_s = 2;
  bool once = false;
};

constexpr char kTopExample[] =
    "This command shows each rank of each communicator on this host, or on those that are named, "
    "over the last interval: the operations in flight and the oldest of them, how many finished, "
    "bus bandwidth as nccl-tests defines it, and callbacks that were lost. Only recorded "
    "operations are shown. `q` or Ctrl-C ends it.\n\n"
    "Examples:\n"
    "  ringside top\tall of one job, until `q`\n"
    "  ringside top --once --interval 10 --dir /shared/run-17\tone table of ten seconds\n"
    "  ringside top --once --format json\tfor a script\n"
    "  ringside top --slurm 4711\tthe ranks of a Slurm job, on all its hosts\n";

volatile std::sig_atomic_t g_interrupted = 0;

void note_interrupt(int) {
  g_interrupted = 1;
  live::end_running_commands();
}

// Uses the other screen of a terminal, so that the text that was there comes back.
class Screen {
 public:
  explicit Screen(bool is_used) : is_used_(is_used) {
    if (is_used_) {
      // Without SA_RESTART: a wait ends at once.
      struct sigaction action {};
      action.sa_handler = note_interrupt;
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        sigaction(signal, &action, nullptr);
      }
      print("\x1b[?1049h\x1b[?25l");
    }
  }
  ~Screen() {
    if (is_used_) {
      print("\x1b[?25h\x1b[?1049l");
    }
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Shows as much of the text as fits, in place of the text before.
  bool show(const std::string& text) const {
    return print(is_used_ ? "\x1b[H\x1b[J" + fitting(text) : text);
  }

 private:
  static std::string fitting(const std::string& text) {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2) {
      return text;
    }
    std::string made;
    std::size_t begin = 0;
    for (unsigned lines = 1; lines < size.ws_row && begin < text.size(); ++lines) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      made += text.substr(begin, std::min<std::size_t>(end - begin, size.ws_col)) + '\n';
      begin = end + 1;
    }
    return made;
  }

  bool is_used_;
};

// Takes keys as they are pressed, if the command is in the foreground of a terminal.
class Keys {
 public:
  explicit Keys(bool is_used)
      : is_used_(is_used && tcgetpgrp(STDIN_FILENO) == getpgrp() &&
                 tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (is_used_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
  }
  ~Keys() {
    if (is_used_) {
      tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  /// Waits for a key; true if it is that which ends the command.
  bool ends_within(std::chrono::milliseconds time) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char key = 0;
    if (!is_used_ || is_over_ || poll(&input, 1, static_cast<int>(time.count())) <= 0) {
      if (!is_used_ || is_over_) {
        std::this_thread::sleep_for(time);
      }
      return false;
    }
    is_over_ = read(STDIN_FILENO, &key, 1) != 1;
    return key == 'q' || key == 'Q';
  }

 private:
  termios before_{};
  bool is_used_;
  bool is_over_ = false;  // nobody has the other end of the terminal any more
};

std::string heading(std::size_t processes, const std::vector<live::LiveRow>& rows) {
  double interval_s = 0;
  for (const live::LiveRow& row : rows) {
    interval_s = std::max(interval_s, row.interval_s);
  }
  return live::moment_text(now_realtime_ns()) + ", " +
         report::counted(processes, "process", "processes") + ", over " +
         report::fixed(interval_s, 1) + " s\n";
}

void wait_s(double seconds, Keys& keys) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::milliseconds;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  constexpr milliseconds kPart(50);
  while (g_interrupted == 0 && Clock::now() < until) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (keys.ends_within(std::min(kPart, left))) {
      g_interrupted = 1;
    }
  }
}

ExitStatus run_top(const TopOptions& options) {
  const auto completed = completed_choice(options, "top");
  if (!completed) {
    return kExitUsage;
  }
  live::Choice choice = *completed;
  if (choice.hosts) {
    choice.hosts->slow = std::make_shared<live::SlowHosts>();
  }
  live::Chosen chosen = live::choose(choice, options.timeout(), "live");
  print_launch_notes("top", chosen.notes);
  if (const ExitStatus status = status_of(chosen.how); status != kExitOk) {
    return status;
  }
  const bool is_table = options.format == "table";
  const bool is_watched = is_table && !options.once && isatty(STDOUT_FILENO) == 1;
  const Screen screen(is_watched);
  Keys keys(is_watched);
  live::LastEvents events;
  live::LiveProcesses before = live::live_processes(std::move(chosen.replies));
  while (true) {
    wait_s(options.interval_s, keys);
    if (g_interrupted != 0) {
      return kExitOk;
    }
    chosen = live::choose(choice, options.timeout(), "live");
    if (chosen.how == live::Chosen::How::kNobody) {
      if (!options.once) {
        return kExitOk;  // all have ended
      }
      print_launch_notes("top", chosen.notes);  // why nobody answers now who did a moment ago
    }
    live::LiveProcesses after = live::live_processes(std::move(chosen.replies));
    const std::vector<live::LiveRow> rows = live::rates_between(before, after, events);
    const std::string text =
        is_table ? heading(after.size(), rows) + live::top_as_table(rows) : live::top_as_json(rows);
    if (!screen.show(text)) {
      return kExitInternal;
    }
    if (options.once) {
      std::vector<live::Reply> replies;
      for (auto& [path, process] : after) {
        replies.push_back(std::move(process.reply));
      }
      print_failures(replies, "top");
      return replies.empty()                   ? kExitNoInput
             : live::count_failed(replies) > 0 ? kExitFindings
                                               : kExitOk;
    }
    before = std::move(after);
  }
}

}  // namespace

void add_top(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<TopOptions>();
  CLI::App* const command = app.add_subcommand(
      "top", "Show the operations of running processes: rates, bandwidth, the oldest in flight");
  constexpr double kLeast_s = 0.1;
  constexpr double kMost_s = 3600;
  command->add_option("--interval", options->interval_s, "Seconds from one look to the next")
      ->type_name("SECONDS")
      ->check(CLI::Range(kLeast_s, kMost_s))
      ->capture_default_str();
  command->add_flag("--once", options->once, "One table over one interval, then end");
  add_live_options(*command, *options);
  set_command(*command, kTopExample, kLiveExitStatuses, options, chosen, run_top);
}

}  // namespace ringside::cli
