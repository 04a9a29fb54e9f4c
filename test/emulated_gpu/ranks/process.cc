// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <ringside/ringside.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "environment.h"
#include "scenarios.h"

namespace ranks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// One line in one write, so that lines of several processes do not mix.
[[gnu::format(printf, 1, 2)]] void print_line(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line - 1, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  std::size_t size = std::min(static_cast<std::size_t>(length), sizeof line - 2);
  line[size++] = '\n';
  std::fflush(stdout);
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, line, size);
}

// Children as programs start them for other purposes: one ends with exit handlers, one without.
class ShortLivedChildren {
 public:
  ShortLivedChildren() {
    std::fflush(nullptr);
    for (pid_t& child : children_) {
      const bool with_handlers = &child == &children_[0];
      child = fork();
      if (child != 0) continue;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (with_handlers) std::exit(0);
      _exit(0);
    }
  }
  ~ShortLivedChildren() {
    for (const pid_t child : children_) {
      if (child > 0) waitpid(child, nullptr, 0);
    }
  }
  ShortLivedChildren(const ShortLivedChildren&) = delete;
  ShortLivedChildren& operator=(const ShortLivedChildren&) = delete;

 private:
  pid_t children_[2];
};

void run_scenarios(Rank& rank) {
  const Options& options = rank.options();
  std::unique_ptr<ShortLivedChildren> children;
  if (options.fork) children = std::make_unique<ShortLivedChildren>();
  for (const std::string& name : options.scenarios) scenario_named(name)(rank);
  if (options.threads) run_two_threads(rank);
}

// A rank from its beginning to its end; true if all went well.
bool run_rank(const Options& options, Board& board, int index) {
  std::unique_ptr<Rank> rank;
  const Clock::time_point begin = Clock::now();
  try {
    rank = std::make_unique<Rank>(options, board, index);
    const double initialized = seconds_since(begin);
    run_scenarios(*rank);
    const double ran = seconds_since(begin);
    if (options.leave_out.rank != kNobody) {
      rank->abort();  // there are kernels that wait for the call that was left out
    } else if (options.finalize) {
      rank->leave();
    } else {
      // A process that just exits takes data along that its proxies have not sent yet.
      board.barrier();
    }
    print_line(
        "rank %d/%d host %d device %d: ok, %ld collectives, init %.2f s, run %.2f s, end %.2f s",
        index, options.rank_count, options.host_of(index), options.device_of(index),
        rank->collectives(), initialized, ran - initialized, seconds_since(begin) - ran);
    return true;
  } catch (const std::exception& error) {
    print_line("rank %d/%d host %d device %d: failed after %ld collectives: %s", index,
               options.rank_count, options.host_of(index), options.device_of(index),
               board.rank(index).collectives.load(), error.what());
    if (rank) rank->abort();
    return false;
  }
}

// The process ends with 0 if the plugin's exit does not wait for the call that it interrupts.
[[noreturn]] void exit_in_handler() {
  ringside_functions profiler{};
  void* const raise_in_lock = dlsym(RTLD_DEFAULT, "in_lock_raise");
  if (ringside_open(&profiler) != RINGSIDE_OK || raise_in_lock == nullptr) {
    print_line("--exit-in-handler: there is no plugin, or no library that raises a signal");
    std::exit(1);
  }
  std::signal(SIGTERM, [](int) { std::exit(0); });
  reinterpret_cast<void (*)()>(raise_in_lock)();
  ringside_status_info info{};
  info.struct_size = sizeof info;
  profiler.status(&info);
  print_line("--exit-in-handler: no signal came");
  std::exit(1);
}

}  // namespace

int run_process(const Options& options, Board& board, int process) {
  set_process_environment(options, process);
  const int first = process * options.ranks_per_process;
  std::atomic<bool> all_well{true};
  const auto run = [&](int index) {
    const bool well = run_rank(options, board, index);
    board.rank(index).outcome = well ? Outcome::kPassed : Outcome::kFailed;
    if (!well) all_well = false;
  };
  std::vector<std::thread> others;
  for (int i = 1; i < options.ranks_per_process; ++i) others.emplace_back(run, first + i);
  run(first);
  for (std::thread& other : others) other.join();
  if (options.exit_in_handler && all_well) exit_in_handler();
  return all_well ? 0 : 1;
}

}  // namespace ranks
