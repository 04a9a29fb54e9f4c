// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_LOAD_COMPARE_LOADERS_H
#define RINGSIDE_TEST_LOAD_COMPARE_LOADERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::plain {

/// Loads the files with the plain loader, and with the analyzer's once for each size of its ranges.
/// Returns the first difference in words: what the analyzer's has, instead of what the plain one
/// has; empty if there is none.
std::string compare_loaders(const std::vector<std::string>& paths,
                            const std::vector<std::uint64_t>& range_bytes, unsigned threads);

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_COMPARE_LOADERS_H
