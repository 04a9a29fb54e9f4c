// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_UNIT_SANITIZED_H
#define RINGSIDE_TEST_UNIT_SANITIZED_H

namespace ringside {

/// Whether a sanitizer watches this build. A test then takes at least ten times as long. Some tests
/// draw fewer inputs for that reason.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

}  // namespace ringside

#endif  // RINGSIDE_TEST_UNIT_SANITIZED_H
