// SPDX-License-Identifier: Apache-2.0
//
// Takes records from all rings of the process, in the order of their steady ticks, and passes them
// to the assembler. This is the consumer's side of record/ring.h. Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_DRAIN_RING_READER_H
#define RINGSIDE_PLUGIN_DRAIN_RING_READER_H

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugin/assemble/account.h"
#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/journal/journal.h"
#include "plugin/record/ring_pool.h"

namespace ringside::drain {

class RingReader {
 public:
  RingReader(record::RingPool& pool, const assemble::ClockModel& clock,
             assemble::Assembler& assembler)
      : pool_(pool), clock_(clock), assembler_(assembler) {}

  /// Sets the journal, to which each record is written before its slot is given back.
  void set_journal(journal::Journal& journal) { journal_ = &journal; }

  /// Begins a pass over all rings, up to these steady ticks. They are from a clock reading since
  /// the last pass, or they repeat that pass if it has doubts.
  void begin(std::uint64_t until_ticks);
  /// Takes records, the oldest of all rings first. Returns true when the pass is over, and empty
  /// rings of ended threads are given back. Returns false if the journal has no room for the next
  /// record. Without `keeps_room`, the journal loses such records instead, and counts them.
  bool take_records(bool keeps_room = true);
  std::uint64_t taken() const { return taken_; }

  /// Whether the pass has left records in their rings because their ticks are too low. Either they
  /// were stored late, or the counter has stepped back since the last clock reading. So the caller
  /// must read the clock again, and repeat the pass up to the same ticks.
  bool has_doubts() const { return has_doubts_; }

  /// Whether the last pass took more than a quarter of some ring, so that waiting is a risk.
  bool fills_fast() const { return fills_fast_; }

 private:
  struct Reading {
    record::Ring* ring = nullptr;
    std::uint64_t tail = 0;
    std::uint64_t first = 0;   ///< the tail before this pass
    std::uint32_t owners = 0;  ///< the ring's count of owners when `tid` was read
    std::int32_t tid = 0;
    // The following ticks are steady.
    std::uint64_t next_ticks = 0;  ///< ticks of the record at the tail, during a pass
    std::uint64_t last_ticks = 0;  ///< ticks of the last record that was due
    std::uint32_t steps = 0;       ///< the clock's steps before that record
  };
  /// The next record of a ring that has one, in the heap whose top is the oldest.
  struct Turn {
    std::uint64_t ticks = 0;
    std::uint32_t ring = 0;
  };
  static bool is_later(const Turn& a, const Turn& b) {
    return a.ticks != b.ticks ? a.ticks > b.ticks : a.ring > b.ring;
  }
  bool look(Reading& reading);
  void take(Reading& reading);
  std::string_view text_of(record::Ring& ring, std::uint64_t at);
  void keep(const assemble::RecordView& view, std::uint64_t operation);
  void meet_owner(Reading& reading);
  void end();

  record::RingPool& pool_;
  const assemble::ClockModel& clock_;
  assemble::Assembler& assembler_;
  journal::Journal* journal_ = nullptr;
  std::vector<Reading> readings_;  // by the ring's index
  std::vector<Turn> turns_;
  std::array<char, (record::kMostSlots - 1) * sizeof(record::Slot::text)> text_{};
  bool fills_fast_ = false;
  std::uint64_t taken_ = 0;         // records that this pass has taken
  std::uint64_t until_ticks_ = 0;   // the end of this pass
  std::uint64_t before_ticks_ = 0;  // the end of the pass before
  std::uint64_t slack_ticks_ = 0;
  bool doubts_ = true;  // this pass leaves records whose ticks are too low
  bool has_doubts_ = false;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_RING_READER_H
