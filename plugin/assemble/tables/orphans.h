// SPDX-License-Identifier: Apache-2.0
//
// Records whose event or parent has not come. Each waits a second for it. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ORPHANS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ORPHANS_H

#include <cstdint>
#include <deque>

#include "plugin/assemble/record_view.h"
#include "plugin/assemble/tables/id_set.h"

namespace ringside::assemble {

class Orphans {
 public:
  /// `operation` is the operation's number that the record was given before; 0: none.
  void add(const RecordView& view, std::uint64_t operation) {
    waiting_.push_back({view, operation, view.ts_ns + kWait_ns});
  }
  std::size_t size() const { return waiting_.size(); }
  IdSet ids() const {
    IdSet ids(waiting_.size());
    for (const Orphan& orphan : waiting_) {
      ids.insert(orphan.view.id);
    }
    return ids;
  }

  /// Tries each record once, in the order in which they came. `join(view, operation, is_last_try)`
  /// returns whether the record is done; on the last try it must return true.
  template <typename Join>
  void retry_all(std::int64_t now_ns, Join join) {
    for (std::size_t left = waiting_.size(); left != 0; --left) {
      if (const Orphan& oldest = waiting_.front();
          join(oldest.view, oldest.operation, now_ns >= oldest.deadline_ns)) {
        waiting_.pop_front();
      } else {
        waiting_.push_back(oldest);
        waiting_.pop_front();
      }
    }
  }
  /// Tries the oldest record for the last time.
  template <typename Join>
  void give_up_oldest(Join join) {
    const Orphan oldest = waiting_.front();
    join(oldest.view, oldest.operation, true);
    waiting_.pop_front();
  }

 private:
  static constexpr std::int64_t kWait_ns = 1'000'000'000;

  struct Orphan {
    RecordView view;
    std::uint64_t operation;
    std::int64_t deadline_ns;
  };

  std::deque<Orphan> waiting_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_TABLES_ORPHANS_H
