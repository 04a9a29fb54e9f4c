// SPDX-License-Identifier: Apache-2.0
//
// Whether a difference may be chance.
#ifndef RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H
#define RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringside::metrics {

/// The probability that Student's t with so many degrees of freedom (above 0, not always whole)
/// exceeds `t`.
double student_upper_tail(double t, double freedom);

/// Holm's correction: the probabilities, raised so that all together are wrong no more often than
/// each said alone. At most 1.
std::vector<double> holm(const std::vector<double>& probabilities);

/// Ranks instead of values, so that single long times do not hide how alike neighbours are; less
/// their mean.
std::vector<double> centred_ranks(const std::vector<double>& values);
double power_of(const std::vector<double>& values);
/// The correlation at that lag of values whose mean was taken off, as a share of `power`, the sum
/// of their squares.
double correlation(const std::vector<double>& values, std::size_t lag, double power);

/// How many values in a row tell as much as one alone: 1 + twice the sum of the correlations of
/// their ranks, up to the first pair of lags whose sum is not above 0 (Geyer's initial positive
/// sequence). All series are of the same length and alike, so their mean correlations count.
double correlation_time(const std::vector<std::vector<double>>& series);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_SIGNIFICANCE_H
