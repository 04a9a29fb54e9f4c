// SPDX-License-Identifier: Apache-2.0
//
// The nodes that a trace of PyTorch's profiler adds to a rank's graph: operators of the CPU, and
// work of the GPU.
#ifndef RINGSIDE_ANALYZER_CHAKRA_PROFILE_GRAPH_H
#define RINGSIDE_ANALYZER_CHAKRA_PROFILE_GRAPH_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/chakra/call_tree.h"
#include "analyzer/chakra/lane.h"
#include "analyzer/chakra/schedule.h"
#include "analyzer/match/kineto/kineto_kernels.h"
#include "analyzer/model/trace.h"

namespace ringside::chakra {

/// Whole microseconds of a moment; a duration is the difference of two, so that they add up.
constexpr std::int64_t micros(std::int64_t time_ns) {
  return time_ns / 1000;
}

/// A trace of PyTorch's profiler, the process that it is of, and NCCL's kernels in it.
struct Profile {
  const model::KinetoTrace* trace = nullptr;
  std::uint32_t file = 0;  // index into Traces::files
  const match::KinetoKernels* kernels = nullptr;
};

class ProfileGraph {
 public:
  /// An operation of NCCL was enqueued: on which thread, and when (as of operator_at).
  struct Enqueue {
    std::int64_t thread = 0;
    std::int64_t at_ns = 0;
  };

  /// All but `enqueued` must outlive it.
  ProfileGraph(const Profile& profile, const model::Process& process,
               const align::Alignment& alignment, std::span<const Enqueue> enqueued,
               Schedule& schedule);

  /// Something that is to be added, at the moment at which it was called.
  enum class Kind : std::uint8_t { kCall, kEventRecord, kEventWait, kOperation, kActivity };
  struct Step {
    std::int64_t at_ns = 0;  // on the common clock
    Kind kind = Kind::kCall;
    std::uint32_t index = 0;  // of the trace's columns: operators, syncs, activities
  };
  /// Adds steps for all but the operations; an activity that ran some of them has none.
  void find_steps(const match::KinetoKernels& kernels, std::vector<Step>& steps) const;

  /// Adds what a step is of; steps are taken in order of time.
  void take(const Step& step);

  /// The operator that a thread was in at a moment (since the epoch, by the host's clock).
  std::optional<PieceIndex> operator_at(std::int64_t thread, std::int64_t at_ns) const;
  Lane& lane_of(std::uint32_t activity);
  /// Work that the lane waits for since it was asked about last: cudaStreamWaitEvent.
  void take_event_waits(std::uint32_t activity, std::vector<PieceIndex>& dependencies);
  /// The piece that stands for an activity.
  void set_piece(std::uint32_t activity, PieceIndex piece) { of_activity_[activity] = piece; }

  std::int64_t common_ns(std::int64_t epoch_ns) const;

 private:
  using StreamKey = std::pair<std::int64_t, std::int64_t>;  // device and stream

  struct Thread {
    std::optional<PieceIndex> tail;
    std::int64_t outer_end_ns = INT64_MIN;   // of the outermost operator that began last
    std::optional<PieceIndex> tail_before;   // when that began
    std::int64_t end_before_ns = INT64_MIN;  // of the outermost before it
  };

  void find_durations(std::span<const Enqueue> enqueued);
  void add_call(std::uint32_t index);
  void add_activity(std::uint32_t index);
  std::optional<PieceIndex> other_thread(std::int64_t thread, std::int64_t since_ns,
                                         std::int64_t at_ns) const;

  const model::KinetoTrace& trace_;
  const Profile& profile_;
  const std::int64_t base_ns_;
  const align::Alignment& alignment_;
  Schedule& schedule_;
  CallTree tree_;
  std::vector<std::int64_t> own_us_;  // by operator: as find_durations() says
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      awaited_;                                              // activities, by operator
  std::unordered_map<std::int64_t, std::uint32_t> runtime_;  // by correlation
  std::vector<std::optional<PieceIndex>> of_call_;
  std::vector<std::optional<PieceIndex>> of_activity_;
  std::map<std::int64_t, Thread> threads_;
  std::map<StreamKey, Lane> lanes_;
  std::map<StreamKey, std::vector<PieceIndex>> event_waits_;
  std::unordered_map<std::int64_t, std::vector<PieceIndex>> recorded_;  // by cudaEventRecord
};

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_PROFILE_GRAPH_H
