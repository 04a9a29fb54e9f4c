// SPDX-License-Identifier: Apache-2.0
#include "examples/gpu/call_times.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <time.h>
#include <utility>

#include "examples/gpu/check.h"

namespace example {
namespace {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

CallTimes::CallTimes(const std::string& path, cudaStream_t stream) : stream_(stream) {
  if (path.empty()) return;
  file_.open(path);
  if (!file_) throw std::runtime_error("cannot write " + path);
  check(cudaEventCreate(&anchor_.event), "cudaEventCreate");
}

CallTimes::~CallTimes() {
  for (const Call& call : calls_) {
    cudaEventDestroy(call.begin);
    cudaEventDestroy(call.end);
  }
  if (anchor_.event != nullptr) cudaEventDestroy(anchor_.event);
}

// The narrowest of several tries: the thread may lose its core between the readings.
void CallTimes::place(Anchor& anchor) const {
  constexpr int kTries = 20;
  anchor.latest_ns = std::numeric_limits<std::int64_t>::max();
  anchor.earliest_ns = 0;
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  for (int i = 0; i < kTries; ++i) {
    const std::int64_t earliest_ns = monotonic_ns();
    check(cudaEventRecord(event, stream_), "cudaEventRecord");
    check(cudaEventSynchronize(event), "cudaEventSynchronize");
    const std::int64_t latest_ns = monotonic_ns();
    if (latest_ns - earliest_ns < anchor.latest_ns - anchor.earliest_ns) {
      anchor.earliest_ns = earliest_ns;
      anchor.latest_ns = latest_ns;
      std::swap(anchor.event, event);
    }
  }
  cudaEventDestroy(event);
}

std::int64_t CallTimes::between(cudaEvent_t from, cudaEvent_t to) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from, to), "cudaEventElapsedTime");
  return std::llround(static_cast<double>(milliseconds) * 1e6);
}

void CallTimes::begin_series(std::size_t calls) {
  if (!file_.is_open()) return;
  while (calls_.size() < calls) {
    Call& call = calls_.emplace_back();
    check(cudaEventCreate(&call.begin), "cudaEventCreate");
    check(cudaEventCreate(&call.end), "cudaEventCreate");
  }
  begun_ = 0;
  place(anchor_);
}

void CallTimes::before_call() {
  if (file_.is_open()) check(cudaEventRecord(calls_.at(begun_).begin, stream_), "cudaEventRecord");
}

void CallTimes::after_call() {
  if (file_.is_open()) check(cudaEventRecord(calls_.at(begun_++).end, stream_), "cudaEventRecord");
}

void CallTimes::end_series(const char* function, std::size_t bytes) {
  if (!file_.is_open()) return;
  for (std::size_t i = 0; i < begun_; ++i) {
    const std::int64_t begin_ns = between(anchor_.event, calls_[i].begin);
    const std::int64_t duration_ns = between(calls_[i].begin, calls_[i].end);
    file_ << R"({"func":")" << function << R"(","bytes":)" << bytes << R"(,"call":)" << i
          << R"(,"earliest_begin_ns":)" << anchor_.earliest_ns + begin_ns
          << R"(,"latest_begin_ns":)" << anchor_.latest_ns + begin_ns << R"(,"duration_ns":)"
          << duration_ns << "}\n";
  }
  file_.flush();
}

}  // namespace example
