// SPDX-License-Identifier: Apache-2.0
//
// Whether a difference may be chance.
#ifndef RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H
#define RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H

#include <cstdint>
#include <vector>

namespace ringside::metrics {

/// The probability that Student's t with so many degrees of freedom (above 0, not always whole)
/// exceeds `t`.
double student_upper_tail(double t, double freedom);

/// Holm's correction: the probabilities, raised so that all together are wrong no more often than
/// each said alone. At most 1.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H
