// SPDX-License-Identifier: Apache-2.0
//
// Forks, ways out of a process, and systems that say no.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

constexpr int kThreads = 2;

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// Threads that record until the process ends.
void record_for_ever(const Program& program, const Loaded& loaded, void* context,
                     std::uint64_t operations, int pause_us, std::atomic<int>& ended) {
  for (int i = 0; i < kThreads; ++i) {
    std::thread([&program, &loaded, context, i, operations, pause_us, &ended] {
      Caller(loaded.plugin(), context, program.rows[i]).operations(operations, pause_us);
      ++ended;
      ended.notify_one();
      pause();
    }).detach();
  }
}

void wait_for(std::atomic<int>& ended) {
  for (int now = ended; now < kThreads; now = ended) {
    ended.wait(now);
  }
}

/// Until the drain has written more than that, five seconds at most.
void wait_for_more(const Loaded& loaded, std::uint64_t before_bytes) {
  for (int waited = 0; status_of(loaded).bytes_written == before_bytes && waited < 2500; ++waited) {
    sleep_ms(2);
  }
}

/// Makes a tmpfs as large as what is in it, and fills what is left of its last pages.
void fill_up(const std::string& path) {
  struct statvfs space {};
  if (statvfs(path.c_str(), &space) != 0) {
    give_up("statvfs: " + std::string(std::strerror(errno)));
  }
  const std::uint64_t used = (space.f_blocks - space.f_bfree) * space.f_frsize;
  const std::string options = "size=" + std::to_string(used);
  if (used == 0 || mount(nullptr, path.c_str(), nullptr, MS_REMOUNT, options.c_str()) != 0) {
    give_up("remount: " + std::string(std::strerror(errno)));
  }
  const int file = open((path + "/filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  while (file >= 0 && write(file, page.data(), page.size()) > 0) {
  }
  if (file >= 0) {
    close(file);
  }
}

bool is_child = false;

/// AddressSanitizer's allocator (GCC 12) has no handlers of forks: another thread may have held its
/// locks, and the child then waits for ever. This fills the calling thread's own cache, so that
/// what its child allocates needs no lock.
void fill_allocator_cache() {
  for (std::size_t bytes = 1; bytes < 16'384; bytes += std::max<std::size_t>(16, bytes / 8)) {
    void* volatile memory = std::malloc(bytes);
    std::free(memory);
  }
}

/// The child of a fork runs this; its own rows are beyond the parent's threads.
[[noreturn]] void child(const Program& program, const Loaded& loaded, void* context,
                        const std::string& how, std::size_t row) {
  is_child = true;
  if (how == "exec") {
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  if (how == "go_on" || how == "outlive") {
    Caller(loaded.plugin(), context, program.rows[row]).operations(100, 0);
    ringside_status_info info{};
    info.struct_size = sizeof info;
    const auto ask =
        reinterpret_cast<decltype(&ringside_status)>(c_function(loaded, "ringside_status"));
    const auto dump =
        reinterpret_cast<decltype(&ringside_dump)>(c_function(loaded, "ringside_dump"));
    const auto mark =
        reinterpret_cast<decltype(&ringside_mark)>(c_function(loaded, "ringside_mark"));
    if (ask(&info) != RINGSIDE_ERROR_DISABLED || dump(nullptr) != RINGSIDE_ERROR_DISABLED ||
        mark("child") != RINGSIDE_ERROR_DISABLED) {
      give_up("the C API works in the child");
    }
    int mask = 0;
    host::Callback init;
    void* of_child = nullptr;
    loaded.plugin().init(init, &of_child, &mask);
    loaded.plugin().finalize(of_child);
    if (mask != 0) {
      give_up("init in the child asks for events");
    }
  }
  if (how == "outlive") {
    sleep_ms(3000);
  }
  if (how == "_exit") {
    _exit(0);
  }
  std::exit(0);
}

/// A child of whose making no handler is told.
pid_t fork_without_handlers() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  return _Fork();
#else
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#endif
}

/// Such a child runs this. Locks that other threads held are held for ever, so it calls nothing of
/// the C library but its exit, and its thread's name says that nothing may take memory. It ends as
/// a thread ends if `as_thread`.
void quiet_child(const host::ProfilerPlugin& plugin, void* context, decltype(&ringside_mark) mark,
                 Row& row, bool as_thread) {
  prctl(PR_SET_NAME, "child");
  Caller(plugin, context, row).operations(100, 0);
  int mask = 0;
  host::Callback init;
  void* of_child = nullptr;
  plugin.init(init, &of_child, &mask);
  plugin.finalize(of_child);
  const bool is_disabled = mark("child") == RINGSIDE_ERROR_DISABLED && mask == 0;
  if (as_thread && is_disabled) {
    pthread_exit(nullptr);  // the last thread's end is the process's, with 0
  }
  _exit(is_disabled ? 0 : 1);
}

}  // namespace

/// LeakSanitizer looks for leaks only if this returns 0. In a child, the parent's other threads are
/// gone, so all memory that is known only to their stacks would be reported.
extern "C" int __lsan_is_turned_off() {
  return is_child ? 1 : 0;
}

/// The plugin's probe, which nobody joins, may be within dlopen() when the process ends. The C
/// library keeps that thread's message of what failed.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:_dlerror_run\n";
}

/// The threads that fork record, too, so that their children have their parent's rings.
int fork_without_atfork(const Program& program) {
  const std::string& how = program.arguments.at(0);
  static Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  const auto mark = reinterpret_cast<decltype(&ringside_mark)>(c_function(loaded, "ringside_mark"));
  std::atomic<int> failed = 0;
  std::vector<std::thread> forks;
  for (int thread = 0; thread < kThreads; ++thread) {
    forks.emplace_back([&, thread] {
      Caller caller(loaded.plugin(), context, program.rows[thread]);
      for (int i = 0; i < 3; ++i) {
        caller.operations(50, 20);
        const pid_t pid = how == "fork_thread" ? fork() : fork_without_handlers();
        if (pid == 0) {
          quiet_child(loaded.plugin(), context, mark, program.rows[kThreads + thread],
                      how == "fork_thread");
        }
        caller.operations(50, 20);
        int status = 0;
        if (waitpid(pid, &status, 0) != pid || status != 0) {
          ++failed;
        }
        // If the child has given the ring away, a new thread gets it now, and both write to it.
        sleep_ms(50);
        std::thread fresh([&] {
          Caller(loaded.plugin(), context, program.rows[2 * kThreads + thread]).operations(300, 0);
        });
        caller.operations(300, 0);
        fresh.join();
      }
    });
  }
  for (std::thread& thread : forks) {
    thread.join();
  }
  std::exit(failed == 0 ? 0 : 1);
}

int fork_while_recording(const Program& program) {
  const std::string& how = program.arguments.at(0);
  static Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  static std::atomic<int> ended = 0;
  record_for_ever(program, loaded, context, 1000, 50, ended);
  std::vector<std::thread> forks;
  std::atomic<int> failed = 0;
  for (int thread = 0; thread < kThreads; ++thread) {
    forks.emplace_back([&, thread] {
      for (int i = 0; i < 3; ++i) {
        sleep_ms(5);
        fill_allocator_cache();
        const pid_t pid = fork();
        if (pid == 0) {
          child(program, loaded, context, how, static_cast<std::size_t>(kThreads + thread));
        }
        int status = 0;
        if (how != "outlive" && (waitpid(pid, &status, 0) != pid || status != 0)) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : forks) {
    thread.join();
  }
  wait_for(ended);
  if (how == "outlive") {
    kill(getpid(), SIGKILL);
  }
  std::exit(failed == 0 ? 0 : 1);
}

int way_out(const Program& program) {
  const std::string& how = program.arguments.at(0);
  static Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  static std::atomic<int> ended = 0;
  record_for_ever(program, loaded, context, program.number(1), static_cast<int>(program.number(2)),
                  ended);
  std::printf("recording\n");
  std::fflush(stdout);
  if (how == "finalize_early") {
    sleep_ms(5);
    loaded.plugin().finalize(context);
  }
  wait_for(ended);
  if (how == "sleep") {
    pause();
  }
  if (how == "abort") {
    std::abort();
  }
  if (how == "segfault") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would have its own end
    std::raise(SIGSEGV);
  }
  if (how == "_exit") {
    _exit(0);
  }
  std::exit(0);
}

int main_ends(const Program& program) {
  static const Program copy = program;
  static Loaded loaded(copy.path, copy.abi);
  static void* const context = loaded.new_communicator(1);
  std::thread([] {
    Caller(loaded.plugin(), context, copy.rows[0]).operations(1000, 100);
  }).detach();
  pthread_exit(nullptr);
}

// The application's marks, and ranges that begin and end.
void mark_and_range(const Loaded& loaded, int marks, int ranges) {
  const auto mark = reinterpret_cast<decltype(&ringside_mark)>(c_function(loaded, "ringside_mark"));
  const auto push = reinterpret_cast<decltype(&ringside_push)>(c_function(loaded, "ringside_push"));
  const auto pop = reinterpret_cast<decltype(&ringside_pop)>(c_function(loaded, "ringside_pop"));
  for (int i = 0; i < marks; ++i) {
    mark("a mark");
  }
  for (int i = 0; i < ranges; ++i) {
    push("a range", nullptr);
    pop();
  }
}

int trouble(const Program& program) {
  const std::string& how = program.arguments.at(0);
  struct rlimit limit {};
  std::vector<int> taken;
  const auto exhaust = [&] {
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int file = open("/dev/null", O_RDONLY); file >= 0; file = open("/dev/null", O_RDONLY)) {
      taken.push_back(file);
    }
  };
  std::signal(SIGXFSZ, SIG_DFL);
  Loaded loaded(program.path, program.abi);
  if (how == "descriptors_at_load") {
    exhaust();
  }
  void* context = loaded.new_communicator(1);
  Caller caller(loaded.plugin(), context, program.rows[0]);
  caller.operations(100, 0);
  if (how == "descriptors_later") {
    sleep_ms(300);  // until the trace has been made
    exhaust();
  }
  if (how == "file_size") {
    wait_for_more(loaded, 0);
    sleep_ms(300);
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = status_of(loaded).bytes_written;
    setrlimit(RLIMIT_FSIZE, &limit);
    caller.operations(1000, 0);
    mark_and_range(loaded, 7, 3);
    // Longer than an operation waits for what may still come of it.
    sleep_ms(4500);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (how == "disk_full") {
    std::printf("recorded\n");
    std::fflush(stdout);
    // With pauses, so that the drain brings the disk what the rings would lose; until it is full.
    constexpr int kMostRounds = 1000;
    for (int round = 0; status_of(loaded).trouble == 0 && round < kMostRounds; ++round) {
      caller.operations(100, 0);
      sleep_ms(20);
    }
    sleep_ms(1000);
    unlink(program.arguments.at(1).c_str());
  }
  if (how == "rings_full") {
    fill_up(program.arguments.at(1));
    // The drain takes each round before the next, so that nothing is lost for want of room in a
    // ring.
    for (int round = 0; round < 60; ++round) {
      const std::uint64_t before_bytes = status_of(loaded).bytes_written;
      caller.operations(100, 0);
      wait_for_more(loaded, before_bytes);
    }
  }
  std::thread([&] { Caller(loaded.plugin(), context, program.rows[1]).operations(500, 0); }).join();
  sleep_ms(300);
  print_status(status_of(loaded));
  for (const int file : taken) {
    close(file);
  }
  return 0;
}

int dump_to(const Program& program) {
  Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  Caller(loaded.plugin(), context, program.rows[0]).operations(100, 0);
  const auto dump = reinterpret_cast<decltype(&ringside_dump)>(c_function(loaded, "ringside_dump"));
  std::printf("[");
  for (const std::string& path : program.arguments) {
    std::printf("%d,", dump(path == "-" ? nullptr : path.c_str()));
  }
  std::printf("0]\n");
  std::fflush(stdout);
  sleep_ms(50);
  return 0;
}

}  // namespace ringside::guarantees
