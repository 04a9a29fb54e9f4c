// SPDX-License-Identifier: Apache-2.0
//
// Much of everything: callbacks, loads, communicators, threads.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

struct Resources {
  long size_bytes = 0;
  long rss_kib = 0;
  long descriptors = 0;
  long tasks = 0;
  long maps = 0;
};

Resources resources() {
  namespace fs = std::filesystem;
  const auto entries = [](const char* path) {
    return static_cast<long>(std::distance(fs::directory_iterator(path), {}));
  };
  Resources found;
  std::ifstream("/proc/self/statm") >> found.size_bytes >> found.rss_kib;
  found.size_bytes *= sysconf(_SC_PAGESIZE);
  found.rss_kib *= sysconf(_SC_PAGESIZE) / 1024;
  found.descriptors = entries("/proc/self/fd");
  found.tasks = entries("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    ++found.maps;
  }
  return found;
}

void print_growth(const Resources& warm, const Resources& last) {
  std::printf("{\"rss_kib\":%ld,\"descriptors\":%ld,\"tasks\":%ld,\"maps\":%ld}\n",
              last.rss_kib - warm.rss_kib, last.descriptors - warm.descriptors,
              last.tasks - warm.tasks, last.maps - warm.maps);
  std::fflush(stdout);
}

/// Makes callbacks when the thread ends: as a thread_local object, or from a key's destructor.
struct AtThreadEnd {
  Caller* caller = nullptr;
  ~AtThreadEnd() {
    if (caller != nullptr) {
      caller->operation();
    }
  }
};

void at_key_end(void* memory) {
  auto* caller = static_cast<Caller*>(memory);
  caller->operation();
  delete caller;
}

}  // namespace

int storm(const Program& program) {
  Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  const std::uint64_t threads = program.number(0);
  std::atomic<std::uint64_t> ended = 0;
  for (std::uint64_t i = 0; i < threads; ++i) {
    std::thread([&, i] {
      Caller(loaded.plugin(), context, program.rows[i]).operations(program.number(1), 0);
      ++ended;
      pause();  // alive at exit: the account then has this thread's own line
    }).detach();
  }
  while (ended < threads) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  print_status(status_of(loaded));
  std::exit(0);  // not past the ends of what the threads refer to
}

int cycles(const Program& program) {
  // Finished operations are remembered for five seconds; so each round is followed by more than
  // that.
  constexpr auto kForgotten = std::chrono::seconds(7);
  Resources warm;
  for (std::uint64_t round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < program.number(0); ++i) {
      Loaded loaded(program.path, program.abi);
      void* context = loaded.new_communicator(i);
      Caller(loaded.plugin(), context, program.rows[0]).operation();
      loaded.plugin().finalize(context);
    }
    Loaded loaded(program.path, program.abi);
    std::vector<void*> contexts;
    for (std::uint64_t i = 0; i < program.number(1); ++i) {
      contexts.push_back(loaded.new_communicator(i));
      Caller(loaded.plugin(), contexts.back(), program.rows[0]).operation();
    }
    for (void* context : contexts) {
      loaded.plugin().finalize(context);
    }
    std::this_thread::sleep_for(kForgotten);
    if (round == 0) {
      warm = resources();
    }
  }
  print_growth(warm, resources());
  return 0;
}

int short_threads(const Program& program) {
  Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  // Made after the plugin's key: its destructor runs later in each round of them.
  pthread_key_t key{};
  pthread_key_create(&key, at_key_end);
  const std::uint64_t count = program.number(0);
  const std::uint64_t batch = program.number(1);
  Resources warm;
  for (std::uint64_t begun = 0; begun < count; begun += batch) {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < batch; ++i) {
      threads.emplace_back([&] {
        Caller caller(loaded.plugin(), context, program.rows[0]);
        caller.operation();
        thread_local AtThreadEnd end;
        thread_local Caller of_end(loaded.plugin(), context, program.rows[0]);
        end.caller = &of_end;
        pthread_setspecific(key, new Caller(loaded.plugin(), context, program.rows[0]));
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    // A ring is given to a new thread once it has been drained.
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    if (begun <= count / 4) {
      warm = resources();
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  print_growth(warm, resources());
  return 0;
}

int notes(const Program& program) {
  Loaded loaded(program.path, program.abi);
  const auto mark = reinterpret_cast<decltype(&ringside_mark)>(c_function(loaded, "ringside_mark"));
  const auto push = reinterpret_cast<decltype(&ringside_push)>(c_function(loaded, "ringside_push"));
  const auto pop = reinterpret_cast<decltype(&ringside_pop)>(c_function(loaded, "ringside_pop"));
  const auto start =
      reinterpret_cast<decltype(&ringside_start)>(c_function(loaded, "ringside_start"));
  const auto stop = reinterpret_cast<decltype(&ringside_stop)>(c_function(loaded, "ringside_stop"));
  const std::string text(program.number(2), 'x');
  std::uint64_t marks_lost = 0;
  std::uint64_t ranges_lost = 0;
  std::uint64_t starts_refused = 0;
  push("around all", nullptr);  // into a ring that is in no file
  loaded.new_communicator(1);
  while (status_of(loaded).bytes_written == 0) {  // until the drain thread has taken it from there
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const Resources before = resources();
  for (std::uint64_t i = 0; i < program.number(0); ++i) {
    marks_lost += mark(text.c_str()) == RINGSIDE_ERROR_BUSY ? 1 : 0;
    ranges_lost += push("outer", nullptr) == RINGSIDE_ERROR_BUSY ? 1 : 0;
    ranges_lost += push("inner", text.c_str()) == RINGSIDE_ERROR_BUSY ? 1 : 0;
    pop();
    pop();
  }
  const bool is_killed = program.arguments.size() > 3;
  if (!is_killed) {
    pop();
  }
  const Resources after = resources();
  for (std::uint64_t i = 0; i < program.number(1); ++i) {
    stop();
    starts_refused += start(nullptr) == RINGSIDE_ERROR_BUSY ? 1 : 0;
  }
  const ringside_status_info status = status_of(loaded);
  std::printf(
      "{\"marks_lost\":%llu,\"ranges_lost\":%llu,\"starts_refused\":%llu,\"windows\":%llu,"
      "\"started\":%d,\"rss_kib\":%ld}\n",
      static_cast<unsigned long long>(marks_lost), static_cast<unsigned long long>(ranges_lost),
      static_cast<unsigned long long>(starts_refused),
      static_cast<unsigned long long>(status.windows), status.started,
      after.rss_kib - before.rss_kib);
  std::fflush(stdout);
  if (is_killed) {
    kill(getpid(), SIGKILL);
  }
  return 0;
}

int many_threads(const Program& program) {
  Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  const std::uint64_t count = program.number(0);
  struct Shared {
    const Program& program;
    Loaded& loaded;
    void* context;
    std::atomic<std::uint64_t> ended = 0;
    std::atomic<bool> leave = false;
  } shared{program, loaded, context};
  const auto body = [](void* argument) -> void* {
    auto& of = *static_cast<Shared*>(argument);
    Caller(of.loaded.plugin(), of.context, of.program.rows[0]).operation();
    ++of.ended;
    of.ended.notify_one();
    of.leave.wait(false);
    return nullptr;
  };
  pthread_attr_t small{};
  pthread_attr_init(&small);
  constexpr std::size_t kStack_bytes = std::size_t{128} * 1024;
  pthread_attr_setstacksize(&small, kStack_bytes);
  std::vector<pthread_t> threads(count);
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, &small, body, &shared) != 0) {
      give_up("no more threads");
    }
  }
  for (std::uint64_t ended = shared.ended; ended < count; ended = shared.ended) {
    shared.ended.wait(ended);
  }
  shared.leave = true;
  shared.leave.notify_all();
  for (const pthread_t thread : threads) {
    pthread_join(thread, nullptr);
  }
  print_status(status_of(loaded));
  return 0;
}

int short_of_memory(const Program& program) {
  Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  Caller(loaded.plugin(), context, program.rows[0]).operation();
  const std::uint64_t count = program.number(0);
  std::atomic<int> step = 0;
  const auto go_to = [&](int next) {
    step = next;
    step.notify_all();
  };
  std::thread thread([&] {
    Caller caller(loaded.plugin(), context, program.rows[1]);
    step.wait(0);
    caller.operations(count, 0);
    go_to(2);
    step.wait(2);
    caller.operations(count, 0);
  });
  struct rlimit limit {};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t before = limit.rlim_cur;
  // The plugin's other threads have room for their little.
  constexpr rlim_t kLeft_bytes = rlim_t{16} << 20;
  limit.rlim_cur = static_cast<rlim_t>(resources().size_bytes) + kLeft_bytes;
  setrlimit(RLIMIT_AS, &limit);
  go_to(1);
  step.wait(1);
  limit.rlim_cur = before;
  setrlimit(RLIMIT_AS, &limit);
  go_to(3);
  thread.join();
  for (std::size_t row = 2; row < 4; ++row) {
    std::thread([&] {
      Caller(loaded.plugin(), context, program.rows[row]).operations(count, 0);
    }).join();
  }
  return 0;
}

}  // namespace ringside::guarantees
