// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include "plugin/config/config.h"
#include "plugin/process/profiler.h"
#include "plugin/threads/background_thread.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using config::parse_cpu_list;

namespace {

std::vector<int> cpus_of(const cpu_set_t& set) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::vector<int> parsed(std::string_view text) {
  const auto set = parse_cpu_list(text);
  return set ? cpus_of(*set) : std::vector<int>{};
}

std::vector<int> allowed_cpus(pid_t tid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(sched_getaffinity(tid, sizeof set, &set) == 0);
  return cpus_of(set);
}

// This process's drain threads. One that has been joined may still be listed for a moment.
std::set<pid_t> drain_threads() {
  std::set<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "ringside") {
      found.insert(std::stoi(task.path().filename()));
    }
  }
  return found;
}

// A profiler whose drain thread has answered once. Profilers live as long as the process.
struct Running {
  explicit Running(config::Config config) : profiler(made(std::move(config))) {
    REQUIRE(profiler.session().dump(directory.file("dump.json").c_str()) == RINGSIDE_OK);
    for (const pid_t thread : drain_threads()) {
      tid = before.contains(thread) ? tid : thread;
    }
    REQUIRE(tid != 0);
  }
  ~Running() { profiler.shut_down(); }
  static process::Profiler& made(config::Config config) {
    static std::vector<std::unique_ptr<process::Profiler>> profilers;
    config.ring_directory.clear();  // what others have left in /dev/shm is no matter of this test
    return *profilers.emplace_back(std::make_unique<process::Profiler>(std::move(config)));
  }
  const std::set<pid_t> before = drain_threads();
  Directory directory;
  process::Profiler& profiler;
  pid_t tid = 0;
};

}  // namespace

TEST_CASE("lists of CPUs are read, and nothing else is") {
  CHECK(parsed("3") == std::vector<int>{3});
  CHECK(parsed("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(parsed("5,5,4-4") == std::vector<int>{4, 5});
  CHECK(parsed("1023") == std::vector<int>{1023});
  for (const char* wrong : {"", ",", "3,", ",3", "3-", "-3", "3-1", "1024", "0x3", "3 ", "a",
                            "0-1-2", "99999999999999999999"}) {
    INFO(wrong);
    CHECK_FALSE(parse_cpu_list(wrong).has_value());
  }
}

TEST_CASE("the drain thread runs on the CPUs that were asked for") {
  const std::vector<int> before = allowed_cpus(0);
  config::Config config;
  config.drain_cpus = std::to_string(before.back());
  const Running running(config);
  CHECK(allowed_cpus(running.tid) == std::vector<int>{before.back()});
  // This thread, which started it, is not touched.
  CHECK(allowed_cpus(0) == before);
}

TEST_CASE("CPUs that the system refuses are one warning, and the thread runs") {
  const Directory directory;
  const std::vector<int> before = allowed_cpus(0);
  config::Config config;
  config.drain_cpus = "1023";
  config.log = directory.file("log");
  const Running running(config);
  CHECK(allowed_cpus(running.tid) == before);
  const std::string log = content(config.log);
  CHECK(log.find("RINGSIDE_DRAIN_CPU=1023") != std::string::npos);
  CHECK(std::count(log.begin(), log.end(), '\n') == 1);
}

TEST_CASE("a thread of the plugin has a policy, CPUs, signals and a name of its own") {
  const std::vector<int> all = allowed_cpus(0);
  struct Seen {
    std::atomic<bool> is_there = false;
    int policy = -1;
    std::vector<int> cpus;
    bool has_signals = true;
    std::array<char, 16> name{};
  } seen;
  bool is_real_time = false;
  // NCCL's thread, in an application that has bound it to a CPU under a real-time policy.
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(all.back()), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const sched_param priority{1};
    is_real_time = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;  // not every user may
    REQUIRE(threads::start_background_thread(
        "ringside-test", 0,
        [](void* given) -> void* {
          auto& saw = *static_cast<Seen*>(given);
          saw.policy = sched_getscheduler(0);
          cpu_set_t cpus;
          CPU_ZERO(&cpus);
          sched_getaffinity(0, sizeof cpus, &cpus);
          saw.cpus = cpus_of(cpus);
          sigset_t blocked;
          pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
          saw.has_signals = sigismember(&blocked, SIGTERM) == 0;
          pthread_getname_np(pthread_self(), saw.name.data(), saw.name.size());
          saw.is_there = true;
          saw.is_there.notify_one();
          return nullptr;
        },
        &seen));
    seen.is_there.wait(false);
  }).join();
  CHECK(seen.policy == SCHED_OTHER);
  CHECK(seen.cpus == all);
  CHECK_FALSE(seen.has_signals);
  CHECK(std::string(seen.name.data()) == "ringside-test");
  if (!is_real_time) {
    WARN("without the right to a real-time policy, only the rest is tested");
  }
}
