// SPDX-License-Identifier: Apache-2.0
#include "activity.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "device.h"

namespace emugpu::activity {
namespace {

std::uint64_t real_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::atomic<Listener> current_listener{nullptr};
std::atomic<Clock> current_clock{&real_time};
std::atomic<std::uint32_t> last_correlation{0};
thread_local std::uint32_t correlation_of_call = 0;

}  // namespace

void listen(Listener listener) {
  current_listener = listener;
}

bool listened() {
  return current_listener.load(std::memory_order_relaxed) != nullptr;
}

void set_clock(Clock clock) {
  current_clock = clock;
}

std::uint64_t now() {
  return current_clock.load()();
}

void tell(const Record& record) {
  if (const Listener listener = current_listener) listener(record);
}

Call::Call(const char* name, bool driver) : outermost_(correlation_of_call == 0 && listened()) {
  if (!outermost_) return;
  record_.name = name;
  record_.driver = driver;
  record_.device = static_cast<std::uint32_t>(current_device());
  record_.correlation = correlation_of_call = ++last_correlation;
  record_.start = now();
}

Call::~Call() {
  if (!outermost_) return;
  correlation_of_call = 0;
  record_.end = now();
  tell(record_);
}

void Call::waited(Wait wait, std::uint32_t stream, std::uint32_t event) {
  if (!outermost_) return;
  Record record = record_;
  record.kind = Kind::kSynchronization;
  record.wait = wait;
  record.stream = stream;
  record.event = event;
  record.end = now();
  tell(record);
}

std::uint32_t current_correlation() {
  return correlation_of_call;
}

void enqueue(Stream& stream, Record record, Stream::Task task) {
  record.correlation = current_correlation();
  if (record.correlation == 0) return stream.enqueue(std::move(task));
  record.device = static_cast<std::uint32_t>(stream.device());
  record.stream = static_cast<std::uint32_t>(stream.id());
  stream.enqueue([record, task = std::move(task)]() mutable {
    record.start = now();
    task();
    record.end = now();
    tell(record);
  });
}

}  // namespace emugpu::activity
