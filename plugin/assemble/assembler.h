// SPDX-License-Identifier: Apache-2.0
//
// Turns records into finished events and operations.
//
// Records must come in the order of time as far as it is known. A state or a stop waits up to a
// second for its event, and a start waits as long for its parent (Orphans). After that second the
// state or stop is counted as stale, and the start is taken without a parent.
//
// The memory is bounded (AssemblerLimits), even if stops are lost or NCCL never stops an event.
// Beyond the bounds the oldest events are evicted: an open one is written as in flight, and a state
// or stop that comes for it later is stale.
//
// Each part of the work has a class and tables of its own. This class decides their order, and it
// alone writes operations, kernel channels and GPU clock fits. Used by one thread. Throws only
// bad_alloc.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plugin/assemble/calls.h"
#include "plugin/assemble/children.h"
#include "plugin/assemble/clocks/gpu_clocks.h"
#include "plugin/assemble/communicators.h"
#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/eviction.h"
#include "plugin/assemble/operations/in_flight.h"
#include "plugin/assemble/operations/operations.h"
#include "plugin/assemble/operations/progress.h"
#include "plugin/assemble/operations/recording_history.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/sink.h"
#include "plugin/assemble/tables/name_table.h"
#include "plugin/assemble/tables/orphans.h"
#include "plugin/assemble/thread_slices.h"
#include "plugin/assemble/user_marks.h"

namespace ringside::assemble {

/// Counts of the callbacks that were read from the rings, by event type.
struct AssemblerCounts {
  TypeCounts consumed{};
  TypeCounts stale{};
  TypeCounts dropped_memory{};
  TypeCounts sampled_out{};
  /// The number of evicted events, not of callbacks.
  TypeCounts given_up{};
};

/// The most that is kept. All limits together come to some 250 MB.
struct AssemblerLimits {
  /// Events that have begun, and are not written yet or are still referred to. Eviction of the
  /// oldest begins, in portions, at eight ninths of this number.
  std::size_t events = (1U << 18) + (1U << 15);
  std::size_t finished = 1U << 15;  ///< finished operations, kept for late records
  std::size_t captured = 1U << 15;  ///< calls captured in CUDA graphs, to which replays refer
  std::size_t orphans = 1U << 16;   ///< records that wait for their event or parent
};

class Assembler {
 public:
  explicit Assembler(Sink& sink, const AssemblerLimits& limits = {})
      : sink_(sink), limits_(limits), eviction_(limits.events) {}

  /// Adds a communicator. Contexts are numbered from 1; a missing one gets an unknown communicator.
  void open_communicator(const Communicator& communicator);
  void close_communicator(std::uint32_t context, std::int64_t ts_ns);
  const std::vector<Communicator>& communicators() const { return communicators_.all(); }
  /// Returns NULL if the context has no known communicator.
  const Communicator* find_communicator(std::uint32_t context) const {
    const Communicator& found = communicators_.of(context);
    return found.context != 0 ? &found : nullptr;
  }

  /// Operations that begin at `start_ns` or later belong to this window.
  void open_window(std::uint32_t number, std::int64_t start_ns) {
    history_.open_window(number, start_ns);
  }

  /// One of `of` collectives is kept, the others are sampled out. Must be called before the first
  /// communicator.
  void sample(std::uint64_t of) { sampled_of_ = of; }

  /// NCCL is asked for the events `types` (bits of record::EventType) from `since_ns` on, so
  /// operations wait for such events. An operation depends on the types at the moment when NCCL
  /// read its activation mask for it. Calls must come in the order of time.
  void expect(std::uint32_t types, std::int64_t since_ns = kUnknownTime);

  /// Takes a record. Returns the number of its operation; 0 if it has none or it is not known yet.
  /// For recovery, `operation` is the number that the dead process gave to this record; 0: none. A
  /// start whose parent is lost does not wait for it.
  std::uint64_t record(const RecordView& view, std::uint64_t operation = 0,
                       bool is_parent_lost = false);

  /// Sets in each question whether the record is still needed.
  void answer(std::span<Question> questions) const;

  /// The fits of GPU clocks that the sink got last, by context.
  const std::map<std::uint32_t, GpuClockFit>& gpu_clocks() const { return gpu_clocks_.last_fits(); }
  /// Sets the fit of a GPU's clock that a dead process had, for recovery.
  void seed_gpu_clock(std::uint32_t context, const GpuClockFit& fit) {
    gpu_clocks_.seed(context, fit);
  }

  std::uint64_t next_operation() const { return operations_.next_number(); }
  void set_next_operation(std::uint64_t number) { operations_.set_next_number(number); }
  void thread(std::int32_t tid, std::string_view name) { sink_.thread(tid, name); }

  /// Writes the operations and calls that are finished at `now_ns`. Must be called regularly.
  void settle(std::int64_t now_ns);

  /// Writes what is in flight to `sink`, marked so, and keeps it. Returns the number of operations.
  std::uint64_t write_in_flight(Sink& sink, std::int64_t now_ns);

  /// Returns the first operation in flight of each communicator, if its turn came at `until_ns` or
  /// before. Operations of which only the enqueue was seen are excluded, unless the call has not
  /// returned. So are operations that consist of a call alone (OperationKind::kApi).
  std::vector<InFlight> in_flight_since(std::int64_t until_ns) const {
    return find_in_flight(until_ns, operations_, events_, slices_);
  }
  /// Returns the totals, by context, of the operations that have an open event below the call. A
  /// communicator without such an operation has no entry.
  std::map<std::uint32_t, InFlightTotal> in_flight_totals() const {
    return sum_in_flight(operations_);
  }

  /// Writes what is in flight and forgets it. No record may come after this.
  void close(std::int64_t now_ns);

  const AssemblerCounts& counts() const { return counts_; }
  std::uint64_t operations() const { return operations_written_; }
  std::size_t held_events() const { return events_.size() + operations_.kept_kernels(); }
  std::size_t known_threads() const { return slices_.known_threads(); }

 private:
  // Joins a record to its event. Returns the number of the event's operation, 0 for none, or
  // nothing if the event or its parent is not known.
  std::optional<std::uint64_t> join(const RecordView& view, std::uint64_t given_operation,
                                    bool is_last_try);
  std::optional<std::uint64_t> start(const RecordView& view, std::uint64_t given_operation,
                                     bool is_last_try);
  std::optional<std::uint64_t> state(const RecordView& view);
  std::optional<std::uint64_t> stop(const RecordView& view);
  std::uint64_t start_operation(const RecordView& view, std::uint64_t given_operation);
  void stop_kernel(const Event& event, KernelRow& kernel, OpenOperation* operation);
  bool retry(const RecordView& view, std::uint64_t operation, bool is_last_try);
  void retry_orphans(std::int64_t now_ns);

  void finish(OpenOperation& open, std::int64_t now_ns);
  void write_changed_fits();
  void write_api_operation(const CallEvent& called, bool in_flight);
  Operation api_operation(const CallEvent& called, std::uint64_t number, bool in_flight) const;
  void forget_finished(std::int64_t now_ns);

  void keep_limits(std::int64_t now_ns);
  void evict(record::EventId id, std::int64_t now_ns);
  void evict_call(record::EventId id, Event& event, std::int64_t now_ns);

  Sink& sink_;
  const AssemblerLimits limits_;
  AssemblerCounts counts_;
  std::uint64_t operations_written_ = 0;

  NameTable names_;
  Communicators communicators_;
  RecordingHistory history_;
  std::uint64_t sampled_of_ = 1;
  RowWriter rows_{sink_, counts_.sampled_out};
  ThreadSlices slices_;
  Orphans orphans_;
  Events events_;
  UserMarks user_marks_{sink_, events_, slices_};
  Calls calls_{events_, slices_, rows_};
  Progress progress_;
  Operations operations_{communicators_, progress_};
  GpuClocks gpu_clocks_{communicators_};
  Children children_{events_, operations_, gpu_clocks_, rows_};
  Eviction eviction_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H
