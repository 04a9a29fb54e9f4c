// SPDX-License-Identifier: Apache-2.0
//
// Whether a difference may be chance.
#ifndef RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H
#define RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H

#include <cstdint>
#include <vector>

namespace ringside::metrics {

/// The two-sided probability of Mann and Whitney's U by the normal approximation, with correction
/// for ties and for continuity. Both are ascending and not empty. 1 where all values are equal.
double mann_whitney(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);
double mann_whitney_of_rates(const std::vector<double>& a, const std::vector<double>& b);

/// Holm's correction: the probabilities, raised so that all together are wrong no more often than
/// each said alone. At most 1.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H
