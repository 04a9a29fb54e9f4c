// SPDX-License-Identifier: Apache-2.0
//
// A kind of line as a table of its fields: which key a line has, and the member of a row that takes
// its value. The canonical pass, which knows where a key begins, and simdjson, which has parsed it,
// read by the same table.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_FIELD_READER_H
#define RINGSIDE_ANALYZER_LOAD_JSON_FIELD_READER_H

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <simdjson.h>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "analyzer/load/json/canonical_value.h"
#include "analyzer/load/json/json_value.h"
#include "analyzer/load/json/key_order.h"
#include "analyzer/model/name_table.h"

namespace ringside::load {

enum class Need : std::uint8_t { kMayLack, kRequired };

/// A field whose value goes into a member of a row. A value that does not fit the member's type is
/// an error.
template <typename Row, typename T>
struct Field {
  std::string_view key;
  T Row::*member;
  Need need = Need::kMayLack;
};
template <typename Row, typename T>
Field(const char*, T Row::*) -> Field<Row, T>;
template <typename Row, typename T>
Field(const char*, T Row::*, Need) -> Field<Row, T>;

/// One whose text becomes an id of the reader's names.
template <typename Row>
struct NameField {
  std::string_view key;
  model::NameId Row::*member;
};
template <typename Row>
NameField(const char*, model::NameId Row::*) -> NameField<Row>;

/// One that lines have and nobody reads. A table has it so that its key is known where it stands.
struct UnreadField {
  std::string_view key;
};

/// The words that stand for the values of an enumeration: pairs of text and value.
template <typename Word>
inline constexpr std::array<std::pair<std::string_view, Word>, 0> kWordsOf = {};

/// Takes a value of simdjson or a CanonicalValue as the type of the result asks for.
template <typename Value, typename T>
simdjson::error_code take_value(Value& value, T& result) {
  if constexpr (std::is_enum_v<T>) {
    std::string_view text;
    if (const auto error = take_view(value, text)) {
      return error;
    }
    for (const auto& [word, meaning] : kWordsOf<T>) {
      if (word == text) {
        result = meaning;
        return simdjson::SUCCESS;
      }
    }
    return simdjson::INCORRECT_TYPE;
  } else if constexpr (std::is_same_v<T, bool>) {
    return take_bool(value, result);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return take_view(value, result);
  } else if constexpr (std::is_same_v<T, std::optional<std::string_view>>) {
    return take_view(value, result.emplace());
  } else {
    return take_integer(value, result);
  }
}

/// Reads the args of lines of one kind. `fields` is a tuple of the above, at most 64 of them, with
/// keys of at most 16 bytes.
template <typename Row, const auto& fields>
class FieldReader {
 public:
  /// `names`: for the NameFields of the table, if it has some.
  explicit FieldReader(model::NameTable* names = nullptr) : names_(names), keys_(kKeys) {}

  /// Before the first member of a line.
  void begin() {
    keys_.restart();
    row_ = {};
    seen_ = 0;
  }
  /// For each member.
  simdjson::error_code operator()(std::string_view key, simdjson::ondemand::value& value) {
    return take(keys_.find(key), value);
  }
  /// The same in two steps: which key begins at `at`, and its value, which is a
  /// simdjson::ondemand::value or a CanonicalValue.
  KeyPlace find_key(const char* at) { return keys_.find_at(at); }
  template <typename Value>
  [[gnu::noinline]] simdjson::error_code take(std::size_t key, Value& value) {
    return take_one(key, value, std::make_index_sequence<kCount>());
  }

  /// Whether the line had the key.
  template <std::size_t kSize>
  bool has(const char (&key)[kSize]) const {
    return (seen_ & bit_of(key)) != 0;
  }
  /// The first required key that the line did not have; empty if all were there.
  std::string_view missing() const {
    const std::uint64_t missing = kRequired & ~seen_;
    return missing == 0 ? std::string_view()
                        : kKeys[static_cast<std::size_t>(std::countr_zero(missing))];
  }

  const Row& row() const { return row_; }

 private:
  static constexpr std::size_t kCount = std::tuple_size_v<std::remove_cvref_t<decltype(fields)>>;
  static_assert(kCount <= 64);

  static constexpr auto kKeys = std::apply(
      [](const auto&... field) { return std::array<std::string_view, kCount>{field.key...}; },
      fields);

  template <typename One>
  static constexpr bool is_required(const One& field) {
    if constexpr (requires { field.need; }) {
      return field.need == Need::kRequired;
    }
    return false;
  }
  static constexpr std::uint64_t bit_of(std::string_view key) {
    std::size_t at = 0;
    while (kKeys[at] != key) {
      ++at;
    }
    return std::uint64_t{1} << at;
  }
  static constexpr std::uint64_t kRequired = std::apply(
      [](const auto&... field) {
        return (std::uint64_t{0} | ... | (is_required(field) ? bit_of(field.key) : 0));
      },
      fields);

  // Becomes a jump by the key.
  template <typename Value, std::size_t... kIndexes>
  simdjson::error_code take_one(std::size_t key, Value& value,
                                std::index_sequence<kIndexes...> /*indexes*/) {
    simdjson::error_code error = simdjson::SUCCESS;
    static_cast<void>(((key == kIndexes && (error = take_field<kIndexes>(value), true)) || ...));
    return error;
  }

  template <std::size_t kIndex, typename Value>
  simdjson::error_code take_field(Value& value) {
    constexpr auto kField = std::get<kIndex>(fields);
    using One = std::remove_const_t<decltype(kField)>;
    if constexpr (std::is_same_v<One, UnreadField>) {
      return simdjson::SUCCESS;
    } else {
      seen_ |= std::uint64_t{1} << kIndex;
      if constexpr (requires { kField.need; }) {
        return take_value(value, row_.*kField.member);
      } else {
        return take_name(kIndex, value, row_.*kField.member);
      }
    }
  }

  // Most often it is the name that the same key had on the line before. It is no part of take(),
  // which needs fewer registers without it.
  template <typename Value>
  [[gnu::noinline]] simdjson::error_code take_name(std::size_t key, Value& value,
                                                   model::NameId& result) {
    std::string_view text;
    if (const auto error = take_view(value, text)) {
      return error;
    }
    model::NameId& last = last_names_[key];
    if (names_->text(last) != text) {
      last = names_->id(text);
    }
    result = last;
    return simdjson::SUCCESS;
  }

  model::NameTable* names_;
  KeyOrder<kCount> keys_;
  std::array<model::NameId, kCount> last_names_ = {};  // that each key had
  Row row_;
  std::uint64_t seen_ = 0;  // a bit for each field of the table
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_FIELD_READER_H
