// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_PLAIN_TEXT_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_PLAIN_TEXT_H

#include <string>
#include <string_view>

namespace ringside::load {

std::string_view without_byte_order_mark(std::string_view text);

/// Returns what a terminal or an editor would show: without a byte order mark, carriage returns,
/// and colours, whose escape logs write in many ways, or drop.
std::string plain_text(std::string_view text);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_PLAIN_TEXT_H
