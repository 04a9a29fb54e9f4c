// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/json_scan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace ringside::lint {
namespace {

constexpr std::uint64_t kMaxExactInteger = std::uint64_t{1} << 53U;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_beyond_exact(std::string_view number) {
  const std::string_view digits = number.starts_with('-') ? number.substr(1) : number;
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return false;  // a fraction or an exponent: not an integer
  }
  std::uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return result.ec != std::errc() || value > kMaxExactInteger;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  JsonScan run() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '"') {
        take_string();
      } else if (c == '-' || is_digit(c) || is_letter(c)) {
        take_word();
      } else {
        take_structure(c);
      }
    }
    return scan_;
  }

 private:
  void take_string() {
    const std::size_t begin = ++position_;
    while (position_ < text_.size() && text_[position_] != '"') {
      position_ += text_[position_] == '\\' ? 2 : 1;
    }
    position_ = std::min(position_, text_.size());
    last_string_ = text_.substr(begin, position_ - begin);
    ++position_;
  }

  void take_word() {
    const std::size_t begin = position_;
    while (position_ < text_.size() &&
           std::string_view(",:{}[] \t\"").find(text_[position_]) == std::string_view::npos) {
      ++position_;
    }
    const std::string_view word = text_.substr(begin, position_ - begin);
    const bool is_number = is_digit(word.back()) && !is_letter(word.front());
    if (depth_ == 1 && key_ == "ts") {
      scan_.ts = word;
    } else if (depth_ == 1 && key_ == "dur") {
      scan_.dur = word;
    }
    if (is_number && scan_.big_integer.empty() && is_beyond_exact(word)) {
      scan_.big_integer = word;
    }
    if (!is_number && scan_.bare_word.empty() && word != "true" && word != "false" &&
        word != "null") {
      scan_.bare_word = word;
    }
  }

  void take_structure(char c) {
    ++position_;
    if (c == '{' || c == '[') {
      scan_.has_more = scan_.has_more || is_done_;
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
      is_done_ = is_done_ || depth_ == 0;
    } else if (c == ':' && depth_ == 1) {
      key_ = last_string_;
    }
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int depth_ = 0;
  bool is_done_ = false;
  std::string_view last_string_;
  std::string_view key_;
  JsonScan scan_;
};

}  // namespace

JsonScan scan_json(std::string_view text) {
  return Scanner(text).run();
}

std::int64_t perfetto_ns(std::string_view microseconds) {
  double us = 0;
  std::from_chars(microseconds.data(), microseconds.data() + microseconds.size(), us);
  constexpr double kLimit = 9e15;
  return std::llround(std::clamp(us, -kLimit, kLimit) * 1000);
}

}  // namespace ringside::lint
