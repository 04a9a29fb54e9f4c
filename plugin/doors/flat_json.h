// SPDX-License-Identifier: Apache-2.0
//
// Reads the requests of the control socket: one JSON object whose values are no objects or arrays.
#ifndef RINGSIDE_PLUGIN_DOORS_FLAT_JSON_H
#define RINGSIDE_PLUGIN_DOORS_FLAT_JSON_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ringside::control {

/// A number without fraction and exponent that fits is an integer. Strings have no NUL; bytes from
/// 0x80 on are taken as they are, since paths may have any.
using FlatValue = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string>;

struct FlatMember {
  std::string name;
  FlatValue value;
};

/// The members in their order. Nothing for what is not such an object alone, for a name that is
/// there twice, and for a number that no double holds.
std::optional<std::vector<FlatMember>> parse_flat_json(std::string_view text);

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DOORS_FLAT_JSON_H
