// SPDX-License-Identifier: Apache-2.0
//
// Reads members of a parsed JSON object that may hold anything. An absent member, or one of another
// type, is reported as absent and is no error. Views are valid until the parser reads on.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_DOM_VALUE_H
#define RINGSIDE_ANALYZER_LOAD_JSON_DOM_VALUE_H

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string_view>
#include <system_error>

namespace ringside::load {

/// A number, or a text that is one: tools that rewrite JSON make it either.
inline std::optional<std::int64_t> integer_of(const simdjson::dom::element& element) {
  std::int64_t value = 0;
  std::string_view text;
  if (element.get_string().get(text) == simdjson::SUCCESS) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(value)
                                                                           : std::nullopt;
  }
  return element.get_int64().get(value) == simdjson::SUCCESS ? std::optional(value) : std::nullopt;
}

inline std::optional<std::int64_t> integer_at(const simdjson::dom::object& object,
                                              std::string_view key) {
  simdjson::dom::element element;
  return object[key].get(element) == simdjson::SUCCESS ? integer_of(element) : std::nullopt;
}

inline std::string_view text_at(const simdjson::dom::object& object, std::string_view key) {
  std::string_view value;
  return object[key].get_string().get(value) == simdjson::SUCCESS ? value : std::string_view();
}

/// Members of an object, found in one pass over it: where many are wanted, one search for each
/// costs more. `keys` is a static array of them; members are asked for by their places in it.
template <const auto& keys>
class Members {
 public:
  explicit Members(const simdjson::dom::object& object) {
    for (const auto field : object) {
      const auto key = std::find_if(keys.begin(), keys.end(), [&](std::string_view wanted) {
        return wanted.size() == field.key.size() && wanted.front() == field.key.front() &&
               wanted == field.key;
      });
      const auto place = static_cast<std::size_t>(key - keys.begin());
      if (key != keys.end() && !values_[place]) {
        values_[place] = field.value;
      }
    }
  }

  const std::optional<simdjson::dom::element>& at(std::size_t place) const {
    return values_[place];
  }
  std::optional<std::int64_t> integer(std::size_t place) const {
    return values_[place] ? integer_of(*values_[place]) : std::nullopt;
  }
  std::string_view text(std::size_t place) const {
    std::string_view value;
    return values_[place] && values_[place]->get_string().get(value) == simdjson::SUCCESS
               ? value
               : std::string_view();
  }

 private:
  std::array<std::optional<simdjson::dom::element>, keys.size()> values_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_DOM_VALUE_H
