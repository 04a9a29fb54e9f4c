// SPDX-License-Identifier: Apache-2.0
//
// JSON for the plain loader: slow and obvious, by another library than the analyzer's.
#ifndef RINGSIDE_TEST_LOAD_PLAIN_JSON_H
#define RINGSIDE_TEST_LOAD_PLAIN_JSON_H

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ringside::plain {

/// Without the blanks, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text);

/// True for one JSON object in valid UTF-8 (RFC 8259), and nothing beside it.
bool is_json_object(std::string_view text);

struct Member {
  std::string key;
  std::string value;  // its JSON, as it stands there
};
using Members = std::vector<Member>;

/// The members of an object in their order, found by strings and brackets alone: a value is checked
/// to be JSON where it is taken. Nothing if the text is not an object even by this rule.
std::optional<Members> members_of(std::string_view object);
/// The elements of an array in their order, likewise.
std::optional<std::vector<std::string>> elements_of(std::string_view array);

/// The value of a JSON integer that fits; nothing for anything else, 1.0 too.
std::optional<std::int64_t> integer_of(std::string_view json);
/// The value of digits alone, zeros before them too; nothing if there is anything else, or if it
/// does not fit.
std::optional<std::int64_t> digits_of(std::string_view text, int base);
std::optional<bool> boolean_of(std::string_view json);
std::optional<std::string> text_of(std::string_view json);
/// How many there are in an array of strings; nothing for anything else.
std::optional<std::size_t> strings_in(std::string_view json);

template <typename Value>
std::optional<Value> value_of(std::string_view json) {
  if constexpr (std::same_as<Value, bool>) {
    return boolean_of(json);
  } else if constexpr (std::same_as<Value, std::string>) {
    return text_of(json);
  } else {
    const std::optional<std::int64_t> number = integer_of(json);
    return number && std::in_range<Value>(*number) ? std::optional(static_cast<Value>(*number))
                                                   : std::nullopt;
  }
}

/// The type that a variable holds: its own type, or that of the value of an optional.
template <typename Variable>
struct Held {
  using Type = Variable;
};
template <typename Variable>
requires requires(Variable variable) {
  *variable;
}
struct Held<Variable> {
  using Type = std::remove_cvref_t<decltype(*std::declval<Variable>())>;
};

/// Puts the value of a key into a variable, which stays as it is where the key is absent. False if
/// a value is of another type. A key that is there twice must be right twice; the last one counts.
template <typename Variable>
bool take(const Members& members, std::string_view key, Variable& variable) {
  for (const Member& member : members) {
    if (member.key == key) {
      const auto value = value_of<typename Held<Variable>::Type>(member.value);
      if (!value) {
        return false;
      }
      variable = *value;
    }
  }
  return true;
}

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_PLAIN_JSON_H
