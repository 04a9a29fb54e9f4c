// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_PICKLE_PLAIN_VALUE_H
#define RINGSIDE_ANALYZER_LOAD_PICKLE_PLAIN_VALUE_H

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace ringside::load {

/// A value of a pickle or JSON text. A dump has a hundred for each entry, so they are small.
struct PlainValue {
  enum class Kind : std::uint32_t {  // as large as the next member: no byte is without a value
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,
    kList,   // and a tuple; text_size is 1 for one that may be a key of a dict
    kDict,   // its items are keys and values in turn
    kOther,  // a number or text that does not fit
  };
  Kind kind = Kind::kNone;
  std::uint32_t text_size = 0;
  // A truth value as 0 or 1; the bits of a real number; a container's index in the tree; the
  // address of a text.
  std::int64_t number = 0;

  bool operator==(const PlainValue& other) const {
    return std::memcmp(this, &other, sizeof other) == 0;
  }

  static PlainValue of_text(std::string_view text) {
    static_assert(sizeof(const char*) == sizeof(number));
    constexpr std::size_t kMostTextBytes = std::numeric_limits<std::uint32_t>::max();
    return text.size() > kMostTextBytes
               ? PlainValue{Kind::kOther}
               : PlainValue{Kind::kText, static_cast<std::uint32_t>(text.size()),
                            std::bit_cast<std::int64_t>(text.data())};
  }
  /// Only where `kind` is kText.
  std::string_view text() const { return {std::bit_cast<const char*>(number), text_size}; }
};

static_assert(std::has_unique_object_representations_v<PlainValue>);

inline std::optional<std::int64_t> integer_of(const PlainValue& value) {
  return value.kind == PlainValue::Kind::kInteger ? std::optional(value.number) : std::nullopt;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PICKLE_PLAIN_VALUE_H
