// SPDX-License-Identifier: Apache-2.0
//
// The longest chain over all ranks: what each moment of the run had to wait for. Followed from the
// last end backwards. An operation ran from the last arrival that the rank had to wait for; the
// rank that arrived there had launched it, and before that had done something else since its
// previous operation; and so on.
#ifndef RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H
#define RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/late_cause.h"

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

/// Finds it once it was given all operations.
class PathFinder {
 public:
  explicit PathFinder(const facts::Facts& facts);

  /// As facts::Fold.
  void add(std::size_t thread, const facts::SeenOperation& seen);

  /// To be called once.
  CriticalPath find();

 private:
  // An operation as one rank had it; by end on each rank.
  struct Visit {
    std::int64_t end_ns = 0;
    std::uint32_t operation = 0;
    std::uint32_t part = 0;
    std::uint32_t cause = 0;  // index into the causes; kNoCause: nobody waited there

    bool operator<(const Visit& other) const {
      return std::tie(end_ns, operation, part) <
             std::tie(other.end_ns, other.operation, other.part);
    }
  };
  static constexpr std::uint32_t kNoCause = std::numeric_limits<std::uint32_t>::max();

  // The least time from a call to its start.
  struct Launch {
    std::uint32_t context = 0;
    std::int64_t least_ns = 0;
  };

  struct OfThread {
    std::vector<std::vector<Visit>> visits;     // by rank
    std::vector<LateCause> causes;              // those of its visits
    std::vector<std::vector<Launch>> launches;  // by file: a few
    // These are of one operation, and are kept for their memory.
    LateCauses late{LateBy::kSure};
    std::vector<std::uint32_t> cause_of_member;
    std::vector<std::uint32_t> cause_of_row;
  };

  void find_causes(const facts::SeenOperation& seen, std::size_t members, OfThread& own) const;
  // The end of what was seen to run, on the common clock.
  std::int64_t end_of(std::uint32_t file, const model::Execution& one) const;
  static void lower(std::vector<Launch>& launches, const Launch& launch);
  void put_together();
  std::optional<std::pair<std::uint32_t, Visit>> last_of_all() const;
  void add_part(Spent spent, const Visit& visit, std::uint32_t rank, std::int64_t start_ns,
                std::int64_t end_ns);
  std::optional<std::pair<std::uint32_t, Visit>> step(std::uint32_t rank, Visit visit,
                                                      std::int64_t& until_ns);
  std::optional<std::pair<std::uint32_t, Visit>> before_start(std::uint32_t rank,
                                                              const Visit& visit,
                                                              std::int64_t& until_ns);
  std::int64_t least_launch_ns(const match::Part& part, const model::Operation& operation) const;
  std::optional<Visit> before_of(std::uint32_t rank, std::int64_t until_ns) const;
  void finish();

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks who_;
  std::vector<OfThread> of_thread_;
  std::vector<std::vector<Visit>> visits_;  // by rank
  std::vector<LateCause> causes_;
  std::vector<std::vector<Launch>> launches_;  // by file
  CriticalPath path_;
};

/// The same in one step.
CriticalPath find_critical_path(const facts::Facts& facts);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H
