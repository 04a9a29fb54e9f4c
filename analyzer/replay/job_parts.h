// SPDX-License-Identifier: Apache-2.0
//
// What was seen of a job: kernels and transfers, as the operations come, in any order. Parts of
// several threads are joined, and become the jobs of all runs.
#ifndef RINGSIDE_ANALYZER_REPLAY_JOB_PARTS_H
#define RINGSIDE_ANALYZER_REPLAY_JOB_PARTS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/replay/job.h"
#include "analyzer/replay/profile_edges.h"

namespace ringside::replay {

/// A kernel, or one of the calls that a kernel was made of.
struct SeenKernel {
  std::uint32_t rank = 0;       // as in GlobalRanks
  std::uint32_t signature = 0;  // those of the calls of one kernel are added up
  std::uint32_t operation = 0;  // its index, which decides between equals
  /// The rank, or another one of the transfer, may have come at any time between its call and the
  /// start: data that the network sends waits for the receiver, too. All are compared by their
  /// calls then.
  bool is_open = false;
  std::uint64_t group = 0;  // of the calls of one kernel of a rank and communicator; 0: none
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t call_ns = 0;
};

/// How many operations of several ranks there are, and of how many all ranks, or some, were seen to
/// run them from start to end.
struct Coverage {
  std::uint64_t operations = 0;
  std::uint64_t seen = 0;
  std::uint64_t seen_on_some = 0;
  /// Left out: those of profiles before the first that all ranks recorded, or behind the last.
  std::uint64_t at_edges = 0;

  bool is_enough() const { return 10 * seen >= 9 * operations; }
  /// False: too many operations were not seen on a rank for which others may have waited.
  bool shows_waits() const { return 9 * seen_on_some <= seen; }
  /// Several ranks took part in operations, and none of them was seen on all.
  bool is_blind() const { return operations > 0 && seen == 0; }
  void add(const Coverage& more) {
    operations += more.operations;
    seen += more.seen;
    seen_on_some += more.seen_on_some;
    at_edges += more.at_edges;
  }
};

struct JobParts {
  std::vector<SeenKernel> kernels;
  std::vector<Transfer> transfers;     // without their times
  std::vector<std::uint32_t> members;  // indices into kernels
  std::vector<Coverage> coverage;      // by run, as Job::run

  void take(const JobParts& more);
};

class PartsFinder {
 public:
  /// `facts` must outlive it.
  explicit PartsFinder(const facts::Facts& facts);

  /// As facts::Fold.
  void add(std::size_t thread, const facts::SeenOperation& seen) {
    add(thread, seen.index, seen.parts, seen.executions);
  }
  void add(std::size_t thread, std::uint32_t index, std::span<const match::Part> parts,
           std::span<const model::Execution> executions);
  /// Gives away what was added.
  JobParts take();

 private:
  struct OfThread {
    JobParts parts;
    // Of one operation, for their memory.
    std::vector<std::uint32_t> members;
    std::vector<model::Execution> completed;
  };

  void complete(OfThread& own, const match::MatchedOperation& operation,
                std::span<const match::Part> parts,
                std::span<const model::Execution> executions) const;
  void add_collective(OfThread& own, std::uint32_t index, std::span<const match::Part> parts,
                      std::span<const model::Execution> executions);
  void add_messages(OfThread& own, std::uint32_t index, std::span<const match::Part> parts,
                    std::span<const model::Execution> executions);
  std::uint32_t add_kernel(OfThread& own, std::uint32_t index, const match::Part& part,
                           const model::Execution& execution, std::uint32_t signature,
                           bool is_open);
  static void add_transfer(OfThread& own, facts::Flow flow, std::span<const std::uint32_t> members,
                           std::uint64_t bytes);

  const facts::Facts& facts_;
  const metrics::GlobalRanks who_;
  const ProfileEdges edges_;
  std::map<std::uint32_t, std::uint32_t> first_of_group_;  // of collectives in one kernel
  std::vector<OfThread> of_thread_;
};

/// Those of all operations, on all cores.
JobParts find_parts(const facts::Facts& facts);

/// The jobs of all runs that ran something, by run.
std::vector<Job> make_jobs(JobParts&& parts, const model::Traces& traces,
                           const match::Matches& matches);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_JOB_PARTS_H
