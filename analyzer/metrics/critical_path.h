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
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/metrics/grouping.h"
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
  /// The path would be shorter by this if it had come with the one before it, each of those times,
  /// or as early as its previous operation lets it.
  std::int64_t gain_ns = 0;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(spent_ns, arrivals, gain_ns);
  }
};

/// An operation on the path, as its lowest rank recorded it.
struct PathOperation {
  match::MatchedOperation matched;
  std::optional<std::uint64_t> bytes;
  std::string group;  // as of Grouping

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(matched, bytes, group);
  }
};

struct CriticalPath {
  std::vector<PathPart> parts;    // from the first to the last
  std::vector<RankOnPath> ranks;  // most time on the path first
  std::array<std::int64_t, kSpentKinds> spent_ns{};
  std::int64_t length_ns = 0;
  std::uint64_t operations = 0;  // on the path
  std::uint64_t undecided = 0;   // of them, those where it is not sure who was waited for
  std::map<std::size_t, PathOperation> described;  // the operations of `parts`

  /// Joins a part of the path before this one, as far as it was followed back. Ranks keep their
  /// labels and hosts, which are not in an archive.
  void take(CriticalPath&& earlier);
  /// Sums the parts up, once the path was followed back to its begin.
  void finish();

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(parts, ranks, operations, undecided, described);
  }
};

/// An operation as one rank had it: a place on the path.
struct PathPoint {
  std::uint32_t rank = 0;  // index into GlobalRanks::all()
  std::int64_t end_ns = 0;
  std::uint32_t operation = 0;
  std::uint32_t part = 0;

  /// The later one is greater.
  bool operator<(const PathPoint& other) const {
    return std::tie(end_ns, operation, part) < std::tie(other.end_ns, other.operation, other.part);
  }
};

/// The path up to which it was followed back: what the rank did before is not known yet.
struct PathStop {
  std::uint32_t rank = 0;
  std::size_t operation = 0;
  std::int64_t until_ns = 0;
  std::int64_t called_ns = 0;
  std::int64_t least_launch_ns = 0;
  std::int64_t margin_ns = 0;  ///< by how much it surely came last there

  /// Adds what is on the path between the operation and the one before it on the rank.
  void leave(const std::optional<PathPoint>& before, CriticalPath& path) const;
};

/// The least time from a call to its start.
struct Launch {
  std::uint32_t context = 0;
  std::int64_t least_ns = 0;
};
using Launches = std::vector<std::vector<Launch>>;  // by file: a few

/// Joins what was found of other operations.
void take_launches(Launches& launches, const Launches& more);

/// Finds it once it was given all operations.
class PathFinder {
 public:
  /// `by`: what operations on the path are described by.
  explicit PathFinder(const facts::Facts& facts, RowsBy by = RowsBy::kKind);

  /// As facts::Fold.
  void add(std::size_t thread, const facts::SeenOperation& seen);
  /// Adds all of them, on all cores.
  void add_all(const facts::Facts& facts);

  /// To be called once.
  CriticalPath find();

  // The same in steps, where each process has some of the operations. First all are put together.
  void put_together();
  const Launches& launches() const { return launches_; }
  /// The launches of all processes.
  void set_launches(Launches launches) { launches_ = std::move(launches); }
  /// The first and the last end on each rank; nothing: it has none here.
  std::vector<std::optional<std::pair<std::int64_t, std::int64_t>>> ends() const;
  /// The last operation on all ranks.
  std::optional<PathPoint> last_of_all() const;
  /// The last on the rank that had ended by then.
  std::optional<PathPoint> before(std::uint32_t rank, std::int64_t until_ns) const;
  /// Goes from the end of an operation to the begin on the rank for which it had to wait.
  PathStop arrive(const PathPoint& point);
  /// Gives away the path since the last time; all ranks are in it.
  CriticalPath take_path();
  CriticalPath& path() { return path_; }

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

  struct OfThread {
    std::vector<std::vector<Visit>> visits;  // by rank
    std::vector<LateCause> causes;           // those of its visits
    Launches launches;
    // These are of one operation, and are kept for their memory.
    LateCauses late{LateBy::kSure};
    std::vector<std::uint32_t> cause_of_member;
    std::vector<std::uint32_t> cause_of_row;
  };

  void find_causes(const facts::SeenOperation& seen, std::size_t members, OfThread& own) const;
  // The end of what was seen to run, on the common clock.
  std::int64_t end_of(std::uint32_t file, const model::Execution& one) const;
  void describe(std::uint32_t operation);
  std::int64_t least_launch_ns(const match::Part& part, const model::Operation& operation) const;

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const GlobalRanks who_;
  std::vector<OfThread> of_thread_;
  std::vector<std::vector<Visit>> visits_;  // by rank
  std::vector<LateCause> causes_;
  Launches launches_;
  const Grouping grouping_;
  CriticalPath path_;
};

/// The same in one step.
CriticalPath find_critical_path(const facts::Facts& facts, RowsBy by = RowsBy::kKind);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CRITICAL_PATH_H
