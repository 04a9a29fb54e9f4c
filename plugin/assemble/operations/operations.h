// SPDX-License-Identifier: Apache-2.0
//
// The operations that are not finished, and the finished ones that stay known for late records.
// NCCL does not report that an operation is over. It counts as finished when its started events
// have stopped and all its kernel channels have come, or no record has come for a while. The wait
// is shorter once a later operation of the communicator has run on the GPU. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_OPERATIONS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_OPERATIONS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "plugin/assemble/communicators.h"
#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/open_operation.h"
#include "plugin/assemble/operations/progress.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/tables/id_map.h"
#include "plugin/assemble/tables/name_table.h"
#include "plugin/assemble/tables/unfinished.h"

namespace ringside::assemble {

class Operations {
 public:
  Operations(const Communicators& communicators, const Progress& progress)
      : communicators_(communicators), progress_(progress) {}

  std::uint64_t next_number() const { return next_number_; }
  void set_next_number(std::uint64_t number) { next_number_ = number; }
  std::uint64_t take_number() { return next_number_++; }

  /// Returns NULL if the number is not known, or is forgotten.
  OpenOperation* find(std::uint64_t number) { return known_.find(number); }
  const OpenOperation* find(std::uint64_t number) const { return known_.find(number); }
  bool is_unfinished(std::uint64_t number) const {
    const OpenOperation* const found = find(number);
    return found != nullptr && !found->finished;
  }
  /// See IdMap.
  void fetch(std::uint64_t number) const { known_.fetch(number); }
  void fetch_value(std::uint64_t number) const { known_.fetch_value(number); }

  /// A Coll, P2p or CeColl has begun: makes an operation from its record. `number` is the number
  /// that the operation was given before; 0: none.
  OpenOperation& start(const RecordView& view, std::uint64_t number, const NameTable& names);
  /// Adds an operation to the unfinished ones; its enqueue_start_ns must be set. `types` (bits of
  /// record::EventType) are the events that NCCL was asked for.
  void watch(OpenOperation& open, std::uint32_t types);
  void end_enqueue(std::uint64_t number, const Event& enqueue, std::int64_t ts_ns);
  /// An event of the operation has begun or ended. Steps do not count: their proxy operation does.
  void start_child(OpenOperation& open, std::int64_t ts_ns) { change_children(open, 1, ts_ns); }
  void stop_child(OpenOperation& open, std::int64_t ts_ns) { change_children(open, -1, ts_ns); }
  /// A kernel channel of the operation has stopped. Its row is written with the operation.
  void keep_kernel(OpenOperation& open, const KernelRow& row, const Tally& tally);

  /// Calls finish(OpenOperation&), which must call set_finished(), with each operation that is
  /// finished at `now_ns`.
  void settle(std::int64_t now_ns, const std::function<void(OpenOperation&)>& finish);
  /// Marks an operation as finished, or evicted. If it throws std::bad_alloc, nothing has changed.
  void set_finished(OpenOperation& open, std::int64_t now_ns);
  /// Frees the kernel channels of a finished operation, which have been written.
  void forget_kernels(OpenOperation& open);

  struct Finished {
    std::uint64_t number;
    record::EventId event, call;  ///< the same as in OpenOperation
    std::int64_t ts_ns;           ///< when it was finished
  };
  /// The oldest finished operation, if it must be forgotten now: there are more than `most`, or it
  /// has been known for long enough. Else NULL.
  const Finished* oldest_to_forget(std::size_t most, std::int64_t now_ns) const;
  /// The finished operation that is this many places behind the oldest; NULL: none.
  const Finished* finished_behind_oldest(std::size_t places) const {
    return places < finished_.size() ? &finished_[places] : nullptr;
  }
  void forget_oldest();

  template <typename Visit>
  void for_each_unfinished(Visit visit) const {
    unfinished_.for_each([&](const Unfinished::Entry& entry) {
      if (const OpenOperation* const open = find(entry.number);
          open != nullptr && !open->finished) {
        visit(*open);
      }
    });
  }
  const Progress& progress() const { return progress_; }
  /// The number of kernel channels that wait for their operation.
  std::size_t kept_kernels() const { return kept_kernels_; }
  void clear();

 private:
  // An operation whose started events have stopped is over after this long without a record.
  static constexpr std::int64_t kSettle_ns = 500'000'000;

  void change_children(OpenOperation& open, int by, std::int64_t ts_ns) {
    open.open_children += by;
    open.last_activity_ns = ts_ns;
    wake(open, ts_ns);
  }
  // A record for a resting operation can shorten its wait. The wait then ends no sooner than
  // kSettle_ns after the record, or after the last settle() if the record is older than that.
  void wake(OpenOperation& open, std::int64_t ts_ns) {
    if (open.is_resting) {
      open.is_resting = false;
      unfinished_.wake(open.operation.number, std::max(ts_ns, settled_ns_) + kSettle_ns);
    }
  }
  static std::int64_t quiet_wait_ns(const OpenOperation& open);
  bool is_finished(const OpenOperation& open, std::int64_t now_ns) const;

  const Communicators& communicators_;
  const Progress& progress_;
  IdMap<OpenOperation> known_;  // by number
  Unfinished unfinished_;
  std::deque<Finished> finished_;           // in the order of finishing
  std::int64_t settled_ns_ = kUnknownTime;  // when settle() was called last
  std::size_t kept_kernels_ = 0;
  std::uint64_t next_number_ = 1;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_OPERATIONS_H
