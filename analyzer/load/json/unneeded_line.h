// SPDX-License-Identifier: Apache-2.0
//
// Most lines of a trace are drawn by viewers and not needed here. They are told by their first
// bytes.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_UNNEEDED_LINE_H
#define RINGSIDE_ANALYZER_LOAD_JSON_UNNEEDED_LINE_H

#include <string_view>

namespace ringside::load {

/// True for a good line that the analysis does not need. It begins exactly as the plugin writes
/// such lines: with {"ph":" and then
///   C", or i", or X",
///   b","cat":"K", or e","cat":"K", where K is api, gpu, phase, ctrl, net or ce
///   e","cat":"op",
///   b","cat":"op", where "args" (with its quotes) is nowhere in the line: the outer slice.
/// Such a line is checked: it ends in } or in },; no byte is below 0x20; there is no backslash; the
/// number of quotes is even, and so is that of { and } together. A line that fails a check, or
/// begins in any other way, is to be parsed as JSON: false says nothing about the line.
bool is_unneeded(std::string_view line);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_UNNEEDED_LINE_H
