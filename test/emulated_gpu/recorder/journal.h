// SPDX-License-Identifier: Apache-2.0
//
// The recorder's output: one JSON object per line, one file per process.
#pragma once

#include <cstdint>
#include <string>

namespace recorder {

class Line {
 public:
  // Begins with the time (monotonic, nanoseconds), the thread and the callback's name.
  explicit Line(const char* callback);

  // The same in the form of test/data/transcripts, with their keys.
  static Line of_transcript(const char* callback);

  Line& text(const char* key, const char* value);  // a null value is written as null
  Line& number(const char* key, std::uint64_t value);
  Line& integer(const char* key, std::int64_t value);
  Line& hexadecimal(const char* key, std::uint64_t value);

  void write() const;

 private:
  Line(const char* time_key, const char* thread_key, const char* callback_key,
       const char* callback);

  std::string json_;
};

}  // namespace recorder
