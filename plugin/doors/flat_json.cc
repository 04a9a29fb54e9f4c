// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/flat_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace ringside::control {
namespace {

// Each function takes what it reads off the front of the text, or says false.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  bool object(std::vector<FlatMember>& members) {
    skip_space();
    if (!take('{')) {
      return false;
    }
    skip_space();
    if (take('}')) {
      return is_at_end();
    }
    do {
      FlatMember member;
      skip_space();
      if (!string(member.name) || is_known(members, member.name)) {
        return false;
      }
      skip_space();
      if (!take(':')) {
        return false;
      }
      skip_space();
      if (!value(member.value)) {
        return false;
      }
      members.push_back(std::move(member));
      skip_space();
    } while (take(','));
    return take('}') && is_at_end();
  }

 private:
  static bool is_known(const std::vector<FlatMember>& members, const std::string& name) {
    return std::any_of(members.begin(), members.end(),
                       [&](const FlatMember& member) { return member.name == name; });
  }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool is_at_end() {
    skip_space();
    return rest_.empty();
  }

  bool take(char wanted) {
    const bool is_there = rest_.starts_with(wanted);
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }

  bool take_word(std::string_view word) {
    const bool is_there = rest_.starts_with(word);
    rest_.remove_prefix(is_there ? word.size() : 0);
    return is_there;
  }

  bool value(FlatValue& value) {
    if (rest_.starts_with('"')) {
      return string(value.emplace<std::string>());
    }
    if (take_word("true")) {
      value = true;
      return true;
    }
    if (take_word("false")) {
      value = false;
      return true;
    }
    if (take_word("null")) {
      value = nullptr;
      return true;
    }
    return number(value);
  }

  std::size_t digits_at(std::size_t at) const {
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789", at), rest_.size());
    return end < at ? 0 : end - at;
  }

  bool number(FlatValue& value) {
    std::size_t at = rest_.starts_with('-') ? 1 : 0;
    const std::size_t whole = digits_at(at);
    if (whole == 0 || (whole > 1 && rest_[at] == '0')) {
      return false;
    }
    at += whole;
    bool is_integer = true;
    if (at < rest_.size() && rest_[at] == '.') {
      const std::size_t fraction = digits_at(at + 1);
      if (fraction == 0) {
        return false;
      }
      at += 1 + fraction;
      is_integer = false;
    }
    if (at < rest_.size() && (rest_[at] == 'e' || rest_[at] == 'E')) {
      const bool has_sign = at + 1 < rest_.size() && (rest_[at + 1] == '+' || rest_[at + 1] == '-');
      const std::size_t exponent = digits_at(at + 1 + (has_sign ? 1 : 0));
      if (exponent == 0) {
        return false;
      }
      at += 1 + (has_sign ? 1 : 0) + exponent;
      is_integer = false;
    }
    const char* const end = rest_.data() + at;
    std::int64_t integer = 0;
    double real = 0;
    if (is_integer && std::from_chars(rest_.data(), end, integer).ec == std::errc{}) {
      value = integer;
    } else if (std::from_chars(rest_.data(), end, real).ec == std::errc{} && std::isfinite(real)) {
      value = real;
    } else if (is_too_small(rest_.substr(0, at))) {
      value = 0.0;
    } else {
      return false;
    }
    rest_.remove_prefix(at);
    return true;
  }

  // Of a number that fits no double, for which from_chars has one error: whether it is next to 0.
  static bool is_too_small(std::string_view number) {
    const std::size_t e = std::min(number.find_first_of("eE"), number.size());
    const std::string_view digits = number.substr(0, e);
    const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
    const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
    std::string_view power = number.substr(std::min(e + 1, number.size()));
    if (power.starts_with('+')) {
      power.remove_prefix(1);
    }
    std::int64_t exponent = 0;
    const auto read = std::from_chars(power.data(), power.data() + power.size(), exponent);
    // The digits are at most a request's; compared, not added, since the sum may be none.
    return read.ec == std::errc::result_out_of_range ? power.starts_with('-')
                                                     : exponent < first - point;
  }

  bool string(std::string& text) {
    if (!take('"')) {
      return false;
    }
    while (!rest_.empty()) {
      const char letter = rest_.front();
      rest_.remove_prefix(1);
      if (letter == '"') {
        return true;
      }
      if (static_cast<unsigned char>(letter) < ' ' || (letter == '\\' && !escape(text))) {
        return false;
      }
      if (letter != '\\') {
        text += letter;
      }
    }
    return false;
  }

  bool escape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (rest_.empty()) {
      return false;
    }
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    if (const std::size_t which = kLetters.find(letter); which != std::string_view::npos) {
      text += kMeanings[which];
      return true;
    }
    std::uint32_t code = 0;
    if (letter != 'u' || !hex(code) || code == 0 || (code & 0xFC00U) == 0xDC00U) {
      return false;
    }
    if ((code & 0xFC00U) == 0xD800U) {
      std::uint32_t low = 0;
      if (!take_word("\\u") || !hex(low) || (low & 0xFC00U) != 0xDC00U) {
        return false;
      }
      code = 0x10000U + ((code & 0x3FFU) << 10U) + (low & 0x3FFU);
    }
    append_utf8(code, text);
    return true;
  }

  bool hex(std::uint32_t& code) {
    constexpr std::size_t kDigits = 4;
    if (rest_.size() < kDigits) {
      return false;
    }
    const char* const end = rest_.data() + kDigits;
    const auto read = std::from_chars(rest_.data(), end, code, 16);
    rest_.remove_prefix(kDigits);
    return read.ec == std::errc{} && read.ptr == end;
  }

  static void append_utf8(std::uint32_t code, std::string& text) {
    const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xC0U | code >> 6U);
      byte(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
      byte(0xE0U | code >> 12U);
      byte(0x80U | (code >> 6U & 0x3FU));
      byte(0x80U | (code & 0x3FU));
    } else {
      byte(0xF0U | code >> 18U);
      byte(0x80U | (code >> 12U & 0x3FU));
      byte(0x80U | (code >> 6U & 0x3FU));
      byte(0x80U | (code & 0x3FU));
    }
  }

  std::string_view rest_;
};

}  // namespace

std::optional<std::vector<FlatMember>> parse_flat_json(std::string_view text) {
  std::vector<FlatMember> members;
  return Parser(text).object(members) ? std::optional(std::move(members)) : std::nullopt;
}

}  // namespace ringside::control
