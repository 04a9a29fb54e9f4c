// SPDX-License-Identifier: Apache-2.0
//
// Turns records into finished events and operations.
//
// Records are to come in order of time, as far as that is known. A state or stop whose event is not
// known, and a start whose parent is not, wait a second for it; then the former is counted as stale
// and the latter goes on without a parent.
//
// NCCL gives no sign that an operation is over. It is taken as finished when what has started for
// it has stopped, and its kernel channels are all there, or a later operation of the same
// communicator is finished, or for a settle time nothing has come.
//
// What is kept is bounded (AssemblerLimits), whatever NCCL leaves open and whatever is lost: beyond
// the bounds the oldest is written as it is, marked in flight, and what comes for it later is
// stale.
//
// Used by one thread. Throws only std::bad_alloc.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugin/assemble/communicators.h"
#include "plugin/assemble/event.h"
#include "plugin/assemble/gpu_clocks.h"
#include "plugin/assemble/id_map.h"
#include "plugin/assemble/in_flight.h"
#include "plugin/assemble/kernel_order.h"
#include "plugin/assemble/name_table.h"
#include "plugin/assemble/orphans.h"
#include "plugin/assemble/question.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/recording_history.h"
#include "plugin/assemble/sampler.h"
#include "plugin/assemble/sink.h"
#include "plugin/assemble/thread_slices.h"
#include "plugin/assemble/unfinished.h"
#include "plugin/assemble/user_marks.h"

namespace ringside::assemble {

/// Callbacks on this side of the rings, by event type.
struct AssemblerCounts {
  std::array<std::uint64_t, record::kAccountTypes> consumed{};
  std::array<std::uint64_t, record::kAccountTypes> stale{};
  std::array<std::uint64_t, record::kAccountTypes> dropped_memory{};
  std::array<std::uint64_t, record::kAccountTypes> sampled_out{};
  /// Not callbacks but events: open, and written as they were since too many were.
  std::array<std::uint64_t, record::kAccountTypes> given_up{};
};

/// How much is kept at most; together some 250 MB.
struct AssemblerLimits {
  /// Begun, and not written or still referred to. From eight ninths of it on the oldest are given
  /// up, in portions.
  std::size_t events = (1U << 18) + (1U << 15);
  std::size_t finished = 1U << 15;  ///< operations that are over and wait for late events
  std::size_t captured = 1U << 15;  ///< calls in CUDA graphs, to which replays refer
  std::size_t orphans = 1U << 16;   ///< records whose event has not come
};

class Assembler {
 public:
  explicit Assembler(Sink& sink, const AssemblerLimits& limits = {})
      : sink_(sink), limits_(limits) {}

  /// A communicator was created. Numbers are given in order, from 1; gaps are filled with unknown
  /// ones.
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
  /// From then on sends and receives are no longer counted as their peers count them (some were
  /// not recorded): all are kept, until there are communicators that are newer than the next
  /// expect().
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
    gpu_clocks_.clock(context).seed(fit);
  }

  /// The number that the next operation gets.
  std::uint64_t next_operation() const { return next_operation_; }
  void set_next_operation(std::uint64_t number) { next_operation_ = number; }
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
  std::vector<InFlight> in_flight_since(std::int64_t until_ns) const;
  /// By context, of all operations of which something below the call is open. Communicators without
  /// any are not among them.
  std::map<std::uint32_t, InFlightTotal> in_flight_totals() const;

  /// Hands what is not finished to the sink and forgets it: nothing comes any more.
  void close(std::int64_t now_ns);

  const AssemblerCounts& counts() const { return counts_; }
  std::uint64_t operations() const { return operations_written_; }
  /// Events and ranges that are kept now.
  std::size_t held_events() const {
    return events_.size() + kernels_held_ + user_marks_.open_ranges();
  }
  /// Threads whose slices are known now.
  std::size_t known_threads() const { return slices_.known_threads(); }

 private:
  struct Finished {
    std::uint64_t number;
    record::EventId event, call;  ///< as OpenOperation has them
    std::int64_t ts_ns;
  };
  // assembler.cc
  bool join(const RecordView& view, bool last_try);
  bool start(const RecordView& view, bool last_try);
  bool state(const RecordView& view);
  bool stop(const RecordView& view);
  bool retry(const RecordView& view, std::uint64_t operation, bool last_try);
  void retry_orphans(std::int64_t now_ns);
  bool is_unfinished(std::uint64_t operation) const;
  bool is_waited_for(const Event& event) const;

  // assemble_calls.cc
  void start_call(const RecordView& view);
  void stop_call(const RecordView& view, Event& event);
  void settle_calls(std::int64_t now_ns);
  bool group_of(const CallEvent& call) const;
  Operation call_operation(const CallEvent& call, std::uint64_t number, bool in_flight) const;

  // assemble_sampling.cc
  void tell_calls(Event* group, Event* call, bool is_first_of_call, bool is_kept);
  bool holds_back(record::EventId id, const CallEvent& called);
  void let_go(Event& event);
  void write_call(const Event& event);
  void sample_out(const Row& row, const Tally& tally);
  /// Of a row that is not a call's.
  void write_row(const Event& event, const Row& row) {
    event.sampled_out ? sample_out(row, event.tally()) : sink_.row(row, event.tally());
  }

  // assemble_operation.cc
  void start_operation(const RecordView& view);
  void settle_operations(std::int64_t now_ns);
  std::int64_t quiet_wait_ns(const OpenOperation& open) const;
  bool is_finished(const OpenOperation& open, std::int64_t now_ns) const;
  void finish(OpenOperation& open, std::int64_t now_ns);
  struct Built {
    Operation operation;
    std::vector<KernelRow> kernels;
    KernelOrder::Extent extent;  ///< of the kernels
  };
  Built build(const OpenOperation& open);
  void write_changed_fits();
  bool only_waits(const OpenOperation& open) const;
  void wake(OpenOperation& open, std::int64_t ts_ns);
  void forget(const Finished& gone, std::int64_t now_ns);
  void forget_finished(std::int64_t now_ns);
  std::int64_t mask_read_ns(const Operation& operation, const Event* group,
                            const Event* call) const;

  // assemble_open.cc
  void write_open_row(Sink& sink, const Event& event, std::int64_t now_ns);
  void write_open_call(Sink& sink, record::EventId id, const Event& event, std::int64_t now_ns);
  void keep_limits(std::int64_t now_ns);
  void give_up_oldest(std::int64_t now_ns);
  bool can_be_given_up(const Event& event) const;
  void give_up(record::EventId id, std::int64_t now_ns);
  void give_up_call(record::EventId id, Event& event, std::int64_t now_ns);

  // assemble_in_flight.cc
  void note_end(const OpenOperation& open);
  bool is_overtaken(const OpenOperation& open) const;

  // assemble_children.cc
  void start_child(const RecordView& view);
  void state_of_child(const RecordView& view, Event& event);
  void stop_child(const RecordView& view, Event& event);
  void state_of_step(const RecordView& view, StepEvent& step, std::uint64_t operation);
  void stop_proxy_op(ProxyOpEvent& proxy, Event& event, std::int64_t ts_ns);
  /// Where the time of a step went, until it stopped, or, in flight, until now.
  static void split_time(StepEvent& step, std::int64_t until_ns);
  void stop_step(StepEvent& step, const Event& event, std::int64_t ts_ns, bool unstopped);
  void stop_kernel(KernelRow& kernel, const Event& event, std::int64_t ts_ns);
  OpenOperation* open_operation(std::uint64_t number) { return operations_.find(number); }

  Sink& sink_;
  Sampler sampler_;
  const AssemblerLimits limits_;
  NameTable names_;
  Communicators communicators_;
  RecordingHistory history_;
  GpuClocks gpu_clocks_{communicators_};
  KernelOrder kernel_order_;
  ThreadSlices slices_;
  UserMarks user_marks_{sink_, slices_};
  IdMap<Event> events_;
  IdMap<OpenOperation> operations_;  // by number
  Unfinished unfinished_;
  std::int64_t settled_ns_ = kUnknownTime;  // when the unfinished were looked at last
  std::deque<Finished> finished_;           // and still remembered, in the order of finishing
  std::deque<record::EventId> captured_;    // calls
  record::EventId searched_until_ = 0;      // by give_up_oldest
  std::size_t records_since_ = 0;           // give_up_oldest
  std::size_t kernels_held_ = 0;            // OpenOperation::kernels of all
  std::vector<record::EventId> childless_calls_;
  Orphans orphans_;
  std::unordered_map<std::uint32_t, std::uint64_t> last_on_gpu_;  // context: operation number
  /// The operations of a communicator that were seen to execute and end.
  struct LastEnd {
    std::uint64_t number = 0;  ///< of the latest
    std::uint64_t group = 0;   ///< its group
    std::int64_t end_ns = kUnknownTime;
  };
  std::unordered_map<std::uint32_t, LastEnd> last_end_;  // by context
  AssemblerCounts counts_;
  std::uint64_t next_operation_ = 1;
  std::uint64_t given_operation_ = 0;   // by the caller, for the record at hand
  std::uint64_t joined_operation_ = 0;  // of the record at hand
  std::uint64_t operations_written_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ASSEMBLER_H
