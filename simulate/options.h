// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_SIMULATE_OPTIONS_H
#define RINGSIDE_SIMULATE_OPTIONS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ringside::simulate {

enum class Function {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAlltoAll,  // from here on grouped sends and receives
  kAlltoAllv,
  kGather,
  kScatter,
  kRingShift,
  kNeighbour,
};
inline constexpr std::array kFunctionNames = {
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",   "AlltoAll",
    "AlltoAllv", "Gather",    "Scatter",       "RingShift", "Neighbour"};
inline constexpr int kCollectives = 5;  // number of functions that have sequence numbers

/// A communicator of all ranks; of K consecutive ranks; of the ranks with the same place in these
/// groups.
enum class Group { kWorld, kSplit, kOrthogonal };
inline constexpr int kGroups = 3;

inline const char* name_of(Function function) {
  return kFunctionNames.at(static_cast<std::size_t>(function));
}

/// One operation of the pattern that every iteration runs.
struct Step {
  Function function = Function::kAllReduce;
  std::uint64_t bytes = 0;  // as `bytes` in docs/trace-format.md
  Group group = Group::kWorld;
};

enum class FaultKind { kStraggler, kSlowLink, kMismatch, kMissing, kHang, kDrop, kStartLate };

struct Fault {
  FaultKind kind = FaultKind::kStraggler;
  int rank = 0;
  /// Mismatch, missing: number of the operation from 0, all iterations counted through.
  /// Straggler, hang, start late: number of the iteration from 0.
  std::int64_t at = 0;
  std::int64_t delay_ns = 0;   // straggler
  std::int64_t until = 0;      // straggler: the iteration from which on it is not late any more
  std::int64_t growth_ns = 0;  // straggler: by how much the delay grows from iteration to iteration
  int to_rank = 0;             // slow link
  int channel = 0;             // slow link
  double factor = 1;           // slow link; drop: share of the operations
  std::string what;            // mismatch: size, datatype, root or function
};

/// When a rank computes longer: each so many iterations, for so many of them; or in a random
/// percentage, by a factor.
struct LateMode {
  int rank = 0;
  std::int64_t delay_ns = 0;
  std::int64_t every = 1;
  std::int64_t length = 1;
  std::int64_t from = 0;
  double factor = 1;
  double percent = 0;
};

/// A step of a host's clock, at the begin of an iteration.
struct StepPlan {
  int host = 0;
  std::int64_t iteration = 0;
  std::int64_t size_ns = 0;
  bool is_reported = true;
};

enum class Detail { kOperationsOnly, kNormal, kFull };
enum class End { kClosed, kDump, kKilled };

struct Options {
  std::string directory;
  std::string job = "generated";
  std::uint64_t seed = 1;
  int hosts = 2;
  int ranks_per_host = 4;
  int split = 0;  // 0: no splits
  int iterations = 10;
  std::vector<Step> pattern;
  std::int64_t compute_ns = 500'000;
  double jitter = 0.2;     // of the computing time
  double tail_index = 0;   // of a Pareto law on top of it; 0: none
  double persistence = 0;  // correlation of a rank's slowness from one iteration to the next
  std::int64_t stamp_noise_ns = 2'000;
  double bandwidth_gb_s = 40;
  int channels = 2;
  std::int64_t max_offset_ns = 500'000'000;
  std::int64_t max_error_ns = 0;  // 0: the clock lines do not say it
  std::int64_t max_drift_ppb = 20'000;
  std::int64_t wander_ns = 0;
  std::int64_t wander_period_ns = 60'000'000'000;
  bool proxy_times = false;
  bool steps = false;
  bool no_hash = false;
  bool seq_from_window = false;
  int sample = 1;
  Detail detail = Detail::kNormal;
  End end = End::kClosed;
  std::int64_t rest_ns = 1'000'000;  // from the last that happens to the end of the traces
  std::vector<Fault> faults;
  std::vector<LateMode> late_modes;
  std::vector<StepPlan> clock_steps;
  std::vector<int> truncate;  // ranks
  std::vector<int> lose;      // ranks

  int ranks() const { return hosts * ranks_per_host; }
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_SIMULATE_OPTIONS_H
