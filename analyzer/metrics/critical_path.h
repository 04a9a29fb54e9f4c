// SPDX-License-Identifier: Apache-2.0
//
// The longest chain over all ranks: what each moment of the run had to wait for. Followed from the
// last end backwards. An operation ran from the last arrival that the rank had to wait for; the
// rank that arrived there had launched it, and before that had done something else since its
// previous operation; and so on.
#ifndef RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H
#define RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// The work that a part of the path was spent on.
enum class Spent : std::uint8_t {
  kTransfer,     // all ranks were there that are needed, and the operation ran
  kLaunch,       // from the call to the start of the execution, on a stream that was free
  kStream,       // likewise, while the stream did something else
  kApplication,  // between the end of one operation and the call of the next, on one rank
};
inline constexpr std::size_t kSpentKinds = 4;

struct PathPart {
  Spent spent = Spent::kTransfer;
  std::size_t operation = 0;  // index into Matches::operations
  std::uint32_t rank = 0;     // index into CriticalPath::ranks: whose time it was
  std::int64_t start_ns = 0;  // epoch, common clock
  std::int64_t end_ns = 0;
};

struct RankOnPath {
  std::string label;
  std::string host;
  std::array<std::int64_t, kSpentKinds> spent_ns{};
  std::uint64_t arrivals = 0;  // times others surely waited for it on the path
  /// The path would be shorter by this if it had come with the one before it, each of those times.
  std::int64_t gain_ns = 0;
};

struct CriticalPath {
  std::vector<PathPart> parts;    // from the first to the last
  std::vector<RankOnPath> ranks;  // most time on the path first
  std::array<std::int64_t, kSpentKinds> spent_ns{};
  std::int64_t length_ns = 0;
  std::uint64_t operations = 0;  // on the path
  std::uint64_t undecided = 0;   // of them, those where it is not sure who was waited for
};

CriticalPath find_critical_path(const facts::Facts& facts);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H
