// SPDX-License-Identifier: Apache-2.0
//
// Steps of the network bound the clocks, too: no chunk is received before its sender began with it.
// The steps of a file may be in another process: each looks for those that bound clocks, and both
// ends of a chunk are joined where they meet.
#ifndef RINGSIDE_ANALYZER_ALIGN_POINTS_STEP_POINTS_H
#define RINGSIDE_ANALYZER_ALIGN_POINTS_STEP_POINTS_H

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "analyzer/align/points/sync_points.h"
#include "analyzer/model/operation.h"

namespace ringside::align {

/// An operation whose steps are looked for, as a file has it.
struct SteppedOperation {
  std::uint64_t id = 0;       // Operation::id
  std::uint32_t matched = 0;  // the same number on all ranks, as OperationRange counts
  std::uint32_t rank = 0;
};

/// The steps of a file that are looked for.
struct StepsOfFile {
  std::uint32_t host = 0;
  std::int64_t since_zero_ns = 0;
  std::vector<SteppedOperation> operations;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(host, since_zero_ns, operations);
  }
};

/// By file; a file without any is not there.
using WantedSteps = std::map<std::uint32_t, StepsOfFile>;

/// One end of a chunk's way.
struct StepEnd {
  std::uint32_t matched = 0;
  std::uint32_t source = 0;  // ranks
  std::uint32_t destination = 0;
  std::uint32_t host = 0;
  std::uint32_t place = 0;  // in the order of the file
  std::uint16_t channel = 0;
  bool receives = false;
  double time_ns = 0;

  auto way() const { return std::tie(matched, source, destination, channel); }
};

/// A chunk that went from one host to another.
struct Chunk {
  std::uint32_t source = 0;  // hosts
  std::uint32_t destination = 0;
  double start_ns = 0;
  double end_ns = 0;
};

/// The files whose steps can bound clocks.
WantedSteps files_with_steps(const model::Traces& traces, const match::Matches& matches,
                             const HostClocks& clocks, std::int64_t zero_ns);
/// One of so many operations is taken, the same on all ranks, since there may be many millions of
/// steps.
std::uint64_t stride_of_steps(const model::Traces& traces);
/// Adds those of these operations that have trusted numbers and are taken.
void add_stepped(const model::Traces& traces, const match::Matches& matches,
                 const OperationRange& range, std::uint64_t stride, WantedSteps& wanted);
/// Adds the ends of the steps that are wanted, which it sorts.
void add_ends(const std::deque<model::Step>& steps, StepsOfFile&& wanted,
              std::vector<StepEnd>& ends);
/// Joins all ends of some operations. The k-th chunk that a rank sends to another on a channel is
/// the k-th that the other receives there, if both have as many.
std::vector<Chunk> join_ends(std::vector<StepEnd> ends);
/// Adds a point for each chunk.
void add_chunks(std::vector<Chunk> chunks, SyncPoints& made);

/// Does all of that where all rows are here.
void add_step_points(const model::Traces& traces, const match::Matches& matches,
                     const HostClocks& clocks, SyncPoints& made);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_POINTS_STEP_POINTS_H
