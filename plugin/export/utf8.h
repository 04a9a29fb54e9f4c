// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_PLUGIN_EXPORT_UTF8_H
#define RINGSIDE_PLUGIN_EXPORT_UTF8_H

#include <cstddef>
#include <string_view>

namespace ringside::exporting {

/// Returns the length of the well-formed UTF-8 sequence at the start of `text` (Unicode 15, table
/// 3-7); 0 if there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_UTF8_H
