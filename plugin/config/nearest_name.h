// SPDX-License-Identifier: Apache-2.0
//
// Finds the name that was meant by one that is not known.
#ifndef RINGSIDE_PLUGIN_CONFIG_NEAREST_NAME_H
#define RINGSIDE_PLUGIN_CONFIG_NEAREST_NAME_H

#include <cstddef>
#include <span>
#include <string_view>

namespace ringside::config {

/// Returns the first of `names` with the fewest letters to insert, delete, replace or swap with
/// their neighbour to get to it from `name`. Returns an empty text if that takes a third of the
/// letters of `name` and two, or more. The first `common` letters are those of all names and do not
/// count.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> names,
                              std::size_t common = 0);

}  // namespace ringside::config

#endif  // RINGSIDE_PLUGIN_CONFIG_NEAREST_NAME_H
