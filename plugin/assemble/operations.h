// SPDX-License-Identifier: Apache-2.0
//
// The operations that are not finished, and those that are and stay known for what comes late. NCCL
// gives no sign that an operation is over. It is taken as finished when what has started for it has
// stopped, and its kernel channels are all there, or a later operation of the same communicator is
// finished, or nothing has come for a while. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "plugin/assemble/communicators.h"
#include "plugin/assemble/event.h"
#include "plugin/assemble/id_map.h"
#include "plugin/assemble/name_table.h"
#include "plugin/assemble/open_operation.h"
#include "plugin/assemble/progress.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/unfinished.h"

namespace ringside::assemble {

class Operations {
 public:
  Operations(const Communicators& communicators, const Progress& progress)
      : communicators_(communicators), progress_(progress) {}

  /// The number that the next operation gets.
  std::uint64_t next_number() const { return next_number_; }
  void set_next_number(std::uint64_t number) { next_number_ = number; }
  std::uint64_t take_number() { return next_number_++; }

  /// NULL if it is not known, or forgotten.
  OpenOperation* find(std::uint64_t number) { return known_.find(number); }
  const OpenOperation* find(std::uint64_t number) const { return known_.find(number); }
  bool is_unfinished(std::uint64_t number) const {
    const OpenOperation* const found = find(number);
    return found != nullptr && !found->finished;
  }
  /// See IdMap.
  void fetch(std::uint64_t number) const { known_.fetch(number); }
  void fetch_value(std::uint64_t number) const { known_.fetch_value(number); }

  /// A Coll, P2p or CeColl has begun: makes an operation with what the record says of it. `number`
  /// is the one that it was given before; 0: none.
  OpenOperation& start(const RecordView& view, std::uint64_t number, const NameTable& names);
  /// Its beginning is known now. `types` (bits of record::EventType) are those that were asked for.
  void watch(OpenOperation& open, std::uint32_t types);
  /// Its call has returned.
  void end_enqueue(std::uint64_t number, const Event& enqueue, std::int64_t ts_ns);
  /// Something that belongs to it has begun or ended. Steps are counted through their proxy
  /// operation, which outlives them.
  void start_child(OpenOperation& open, std::int64_t ts_ns) { change_children(open, 1, ts_ns); }
  void stop_child(OpenOperation& open, std::int64_t ts_ns) { change_children(open, -1, ts_ns); }
  /// A channel of its kernel has stopped, and is written with it.
  void keep_kernel(OpenOperation& open, const KernelRow& row, const Tally& tally);

  /// Calls finish(OpenOperation&) with each that is finished at this time; it is to call
  /// set_finished(). Returns when the earliest of those that are left was enqueued, or the time up
  /// to which more can come, if that is earlier.
  std::int64_t settle(std::int64_t now_ns, const std::function<void(OpenOperation&)>& finish);
  /// It is finished, by itself or since it is evicted. Throws std::bad_alloc, and is then not.
  void set_finished(OpenOperation& open, std::int64_t now_ns);
  /// The kernel's channels of a finished operation are written.
  void forget_kernels(OpenOperation& open);

  struct Finished {
    std::uint64_t number;
    record::EventId event, call;  ///< as OpenOperation has them
    std::int64_t ts_ns;           ///< when it was finished
  };
  /// The finished operation that must be forgotten next, if there are more than `most`, or if it
  /// has been known for long enough; else NULL.
  const Finished* oldest_to_forget(std::size_t most, std::int64_t now_ns) const;
  /// Those that must be forgotten later: the one at this place behind the oldest; NULL: none.
  const Finished* finished_behind_oldest(std::size_t places) const {
    return places < finished_.size() ? &finished_[places] : nullptr;
  }
  void forget_oldest();

  /// Calls visit(const OpenOperation&) with each that is not finished.
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
  /// How many kernel channels wait for their operation.
  std::size_t kept_kernels() const { return kept_kernels_; }
  void clear();

 private:
  // After this long without a callback an operation whose started descendants have stopped is over.
  static constexpr std::int64_t kSettle_ns = 500'000'000;

  void change_children(OpenOperation& open, int by, std::int64_t ts_ns) {
    open.open_children += by;
    open.last_activity_ns = ts_ns;
    wake(open, ts_ns);
  }
  // What comes for an operation can shorten its wait, to no less than kSettle_ns from then on; also
  // where it is older, and comes late.
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
  std::int64_t settled_ns_ = kUnknownTime;  // when the unfinished were looked at last
  std::size_t kept_kernels_ = 0;
  std::uint64_t next_number_ = 1;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_H
