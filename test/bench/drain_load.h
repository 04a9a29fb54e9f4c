// SPDX-License-Identifier: Apache-2.0
//
// Records as NCCL's threads leave them in their rings: collectives of two communicators, from the
// API call on the application's thread to proxy operations, steps and kernel channels on a progress
// thread each. On a time line of its own, so that the same load is the same bytes each time, or on
// the real one.
#ifndef RINGSIDE_TEST_BENCH_DRAIN_LOAD_H
#define RINGSIDE_TEST_BENCH_DRAIN_LOAD_H

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugin/record/clock.h"
#include "plugin/record/ring_pool.h"

namespace ringside::bench {

struct Mix {
  std::string_view name;
  int channels;  ///< of each collective: a sending and a receiving proxy operation each
  int steps;     ///< of each proxy operation
  bool kernels;  ///< a kernel channel for each channel
  int per_s;     ///< collectives a second on the load's own time line
  int groups_on =
      0;  ///< if set: this many threads report an empty group each in turn, no collective
  int records() const {
    return groups_on != 0 ? 2 : 8 + channels * ((kernels ? 3 : 0) + 2 * (3 + 5 * steps));
  }
};

class Load {
 public:
  static constexpr std::uint32_t kCommunicators = 2;

  Load(record::RingPool& pool, const Mix& mix, bool real_time);

  /// One more collective. On the load's own time line it takes 1 / per_s seconds.
  void collective();

  std::int64_t now_ns() const { return now_ns_; }
  std::uint64_t appended() const { return appended_; }
  std::uint64_t dropped() const { return dropped_; }
  /// A clock of 2.5 GHz.
  static std::uint64_t ticks_of(std::int64_t ns) { return static_cast<std::uint64_t>(ns) * 5 / 2; }

 private:
  record::EventId start(record::Ring& ring, record::EventType type, std::uint32_t context,
                        record::EventId parent);
  void state(record::Ring& ring, record::EventId id, record::EventState state, std::uint64_t value);
  void stop(record::Ring& ring, record::EventId id);
  record::Slot* append(record::Ring& ring, record::EventId id, record::RecordKind kind,
                       std::uint32_t context, std::uint64_t slots);
  void commit(record::Ring& ring, const record::Slot* slot);
  void execute(record::EventId coll, std::uint32_t context);

  Mix mix_;
  bool real_time_;
  record::ClockSource source_;
  std::vector<record::Ring*> rings_;          // the application's, then one each; or the groups'
  std::array<record::EventId, 8> waiting_{};  // enqueued, not executed yet
  std::uint64_t collectives_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t dropped_ = 0;
  std::int64_t now_ns_ = 1'000'000'000;
};

}  // namespace ringside::bench

#endif  // RINGSIDE_TEST_BENCH_DRAIN_LOAD_H
