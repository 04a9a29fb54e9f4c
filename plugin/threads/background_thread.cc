// SPDX-License-Identifier: Apache-2.0
#include "plugin/threads/background_thread.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string_view>
#include <unistd.h>

#include "plugin/posix/descriptors.h"
#include "plugin/posix/undisturbed.h"

namespace ringside::threads {
namespace {

struct Start {
  const char* name;
  void* (*main)(void*);
  void* argument;
};

// As many CPUs as Linux can have; cpu_set_t has room for 1,024.
using CpuMask = std::array<unsigned long, 8192 / (8 * sizeof(unsigned long))>;

bool read_mask(pid_t tid, CpuMask& mask) noexcept {
  return sched_getaffinity(tid, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) == 0;
}

// The CPUs of all threads together: a launcher that binds a process binds all of them, and a thread
// that binds itself leaves the others where they are.
void use_cpus_of_process() noexcept {
  CpuMask own{};
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(opendir("/proc/self/task"), closedir);
  if (tasks == nullptr || !read_mask(0, own)) {
    return;
  }
  CpuMask all = own;
  while (const dirent* const task = readdir(tasks.get())) {
    CpuMask mask{};
    const auto tid = static_cast<pid_t>(std::atoi(task->d_name));
    if (tid != 0 && read_mask(tid, mask)) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] |= mask[i];
      }
    }
  }
  if (all != own) {
    sched_setaffinity(0, sizeof all, reinterpret_cast<const cpu_set_t*>(all.data()));
  }
}

// A filter of system calls may forbid these calls, so they are made only where they change
// something.
void use_ordinary_policy() noexcept {
  if (const int policy = sched_getscheduler(0); policy == SCHED_FIFO || policy == SCHED_RR) {
    const sched_param none{};
    sched_setscheduler(0, SCHED_OTHER, &none);
  }
}

// How many of these threads run, below the number of the process: the child of a fork has none.
std::atomic<std::uint64_t> g_running{0};

std::uint64_t running(std::uint64_t known) noexcept {
  const std::uint64_t process = static_cast<std::uint64_t>(getpid()) << 32;
  return known >> 32 == process >> 32 ? known : process;
}

void count_running(std::uint64_t by) noexcept {
  std::uint64_t known = g_running.load(std::memory_order_relaxed);
  while (!g_running.compare_exchange_weak(known, running(known) + by, std::memory_order_relaxed)) {
  }
}

// How many threads the process has, if its main thread has ended, which stays as a zombie; else 0.
// Memory and descriptors may have run out: it takes none once the file is open. One thread asks.
std::uint64_t threads_without_main() noexcept {
  static int file = -1;
  static pid_t process = 0;
  static posix::FileIdentity identity;
  std::array<char, 512> text{};
  if (process != getpid() || !identity.is_of(file)) {
    process = getpid();
    std::snprintf(text.data(), text.size(), "/proc/self/task/%d/stat", static_cast<int>(process));
    file = posix::own_descriptor([&] { return open(text.data(), O_RDONLY | O_CLOEXEC); });
    identity = posix::FileIdentity(file);
  }
  const ssize_t size = pread(file, text.data(), text.size() - 1, 0);
  const std::string_view stat(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t end_of_name = std::min(stat.rfind(')'), stat.size());
  text[stat.size()] = '\0';
  // The state and 16 numbers come before the number of threads (proc(5)).
  long long threads = 0;
  std::sscanf(text.data() + end_of_name,
              ") Z %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld", &threads);
  return static_cast<std::uint64_t>(threads);
}

void* thread_main(void* given) noexcept {
  const Start start = *static_cast<Start*>(given);
  delete static_cast<Start*>(given);
  pthread_setname_np(pthread_self(), start.name);
  use_ordinary_policy();
  use_cpus_of_process();
  void* const result = start.main(start.argument);
  count_running(-std::uint64_t{1});
  return result;
}

}  // namespace

bool start_background_thread(const char* name, std::size_t stack_bytes, void* (*main)(void*),
                             void* argument) {
  auto* const start = new (std::nothrow) Start{name, main, argument};
  if (start == nullptr) {
    return false;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes != 0) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
  }
  const posix::HeldSignals held;  // the new thread inherits this
  pthread_t thread;
  count_running(1);
  const bool runs = pthread_create(&thread, &attributes, thread_main, start) == 0;
  pthread_attr_destroy(&attributes);
  if (!runs) {
    count_running(-std::uint64_t{1});
    delete start;
  }
  return runs;
}

bool application_has_ended() noexcept {
  const std::uint64_t threads = threads_without_main();
  const std::uint64_t ours = running(g_running.load(std::memory_order_relaxed)) & 0xFFFFFFFF;
  return threads > 1 && threads - 1 <= ours;
}

}  // namespace ringside::threads
