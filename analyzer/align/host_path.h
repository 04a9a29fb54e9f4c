// SPDX-License-Identifier: Apache-2.0
//
// The set of offsets that one host may have over its own time. Its rate against the reference is
// within `wander` of a mean rate, and that mean is one number that is not known. So what the bounds
// allow is a set of pairs of rate and offset. It is kept as an interval of rates, and as an
// interval of offsets at each time.
#ifndef RINGSIDE_ANALYZER_ALIGN_HOST_PATH_H
#define RINGSIDE_ANALYZER_ALIGN_HOST_PATH_H

#include <cstddef>
#include <vector>

namespace ringside::align {

/// How fast an offset changes, in ns per ns: between the two.
struct Rates {
  double least = 0;
  double most = 0;
};

/// Moments of one host, in their order, and what its offset is at least and at most at each.
struct HostPath {
  std::vector<double> time_ns;
  std::vector<double> lower_ns;  // -infinity: not bounded
  std::vector<double> upper_ns;
  Rates mean;  // what the mean rate may be

  bool is_bounded() const;
};

/// Narrows the bounds of all moments, and the mean rate, to what is possible together. The set of
/// mean rates is divided into pieces. For each piece the bounds are passed on forwards and
/// backwards, as far as a rate within that piece and `wander` allows. Pieces that contradict the
/// bounds are left out, and of the others the widest bounds at each moment are kept: so nothing
/// that is possible is lost. Returns false if no piece is possible.
bool narrow(HostPath& path, double wander);

/// Returns the bounds of the path at other moments, which must be sorted.
HostPath at_moments(const HostPath& path, const std::vector<double>& moments_ns, double wander);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_HOST_PATH_H
