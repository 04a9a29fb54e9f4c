// SPDX-License-Identifier: Apache-2.0
#include "test/load/plain_json.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

namespace ringside::plain {
namespace {

using nlohmann::json;

json parsed(std::string_view text) {
  return json::parse(text, nullptr, false);
}

// Follows strings and brackets.
class Nesting {
 public:
  /// Takes the next character; true if it is in no string and no brackets.
  bool is_outside(char character) {
    const bool is_escaped = std::exchange(escapes_next_, false);
    escapes_next_ = character == '\\' && !is_escaped;
    if (character == '"' && !is_escaped) {
      in_string_ = !in_string_;
    } else if (!in_string_ && (character == '{' || character == '[')) {
      ++depth_;
    } else if (!in_string_ && (character == '}' || character == ']')) {
      --depth_;
    }
    is_whole_ = is_whole_ && depth_ >= 0;
    return !in_string_ && depth_ == 0;
  }
  /// All strings and brackets that were begun have ended.
  bool is_closed() const { return is_whole_ && !in_string_ && depth_ == 0; }

 private:
  bool in_string_ = false;
  bool escapes_next_ = false;
  bool is_whole_ = true;
  std::int64_t depth_ = 0;
};

// Splits at a separator that is in no string and no brackets: everywhere, or at the first.
std::optional<std::vector<std::string_view>> split(std::string_view text, char separator,
                                                   bool at_first_only) {
  std::vector<std::string_view> pieces;
  Nesting nesting;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (nesting.is_outside(text[i]) && text[i] == separator && (pieces.empty() || !at_first_only)) {
      pieces.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  pieces.push_back(text.substr(begin));
  return nesting.is_closed() ? std::optional(pieces) : std::nullopt;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_json_object(std::string_view text) {
  // The library takes a byte order mark before, and a NUL for the end of the text.
  return text.starts_with('{') && text.find('\0') == std::string_view::npos && json::accept(text);
}

std::optional<Members> members_of(std::string_view object) {
  object = trimmed(object);
  if (object.size() < 2 || !object.starts_with('{') || !object.ends_with('}')) {
    return std::nullopt;
  }
  object = object.substr(1, object.size() - 2);
  Members members;
  if (trimmed(object).empty()) {
    return members;
  }
  const auto pieces = split(object, ',', false);
  if (!pieces) {
    return std::nullopt;
  }
  for (const std::string_view piece : *pieces) {
    const auto halves = split(piece, ':', true);
    if (!halves || halves->size() != 2) {
      return std::nullopt;
    }
    const std::string_view value = trimmed(halves->at(1));
    auto key = text_of(trimmed(halves->at(0)));
    if (!key || value.empty()) {
      return std::nullopt;
    }
    members.push_back({std::move(*key), std::string(value)});
  }
  return members;
}

std::optional<std::vector<std::string>> elements_of(std::string_view array) {
  array = trimmed(array);
  if (array.size() < 2 || !array.starts_with('[') || !array.ends_with(']')) {
    return std::nullopt;
  }
  array = array.substr(1, array.size() - 2);
  std::vector<std::string> elements;
  if (trimmed(array).empty()) {
    return elements;
  }
  const auto pieces = split(array, ',', false);
  if (!pieces) {
    return std::nullopt;
  }
  for (const std::string_view piece : *pieces) {
    elements.emplace_back(trimmed(piece));
  }
  return elements;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  const json value = parsed(text);
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return std::in_range<std::int64_t>(number) ? std::optional(static_cast<std::int64_t>(number))
                                               : std::nullopt;
  }
  return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

std::optional<std::int64_t> digits_of(std::string_view text, int base) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::int64_t number = 0;
  for (const char character : text) {
    const bool is_upper = character >= 'A' && character <= 'F';
    const auto digit = static_cast<std::int64_t>(
        kDigits.find(is_upper ? static_cast<char>(character - 'A' + 'a') : character));
    if (digit < 0 || digit >= base ||
        number > (std::numeric_limits<std::int64_t>::max() - digit) / base) {
      return std::nullopt;
    }
    number = number * base + digit;
  }
  return text.empty() ? std::nullopt : std::optional(number);
}

std::optional<bool> boolean_of(std::string_view text) {
  const json value = parsed(text);
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::optional<std::string> text_of(std::string_view text) {
  const json value = parsed(text);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<std::size_t> strings_in(std::string_view text) {
  const json value = parsed(text);
  const bool are_strings =
      value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const json& of) { return of.is_string(); });
  return are_strings ? std::optional(value.size()) : std::nullopt;
}

}  // namespace ringside::plain
