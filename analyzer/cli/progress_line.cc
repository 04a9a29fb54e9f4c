// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress_line.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <unistd.h>

#include "analyzer/cli/output.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::cli {

std::string progress_text(std::string_view doing, std::uint64_t bytes_done, std::uint64_t bytes_all,
                          double seconds) {
  std::string text(doing);
  if (bytes_done == 0) {
    return text + ": " + report::fixed(seconds, 0) + " s";
  }
  text += ": " + report::human_bytes(bytes_done);
  if (bytes_all > 0) {
    const double share = static_cast<double>(bytes_done) / static_cast<double>(bytes_all);
    text += " of " + report::human_bytes(bytes_all) + ", " +
            std::to_string(static_cast<int>(100 * share)) + " %";
  }
  const double rate = static_cast<double>(bytes_done) / 1e9 / std::max(seconds, 1e-9);
  return text + ", " + report::fixed(rate, 2) + " GB/s";
}

ProgressLine::ProgressLine(std::string_view doing, const load::Progress& progress)
    : doing_(doing), progress_(progress) {
  if (::isatty(STDERR_FILENO) == 0 || is_quiet()) {
    return;
  }
  try {
    thread_ = std::thread([this] { show(); });
  } catch (const std::system_error&) {
    // Without a thread to spare there is no progress to see.
  }
}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void ProgressLine::show() {
  constexpr auto kFirst = std::chrono::milliseconds(500);
  constexpr auto kNext = std::chrono::milliseconds(200);
  const auto begin = std::chrono::steady_clock::now();
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!ended_changed_.wait_for(lock, shown ? kNext : kFirst, [this] { return ended_; })) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
    const std::string text =
        progress_text(doing_, progress_.bytes_done.load(std::memory_order_relaxed),
                      progress_.bytes_all.load(std::memory_order_relaxed), since.count());
    std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
    std::fflush(stderr);
    shown = true;
  }
  if (shown) {
    std::fputs("\r\x1b[K", stderr);
  }
}

}  // namespace ringside::cli
