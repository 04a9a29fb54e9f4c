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

  Line& text(const char* key, const char* value);  // a null value is written as null
  Line& number(const char* key, std::uint64_t value);
  Line& integer(const char* key, std::int64_t value);

  void write() const;

 private:
  std::string json_;
};

}  // namespace recorder
