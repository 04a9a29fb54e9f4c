// SPDX-License-Identifier: Apache-2.0
//
// Turns records into finished events and operations.
//
// Records are to come in order of time, as far as that is known. A state or stop whose event is not
// known, and a start whose parent is not, wait a second for it (Orphans); then the former is
// counted as stale and the latter goes on without a parent.
//
// What is kept is bounded (AssemblerLimits), whatever NCCL leaves open and whatever is lost: beyond
// the bounds the oldest event is written as it is, marked in flight, and what comes for it later is
// stale.
//
// Each part of the work has a class of its own, with its own tables. This class says what happens
// when, and only it writes operations, kernels and GPU clock fits. Used by one thread. Throws only
// std::bad_alloc.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/assemble/calls.h"
#include "plugin/assemble/children.h"
#include "plugin/assemble/communicators.h"
#include "plugin/assemble/event.h"
#include "plugin/assemble/eviction.h"
#include "plugin/assemble/gpu_clocks.h"
#include "plugin/assemble/in_flight.h"
#include "plugin/assemble/name_table.h"
#include "plugin/assemble/operations.h"
#include "plugin/assemble/orphans.h"
#include "plugin/assemble/progress.h"
#include "plugin/assemble/question.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/recording_history.h"
#include "plugin/assemble/row_writer.h"
#include "plugin/assemble/sampler.h"
#include "plugin/assemble/sink.h"
#include "plugin/assemble/thread_slices.h"
#include "plugin/assemble/user_marks.h"

namespace ringside::assemble {

/// Callbacks on this side of the rings, by event type.
struct AssemblerCounts {
  TypeCounts consumed{};
  TypeCounts stale{};
  TypeCounts dropped_memory{};
  TypeCounts sampled_out{};
  /// Of evicted events, not callbacks: they were open, and written as they were.
  TypeCounts given_up{};
};

/// How much is kept at most; together some 250 MB.
struct AssemblerLimits {
  /// Begun, and not written or still referred to. From eight ninths of it on the oldest are
  /// evicted, in portions.
  std::size_t events = (1U << 18) + (1U << 15);
  std::size_t finished = 1U << 15;  ///< operations that are over and wait for late events
  std::size_t captured = 1U << 15;  ///< calls in CUDA graphs, to which replays refer
  std::size_t orphans = 1U << 16;   ///< records whose event has not come
};

class Assembler {
 public:
  explicit Assembler(Sink& sink, const AssemblerLimits& limits = {})
      : sink_(sink), limits_(limits), eviction_(limits.events) {}

  /// A communicator was created. Contexts are numbered from 1; gaps are filled with unknown ones.
  void open_communicator(const Communicator& communicator);
  void close_communicator(std::uint32_t context, std::int64_t ts_ns);
  const std::vector<Communicator>& communicators() const { return communicators_.all(); }

  /// From here on operations that begin belong to this window.
  void open_window(std::uint32_t number, std::int64_t start_ns) {
    history_.open_window(number, start_ns);
  }

  /// Leaves out what the sampling does not choose, from the first operation on. `base_ns` is the
  /// start of the trace's time line since the epoch.
  void set_sampling(const Sampling& sampling, std::int64_t base_ns) {
    sampler_.set(sampling, base_ns);
  }
  /// From then on sends and receives are no longer counted as their peers count them (some were not
  /// recorded): all are kept, until there are communicators that are newer than the next expect().
  void lose_places(std::int64_t ts_ns);

  /// What is asked for (bits of record::EventType) from then on, so that operations wait for their
  /// descendants. NCCL reads its mask when a call begins, and so does each operation; in the order
  /// of time.
  void expect(std::uint32_t types, std::int64_t since_ns = kUnknownTime);

  /// Takes a record. Returns the number of the operation that it belongs to; 0 if there is none, or
  /// if that is not known yet. `operation` is the number that this record was given before, by an
  /// assembler that is gone; 0: none.
  std::uint64_t record(const RecordView& view, std::uint64_t operation = 0);

  /// Says of each whether it is still needed.
  void answer(std::span<Question> questions) const;

  /// What has been learnt of a GPU's clock before.
  void seed_gpu_clock(std::uint32_t context, const GpuClockFit& fit) {
    gpu_clocks_.seed(context, fit);
  }

  /// The number that the next operation gets.
  std::uint64_t next_operation() const { return operations_.next_number(); }
  void set_next_operation(std::uint64_t number) { operations_.set_next_number(number); }
  void thread(std::int32_t tid, std::string_view name) { sink_.thread(tid, name); }

  /// What the application marks; of each thread in the order of time. Ranges wait until
  /// take_marks(), or a later record of their thread, so that both are in order.
  void mark(UserMark mark) { user_marks_.add(std::move(mark)); }
  /// All records that are older have been given.
  void take_marks(std::int64_t until_ns) { user_marks_.take(until_ns); }
  /// How many of them no longer wait.
  std::uint64_t marks_taken() const { return user_marks_.taken(); }
  /// Ranges that are not in the trace, since too many were open.
  std::uint64_t ranges_left_out() const { return user_marks_.not_kept(); }

  /// Finishes what is finished at this time. To be called now and then.
  void settle(std::int64_t now_ns);

  /// Hands what is not finished to `sink`, marked so, and keeps it. Returns the number of
  /// operations.
  std::uint64_t write_in_flight(Sink& sink, std::int64_t now_ns);

  /// Of each communicator the first operation in flight, if it has been its turn since `until_ns`
  /// or longer. Those of which only the enqueue was seen are not among them, unless the call has
  /// not returned; nor are calls of which NCCL tells nothing more (OperationKind::kApi).
  std::vector<InFlight> in_flight_since(std::int64_t until_ns) const {
    return find_in_flight(until_ns, operations_, events_, slices_);
  }
  /// By context, of all operations of which something below the call is open. Communicators without
  /// any are not among them.
  std::map<std::uint32_t, InFlightTotal> in_flight_totals() const {
    return sum_in_flight(operations_);
  }

  /// Hands what is not finished to the sink and forgets it: nothing comes any more.
  void close(std::int64_t now_ns);

  const AssemblerCounts& counts() const { return counts_; }
  std::uint64_t operations() const { return operations_written_; }
  /// Events and ranges that are kept now.
  std::size_t held_events() const {
    return events_.size() + operations_.kept_kernels() + user_marks_.open_ranges();
  }
  /// Threads whose slices are known now.
  std::size_t known_threads() const { return slices_.known_threads(); }

 private:
  // Joins a record to its event. Returns the number of the operation, 0 for none; nothing if the
  // event or its parent is not known.
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
  Sampler sampler_;
  RowWriter rows_{sink_, counts_.sampled_out};
  ThreadSlices slices_;
  UserMarks user_marks_{sink_, slices_};
  Orphans orphans_;
  Events events_;
  Calls calls_{events_, slices_, rows_};
  Progress progress_;
  Operations operations_{communicators_, progress_};
  GpuClocks gpu_clocks_{communicators_};
  Children children_{events_, operations_, gpu_clocks_, rows_};
  Eviction eviction_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H
