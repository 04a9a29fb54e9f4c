// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_LOAD_DRAWN_LINE_H
#define RINGSIDE_TEST_LOAD_DRAWN_LINE_H

#include <string_view>

namespace ringside::plain {

/// True for a line that is only drawn, so that the analyzer looks at it no further than
/// docs/trace-format.md ("Reading") says: what is wrong behind its beginning is for
/// `ringside lint` to find.
bool is_drawn_only(std::string_view line);

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_DRAWN_LINE_H
