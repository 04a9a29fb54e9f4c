// SPDX-License-Identifier: Apache-2.0
//
// The unfinished operations, in the order of their begin, each with the time at which it must be
// checked again, since many only wait. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_TABLES_UNFINISHED_H
#define RINGSIDE_PLUGIN_ASSEMBLE_TABLES_UNFINISHED_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class Unfinished {
 public:
  struct Entry {
    std::uint64_t number;
    std::int64_t next_look_ns;
  };

  void add(std::uint64_t number) { entries_.push_back({number, kUnknownTime}); }

  /// Makes an operation due at `ts_ns`, if it is here and not due earlier.
  void wake(std::uint64_t number, std::int64_t ts_ns) {
    // Numbers ascend, except that those from a journal may follow newer ones.
    auto found = std::lower_bound(
        entries_.begin(), entries_.end(), number,
        [](const Entry& entry, std::uint64_t before) { return entry.number < before; });
    if (found == entries_.end() || found->number != number) {
      found = std::find_if(entries_.begin(), entries_.end(),
                           [number](const Entry& entry) { return entry.number == number; });
    }
    if (found != entries_.end()) {
      found->next_look_ns = std::min(found->next_look_ns, ts_ns);
    }
  }

  /// Calls `look` with each due entry, and `soon` with its number a little before. `look` returns
  /// true if the entry is finished; else it sets when the entry is due again. If it throws,
  /// finished entries may stay, and others may be there twice.
  template <typename Soon, typename Look>
  void visit(std::int64_t now_ns, Soon soon, Look look) {
    constexpr std::size_t kAhead = 16;
    const auto is_due = [now_ns](const Entry& entry) { return now_ns >= entry.next_look_ns; };
    std::size_t ahead = 0;
    auto kept = entries_.begin();
    for (std::size_t at = 0; at < entries_.size(); ++at) {
      for (; ahead < std::min(at + kAhead, entries_.size()); ++ahead) {
        if (is_due(entries_[ahead])) {
          soon(entries_[ahead].number);
        }
      }
      if (!is_due(entries_[at]) || !look(entries_[at])) {
        *kept++ = entries_[at];
      }
    }
    entries_.erase(kept, entries_.end());
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    std::for_each(entries_.begin(), entries_.end(), visit);
  }
  void clear() { entries_.clear(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_TABLES_UNFINISHED_H
