// SPDX-License-Identifier: Apache-2.0
#include "journal.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

namespace recorder {
namespace {

std::mutex& mutex() {
  static auto* const instance = new std::mutex;
  return *instance;
}

// $RECORDER_DIR/recorder-<rank>.jsonl; without RANK, the process id takes its place. Never closed:
// NCCL's threads may call until the very end.
std::FILE* file() {
  static std::FILE* const instance = [] {
    const char* const directory = std::getenv("RECORDER_DIR");
    const char* const rank = std::getenv("RANK");
    const std::string path = std::string(directory ? directory : ".") + "/recorder-" +
                             (rank ? rank : std::to_string(getpid())) + ".jsonl";
    std::FILE* const opened = std::fopen(path.c_str(), "w");
    if (opened == nullptr) return stderr;
    // Line by line, so that nothing is lost when the process is killed, nor written twice when it
    // forks.
    std::setvbuf(opened, nullptr, _IOLBF, BUFSIZ);
    return opened;
  }();
  return instance;
}

std::string quoted(const char* value) {
  std::string result = "\"";
  for (; *value != '\0'; ++value) {
    if (*value == '"' || *value == '\\') result += '\\';
    // Control characters have no place in NCCL's names.
    result += static_cast<unsigned char>(*value) < ' ' ? ' ' : *value;
  }
  return result + '"';
}

}  // namespace

Line::Line(const char* time_key, const char* thread_key, const char* callback_key,
           const char* callback) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  json_ = "{" + quoted(time_key) + ':' + std::to_string(std::chrono::nanoseconds(now).count());
  integer(thread_key, gettid()).text(callback_key, callback);
}

Line::Line(const char* callback) : Line("time", "thread", "call", callback) {}

Line Line::of_transcript(const char* callback) {
  return Line("t", "tid", "cb", callback);
}

Line& Line::text(const char* key, const char* value) {
  json_ += ',' + quoted(key) + ':' + (value ? quoted(value) : "null");
  return *this;
}

Line& Line::number(const char* key, std::uint64_t value) {
  json_ += ',' + quoted(key) + ':' + std::to_string(value);
  return *this;
}

Line& Line::integer(const char* key, std::int64_t value) {
  json_ += ',' + quoted(key) + ':' + std::to_string(value);
  return *this;
}

Line& Line::hexadecimal(const char* key, std::uint64_t value) {
  char digits[2 + 16 + 1];
  std::snprintf(digits, sizeof digits, "0x%" PRIx64, value);
  return text(key, digits);
}

void Line::write() const {
  const std::string line = json_ + "}\n";
  const std::lock_guard lock(mutex());
  std::fwrite(line.data(), 1, line.size(), file());
}

}  // namespace recorder
