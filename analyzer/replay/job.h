// SPDX-License-Identifier: Apache-2.0
//
// One run of a job as a graph: what each rank ran, one kernel after the other, and the transfers
// that its kernels take part in. All times of a rank are by the clock of its own host. No two
// clocks are compared.
#ifndef RINGSIDE_ANALYZER_REPLAY_JOB_H
#define RINGSIDE_ANALYZER_REPLAY_JOB_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "analyzer/facts/flow.h"

namespace ringside::replay {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
using facts::kSameMoment_ns;

/// What one rank ran for one operation, or for calls that were grouped.
struct Kernel {
  std::int64_t start_ns = 0;  // the rank's arrival
  std::int64_t end_ns = 0;
  std::int64_t call_ns = 0;  // when the CPU had called it
  /// How long it waited for other ranks. The first one of a rank waits until all have started,
  /// which counts nowhere.
  std::int64_t waited_ns = 0;
  std::uint32_t stream_before = 0;  // the kernel before it on its communicator's stream, or kNone
  std::uint32_t signature = 0;      // equal of calls that are alike: function, bytes, ranks
  std::uint32_t operation = 0;      // index into Matches::operations: the first of grouped calls
  std::uint32_t rank = 0;           // index into Job::ranks

  std::int64_t wall_ns() const { return end_ns - start_ns; }
};

/// A collective, or a send and its receive.
struct Transfer {
  std::uint32_t first_member = 0;  // its kernels are Job::members from here on
  std::uint32_t member_count = 0;
  facts::Flow flow = facts::Flow::kAll;  // or of a root, which is the first member
  /// How long its data took: the shortest time of its kernels, as the last rank to come waits for
  /// nobody.
  std::int64_t time_ns = 0;
  std::uint64_t bytes = 0;  // of the message of one rank; 0: not known
};

/// A rank, and its kernels in the order of their starts.
struct JobRank {
  std::string label;
  std::string host;
  std::int64_t pid = 0;
  std::uint32_t file = 0;  // index into Traces::files
  std::uint32_t first_kernel = 0;
  std::uint32_t kernel_count = 0;
  std::uint32_t step_length = 0;  // kernels of each step that the application names; 0: not known
  std::int64_t hidden_ns = 0;     // of its kernels' waits: may be what its GPU did before them
};

struct Job {
  std::uint32_t run = 0;  // index into Runs::runs
  std::vector<JobRank> ranks;
  std::vector<Kernel> kernels;            // rank by rank
  std::vector<std::uint32_t> links;       // transfers, kernel by kernel
  std::vector<std::uint32_t> first_link;  // by kernel, and the end of the last one's
  std::vector<Transfer> transfers;
  std::vector<std::uint32_t> members;  // kernels of transfers

  /// Those of its ranks.
  std::uint32_t kernel_count() const {
    return ranks.empty() ? 0 : ranks.back().first_kernel + ranks.back().kernel_count;
  }
  std::span<const std::uint32_t> transfers_of(std::uint32_t kernel) const {
    return std::span(links).subspan(first_link[kernel],
                                    first_link[kernel + 1] - first_link[kernel]);
  }
  std::span<const std::uint32_t> kernels_of(const Transfer& transfer) const {
    return std::span(members).subspan(transfer.first_member, transfer.member_count);
  }
  std::span<const Kernel> kernels_of(const JobRank& rank) const {
    return std::span(kernels).subspan(rank.first_kernel, rank.kernel_count);
  }
  /// The same as indices into `kernels`: from `place` on, each that is `step` behind the last one.
  static std::vector<std::uint32_t> indices_of(const JobRank& rank, std::uint32_t place = 0,
                                               std::uint32_t step = 1) {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = place; i < rank.kernel_count; i += step) {
      indices.push_back(rank.first_kernel + i);
    }
    return indices;
  }
  /// The kernels of a rank whose waits count.
  std::span<const Kernel> waits_of(const JobRank& rank) const {
    return kernels_of(rank).subspan(1);
  }
  /// How long the run took: from the moment at which all ranks had come to a rank's first kernel,
  /// to its last end, for the rank where that is longest. What came before is the start of the job.
  std::int64_t wall_ns = 0;
};

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_JOB_H
