// SPDX-License-Identifier: Apache-2.0
//
// Walks over the keys and values of a line that is written as the plugin writes it.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_CURSOR_H
#define RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_CURSOR_H

#include <cstring>
#include <string_view>

#include "analyzer/load/json/canonical_value.h"
#include "analyzer/load/source/byte_words.h"

namespace ringside::load {

/// Each function steps over what it names and is false where something else stands there, which may
/// still be JSON. All that is stepped over is valid JSON. A newline ends the line in what may be
/// read, and 32 bytes behind it may be read, too. A call of one of these would take as long as it.
class CanonicalCursor {
 public:
  explicit CanonicalCursor(const char* at) : at_(at) {}

  const char* at() const { return at_; }
  void step(std::size_t bytes) { at_ += bytes; }

  bool skip(char wanted) {
    if (*at_ != wanted) {
      return false;
    }
    ++at_;
    return true;
  }

  /// A text that is known when this is compiled, up to 32 bytes of it.
  template <std::size_t kSize>
  bool skip(const char (&wanted)[kSize]) {
    static_assert(kSize - 1 <= 32);
    if (std::memcmp(at_, wanted, kSize - 1) != 0) {
      return false;
    }
    at_ += kSize - 1;
    return true;
  }

  /// Takes the rest of a text behind its first quote, and skips the last quote.
  [[gnu::always_inline]] bool rest_of_text(std::string_view& result) {
    const char* const end = find_end_of_plain_text(at_);
    result = {at_, static_cast<std::size_t>(end - at_)};
    at_ = end;
    return skip('"');
  }

  /// "key":
  [[gnu::always_inline]] bool key(std::string_view& result) {
    return skip('"') && rest_of_text(result) && skip(':');
  }

  /// Steps over a value whatever it is.
  [[gnu::always_inline]] bool skip_value() {
    if (skip('"')) {
      at_ = find_end_of_plain_text(at_);
      return skip('"');
    }
    const char* const begin = at_;
    const std::size_t digits = count_digits(at_);
    at_ += digits;
    return digits == 0 ? skip("true") || skip("false")
                       : digits <= 15 && (digits == 1 || *begin != '0');
  }

  [[gnu::always_inline]] bool value(CanonicalValue& result) {
    if (skip('"')) {
      result.type = CanonicalValue::Type::kText;
      return rest_of_text(result.text);
    }
    if (number(result.number)) {
      result.type = CanonicalValue::Type::kNumber;
      return true;
    }
    const bool is_true = skip("true");
    result.type = is_true ? CanonicalValue::Type::kTrue : CanonicalValue::Type::kFalse;
    return is_true || skip("false");
  }

  /// Takes one to 15 digits. The caller finds bad text behind them: it wants a comma or a bracket.
  [[gnu::always_inline]] bool number(std::uint64_t& result) {
    const std::size_t digits = read_digits(at_, result);
    if (digits == 0 || digits > 15 || (digits > 1 && *at_ == '0')) {
      return false;
    }
    at_ += digits;
    return true;
  }

  /// Microseconds with three decimals, in nanoseconds.
  bool microseconds(std::int64_t& result_ns) {
    std::uint64_t whole_us = 0;
    if (!number(whole_us) || !skip('.')) {
      return false;
    }
    std::uint64_t part_ns = 0;
    if (read_digits(at_, part_ns) != 3) {
      return false;
    }
    at_ += 3;
    result_ns = static_cast<std::int64_t>(whole_us * 1000 + part_ns);
    return true;
  }

 private:
  const char* at_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_CANONICAL_CURSOR_H
