// SPDX-License-Identifier: Apache-2.0
#include "live/request.h"

#include "analyzer/report/document/numbers.h"

namespace ringside::live {

Request::Request(std::string_view verb) : line_("{\"version\":1") {
  text("verb", verb);
}

void Request::name(std::string_view name) {
  line_.append(",\"").append(name).append("\":");
}

// Bytes that are not UTF-8 go as they are, and the process refuses the request.
Request& Request::text(std::string_view name, std::string_view value) {
  if (value.empty()) {
    return *this;
  }
  this->name(name);
  line_ += '"';
  for (const char letter : value) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < ' ') {
      line_.append("\\u00").append(1, kHex[byte >> 4U]).append(1, kHex[byte & 0xFU]);
    } else {
      line_.append(letter == '"' || letter == '\\' ? "\\" : "").append(1, letter);
    }
  }
  line_ += '"';
  return *this;
}

Request& Request::integer(std::string_view name, std::uint64_t value) {
  if (value != 0) {
    this->name(name);
    line_ += std::to_string(value);
  }
  return *this;
}

Request& Request::seconds(std::string_view name, double value) {
  if (value != 0) {
    constexpr int kDecimals = 6;
    this->name(name);
    line_ += report::fixed(value, kDecimals);
  }
  return *this;
}

}  // namespace ringside::live
