// SPDX-License-Identifier: Apache-2.0
//
// Whether noise that lasts makes one rank slower than the others for the whole of a job.
#ifndef RINGSIDE_ANALYZER_METRICS_LASTING_NOISE_H
#define RINGSIDE_ANALYZER_METRICS_LASTING_NOISE_H

#include <vector>

namespace ringside::metrics {

/// What each block of time took one of several that are alike, in the order of time.
using BlockTimes = std::vector<double>;

/// The probability that one has as much more than the mean of the others as the suspect has, if it
/// is like them. All series are of the same length. How long the noise lasts is what the others'
/// series, and the spread of their sums, leave likely; docs/derivations.md has the models. 0 where
/// the series are too short, or nobody else is there, and so nothing is known.
double chance_of_lasting_noise(const BlockTimes& suspect, std::vector<BlockTimes> others);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LASTING_NOISE_H
