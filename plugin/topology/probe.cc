// SPDX-License-Identifier: Apache-2.0
#include "plugin/topology/probe.h"

#include <cstdlib>
#include <unistd.h>

#include "plugin/threads/background_thread.h"
#include "plugin/topology/readers.h"

namespace ringside::topology {
namespace {

using threads::Clock;

// The probe of this process, for the exit. The child of a fork inherits the pointer, but not the
// thread; it must not touch the mutex.
std::atomic<Probe*> g_probe{nullptr};
std::atomic<pid_t> g_process{0};

std::uint64_t since(Clock::time_point begin) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

}  // namespace

Machine read_machine(const std::string& sysfs_root, Nvml& nvml, bool& is_open,
                     const std::atomic<bool>& stop, void (*when_open)()) {
  Machine machine;
  const Clock::time_point begin = Clock::now();
  const bool is_stopped = stop.load(std::memory_order_relaxed);
  if (!is_open && !is_stopped && nvml.open(machine.reason)) {
    is_open = true;
    when_open();
  }
  if (is_open) {
    read_gpus(nvml, stop, machine);
  } else if (!is_stopped) {
    machine.state = State::kFailed;
  }
  machine.nvml_ns = since(begin);
  read_places(sysfs_root, machine);
  read_ports(sysfs_root, machine);
  machine.took_ns = since(begin);
  return machine;
}

bool Probe::start() {
  {
    const threads::MutexLock lock(mutex_);
    began_ = Clock::now();
    is_reading_ = true;
  }
  g_process.store(getpid(), std::memory_order_relaxed);
  g_probe.store(this, std::memory_order_release);
  std::atexit(at_exit);  // for an exit while NVML is being opened
  constexpr std::size_t kStack_bytes = 512 << 10;
  if (threads::start_background_thread("ringside-topo", kStack_bytes, thread_main, this)) {
    return true;
  }
  const threads::MutexLock lock(mutex_);
  is_reading_ = false;
  return false;
}

void Probe::ask() {
  {
    const threads::MutexLock lock(mutex_);
    is_wanted_ = true;
  }
  wake_.notify_one();
}

std::optional<Machine> Probe::take() {
  const threads::MutexLock lock(mutex_);
  if (read_.empty()) {
    return std::nullopt;
  }
  std::optional<Machine> machine = std::move(read_.front());
  read_.pop();
  return machine;
}

std::optional<std::chrono::nanoseconds> Probe::reads_for() {
  const threads::MutexLock lock(mutex_);
  return is_reading_ ? std::optional<std::chrono::nanoseconds>(Clock::now() - began_)
                     : std::nullopt;
}

// An exception, of which memory that is short is the only likely one, ends the probe alone.
void* Probe::thread_main(void* self) noexcept {
  try {
    static_cast<Probe*>(self)->run();
  } catch (...) {
    auto* const probe = static_cast<Probe*>(self);
    const threads::MutexLock lock(probe->mutex_);
    probe->is_reading_ = false;
    probe->has_ended_ = true;
  }
  return nullptr;
}

void Probe::run() {
  for (bool is_first = true;; is_first = false) {
    {
      threads::MutexLock lock(mutex_);
      while (!is_wanted_) {
        lock.wait_until(wake_, Clock::now() + std::chrono::hours(1));
      }
      if (stop_.load(std::memory_order_relaxed)) {
        is_reading_ = false;
        has_ended_ = true;
        done_.notify_all();
        return;
      }
      is_wanted_ = false;
      is_reading_ = true;
      began_ = is_first ? began_ : Clock::now();
    }
    // Again once NVML is in the process, so that the handler runs before NVML takes itself apart.
    Machine machine =
        read_machine(sysfs_root_, nvml_, nvml_is_open_, stop_, [] { std::atexit(at_exit); });
    {
      const threads::MutexLock lock(mutex_);
      is_reading_ = false;
      if (machine.state != State::kUnfinished) {
        read_.push(std::move(machine));
      }
      has_ended_ = !nvml_is_open_;
    }
    done_.notify_all();
    if (!nvml_is_open_) {
      return;  // what the first attempt could not load or initialise is not tried again
    }
  }
}

void Probe::at_exit() {
  Probe* const probe = g_probe.load(std::memory_order_acquire);
  if (probe != nullptr && g_process.load(std::memory_order_relaxed) == getpid()) {
    try {
      probe->read_last();
    } catch (...) {
      // The exit goes on without the last reading.
    }
  }
}

// The counters at the end of the job. Behind this call nobody asks NVML any more: its own
// destructors follow. So a reading that takes too long is stopped between two queries. The second
// call of an exit does nothing.
void Probe::read_last() {
  if (stop_.load(std::memory_order_relaxed)) {
    return;
  }
  const Clock::time_point until = Clock::now() + kPatienceAtExit;
  {
    threads::MutexLock lock(mutex_, until);
    if (!lock.is_held()) {
      return;
    }
    if (!is_reading_ && !has_ended_) {
      is_reading_ = true;
      began_ = Clock::now();
    }
    is_wanted_ = true;  // if the thread has ended what it reads, it reads once more, or ends
    wake_.notify_one();
    while (is_reading_ && lock.wait_until(done_, until)) {
    }
    stop_.store(true, std::memory_order_relaxed);
    while (is_reading_ && lock.wait_until(done_, until + kPatienceAtExit)) {
    }
  }
  wake_.notify_one();
}

}  // namespace ringside::topology
