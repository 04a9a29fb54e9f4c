// SPDX-License-Identifier: Apache-2.0
//
// Takes records out of the process's rings, in order of their steady ticks over all rings, and
// hands them to the assembler. The consumer's side of record/ring.h; used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_RING_READER_H
#define RINGSIDE_PLUGIN_DRAIN_RING_READER_H

#include <cstdint>
#include <functional>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clock_model.h"
#include "plugin/journal/journal.h"
#include "plugin/record/ring_pool.h"

namespace ringside::assemble {

/// Callbacks of one thread, or of all threads that have ended, together.
struct ThreadCounts {
  std::int32_t tid = 0;  ///< 0: ended threads
  std::uint64_t produced = 0;
  std::uint64_t dropped = 0;
};

class RingReader {
 public:
  RingReader(record::RingPool& pool, const ClockModel& clock, Assembler& assembler)
      : pool_(pool), clock_(clock), assembler_(assembler) {}

  /// Each record taken is written to the journal before its slot is given back. `checkpoint` is to
  /// write out what is pending, and the journal's checkpoint; it is called when the log is full.
  void set_journal(Journal* journal, std::function<void()> checkpoint) {
    journal_ = journal;
    checkpoint_ = std::move(checkpoint);
  }

  /// Takes what was recorded up to these steady ticks, which are of the clock's last reading, and
  /// returns how many records that were. Rings of threads that have ended are given back once they
  /// are empty.
  std::uint64_t read(std::uint64_t until_ticks);

  /// The last read left records in their rings whose ticks are lower than they can be. Either they
  /// were stored late, or the counter has stepped back since the clock was read. So the clock is to
  /// be read again, and then the rings once more up to the same ticks.
  bool has_doubts() const { return has_doubts_; }

  /// The last read took more than a quarter of some ring: waiting would be a risk.
  bool fills_fast() const { return fills_fast_; }

  /// One entry a living thread, and one for all others.
  std::vector<ThreadCounts> thread_counts();

 private:
  struct Reading {
    record::Ring* ring = nullptr;
    std::uint64_t tail = 0;
    std::uint64_t first = 0;   ///< the tail before this read
    std::uint32_t owners = 0;  ///< up to which owner the thread is known
    std::int32_t tid = 0;
    std::uint64_t before_produced = 0;  ///< of earlier owners
    std::uint64_t before_dropped = 0;
    // Steady ticks.
    std::uint64_t next_ticks = 0;  ///< of the record at the tail; only while reading
    std::uint64_t last_ticks = 0;  ///< of the last record that was looked at and due
    std::uint32_t steps = 0;       ///< of the clock, that came before that record
  };
  bool look(Reading& reading, std::uint64_t until_ticks);
  void take(Reading& reading);
  void keep(const RecordView& view, std::uint64_t operation);
  void meet_owner(Reading& reading);
  void retire(Reading& reading);

  record::RingPool& pool_;
  const ClockModel& clock_;
  Assembler& assembler_;
  Journal* journal_ = nullptr;
  std::function<void()> checkpoint_;
  std::vector<Reading> readings_;  // by the ring's index
  ThreadCounts ended_;
  bool fills_fast_ = false;
  std::uint64_t until_ticks_ = 0;   // of this read
  std::uint64_t before_ticks_ = 0;  // of the read before
  std::uint64_t slack_ticks_ = 0;
  bool doubts_ = true;  // this read doubts what is too old
  bool has_doubts_ = false;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_DRAIN_RING_READER_H
