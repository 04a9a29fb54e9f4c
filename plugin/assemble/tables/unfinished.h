// SPDX-License-Identifier: Apache-2.0
//
// The unfinished operations, in the order of their begin, each with the time at which it must be
// checked again. Many operations only wait. They are kept in chunks, and a chunk is skipped until
// one of its operations is due. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_TABLES_UNFINISHED_H
#define RINGSIDE_PLUGIN_ASSEMBLE_TABLES_UNFINISHED_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class Unfinished {
 public:
  struct Entry {
    std::uint64_t number;
    std::int64_t next_look_ns;
  };

  void add(std::uint64_t number) {
    if (chunks_.empty() || chunks_.back()->count == kChunk) {
      chunks_.push_back(std::make_unique<Chunk>());
    }
    chunks_.back()->add({number, kUnknownTime});
  }

  /// Makes an operation due at `ts_ns`, if it is here and not due earlier.
  void wake(std::uint64_t number, std::int64_t ts_ns) {
    // Numbers ascend, except that those from a journal may follow newer ones.
    const auto behind = std::partition_point(
        chunks_.begin(), chunks_.end(),
        [number](const auto& chunk) { return chunk->entries[0].number <= number; });
    if (behind != chunks_.begin() && wake(**std::prev(behind), number, ts_ns)) {
      return;
    }
    for (const auto& chunk : chunks_) {
      if (wake(*chunk, number, ts_ns)) {
        return;
      }
    }
  }

  /// Calls `soon` with the entries of each chunk in which one is due, then `look` with each due
  /// entry. `look` returns true if the entry is finished; else it sets when the entry is due again.
  template <typename Soon, typename Look>
  void visit(std::int64_t now_ns, Soon soon, Look look) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < chunks_.size(); ++at) {
      Chunk& chunk = *chunks_[at];
      if (now_ns >= chunk.next_look_ns) {
        soon(std::span<const Entry>(chunk.all()));
        const std::span<Entry> all = chunk.all();
        const auto gone = std::remove_if(all.begin(), all.end(), [&](Entry& entry) {
          return now_ns >= entry.next_look_ns && look(entry);
        });
        chunk.take(all.first(static_cast<std::size_t>(gone - all.begin())));
      }
      if (kept > 0 && chunks_[kept - 1]->count + chunk.count <= kChunk / 2) {
        for (const Entry& entry : chunk.all()) {
          chunks_[kept - 1]->add(entry);
        }
        chunk.take({});
      }
      if (chunk.count > 0) {
        std::swap(chunks_[kept++], chunks_[at]);
      }
    }
    chunks_.resize(kept);
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& chunk : chunks_) {
      for (const Entry& entry : chunk->all()) {
        visit(entry);
      }
    }
  }

  void clear() { chunks_.clear(); }

 private:
  static constexpr std::size_t kChunk = 64;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  struct Chunk {
    std::size_t count = 0;
    std::int64_t next_look_ns = kNever;
    std::array<Entry, kChunk> entries;
    std::span<Entry> all() { return std::span(entries).first(count); }
    void add(const Entry& entry) {
      entries[count++] = entry;
      next_look_ns = std::min(next_look_ns, entry.next_look_ns);
    }
    /// Keeps only these entries, which are the first of the chunk's own.
    void take(std::span<const Entry> kept) {
      count = 0;
      next_look_ns = kNever;
      for (const Entry& entry : kept) {
        add(entry);
      }
    }
  };

  static bool wake(Chunk& chunk, std::uint64_t number, std::int64_t ts_ns) {
    for (Entry& entry : chunk.all()) {
      if (entry.number == number) {
        entry.next_look_ns = std::min(entry.next_look_ns, ts_ns);
        chunk.next_look_ns = std::min(chunk.next_look_ns, ts_ns);
        return true;
      }
    }
    return false;
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;  // no chunk is empty
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_TABLES_UNFINISHED_H
