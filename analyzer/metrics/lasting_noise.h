// SPDX-License-Identifier: Apache-2.0
//
// Whether noise that lasts makes one rank slower than the others for the whole of a job.
#ifndef RINGSIDE_ANALYZER_METRICS_LASTING_NOISE_H
#define RINGSIDE_ANALYZER_METRICS_LASTING_NOISE_H

#include <vector>

namespace ringside::metrics {

/// The time that one of several that are alike took in each block, in the order of time.
using BlockTimes = std::vector<double>;

/// The probability that one exceeds the mean of the others by as much as the suspect does, if it is
/// like them. All series are of the same length. The others' series, and the spread of their sums,
/// say how long the noise is likely to last; docs/dev/derivations.md has the models. 0 if the
/// series are too short, or there are no others: then nothing is known.
double chance_of_lasting_noise(const BlockTimes& suspect, std::vector<BlockTimes> others);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LASTING_NOISE_H
