// SPDX-License-Identifier: Apache-2.0
//
// Takes records out of the process's rings, in order of their steady ticks over all rings, and
// hands them to the assembler. The consumer's side of record/ring.h; used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_RING_READER_H
#define RINGSIDE_PLUGIN_DRAIN_RING_READER_H

#include <cstdint>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clock_model.h"
#include "plugin/journal/journal.h"
#include "plugin/record/ring_pool.h"

namespace ringside::control {

/// Callbacks of one thread, or of all threads that have ended, together.
struct ThreadCounts {
  std::int32_t tid = 0;  ///< 0: ended threads
  std::uint64_t produced = 0;
  std::uint64_t dropped = 0;
};

class RingReader {
 public:
  RingReader(record::RingPool& pool, const assemble::ClockModel& clock,
             assemble::Assembler& assembler)
      : pool_(pool), clock_(clock), assembler_(assembler) {}

  /// Each record taken is written to the journal before its slot is given back.
  void set_journal(assemble::Journal& journal) { journal_ = &journal; }

  /// Begins a pass over all rings, up to these steady ticks. They are of a reading of the clock
  /// that was made after the last pass.
  void begin(std::uint64_t until_ticks);
  /// Takes records, the oldest of all rings first. True: the pass is over, and rings of threads
  /// that have ended are given back if they are empty. False: the journal has no room for the next
  /// record. Unless `keeps_room`, what the journal cannot hold is lost to it instead, and counted.
  bool take_records(bool keeps_room = true);
  /// How many records this pass has taken so far.
  std::uint64_t taken() const { return taken_; }

  /// The pass has left records in their rings whose ticks are lower than they can be. Either they
  /// were stored late, or the counter has stepped back since the clock was read. So the clock is to
  /// be read again, and another pass made up to the same ticks.
  bool has_doubts() const { return has_doubts_; }

  /// The last pass took more than a quarter of some ring: waiting would be a risk.
  bool fills_fast() const { return fills_fast_; }

  /// One entry for each living thread, and one for all others.
  std::vector<ThreadCounts> thread_counts() const;

 private:
  struct Reading {
    record::Ring* ring = nullptr;
    std::uint64_t tail = 0;
    std::uint64_t first = 0;   ///< the tail before this pass
    std::uint32_t owners = 0;  ///< up to which owner the thread is known
    std::int32_t tid = 0;
    std::uint64_t before_produced = 0;  ///< of earlier owners
    std::uint64_t before_dropped = 0;
    // Steady ticks.
    std::uint64_t next_ticks = 0;  ///< of the record at the tail; only during a pass
    std::uint64_t last_ticks = 0;  ///< of the last record that was looked at and due
    std::uint32_t steps = 0;       ///< of the clock, that came before that record
  };
  bool look(Reading& reading);
  void take(Reading& reading);
  void keep(const assemble::RecordView& view, std::uint64_t operation);
  void meet_owner(Reading& reading);
  void end();
  void retire(Reading& reading);

  record::RingPool& pool_;
  const assemble::ClockModel& clock_;
  assemble::Assembler& assembler_;
  assemble::Journal* journal_ = nullptr;
  std::vector<Reading> readings_;  // by the ring's index
  ThreadCounts ended_;
  bool fills_fast_ = false;
  std::uint64_t taken_ = 0;         // in this pass
  std::uint64_t until_ticks_ = 0;   // of this pass
  std::uint64_t before_ticks_ = 0;  // of the pass before
  std::uint64_t slack_ticks_ = 0;
  bool doubts_ = true;  // this pass leaves what is too old
  bool has_doubts_ = false;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_RING_READER_H
