// SPDX-License-Identifier: Apache-2.0
//
// The number of notes that wait for the drain thread is bounded. Notes without room are counted.
#include "plugin/session/note_room.h"

#include "test/unit/catch.h"

using namespace ringside::control;
using What = ringside::assemble::UserMark::What;
using Verdict = MarkRoom::Verdict;

TEST_CASE("marks beyond the room are lost and counted, until others are taken") {
  MarkRoom room;
  ThreadRanges thread;
  for (std::uint64_t i = 0; i < MarkRoom::kMost; ++i) {
    REQUIRE(room.admit(What::kMark, thread) == Verdict::kGoesOn);
  }
  CHECK(room.admit(What::kMark, thread) == Verdict::kLost);
  CHECK(room.admit(What::kMark, thread) == Verdict::kLost);
  CHECK(room.marks_lost() == 2);
  CHECK(room.waiting() == MarkRoom::kMost);
  room.taken(1, 0);
  CHECK(room.admit(What::kMark, thread) == Verdict::kGoesOn);
  CHECK(room.admit(What::kMark, thread) == Verdict::kLost);
  room.taken(MarkRoom::kMost + 1, 0);
  CHECK(room.waiting() == 0);
}

TEST_CASE("a range that has begun has room for its end, one that is lost is lost with its end") {
  MarkRoom room;
  ThreadRanges thread;
  ThreadRanges other;
  REQUIRE(room.admit(What::kPush, thread) == Verdict::kGoesOn);
  while (room.admit(What::kMark, other) == Verdict::kGoesOn) {
  }
  CHECK(room.waiting() == MarkRoom::kMost - 1);  // the end's place is kept
  CHECK(room.admit(What::kPush, thread) == Verdict::kLost);
  room.taken(1000, 0);
  // Within one that is lost all are: their ends would be taken for those of others.
  CHECK(room.admit(What::kPush, thread) == Verdict::kLost);
  CHECK(room.admit(What::kPush, other) == Verdict::kGoesOn);
  CHECK(room.admit(What::kPop, thread) == Verdict::kNothing);
  CHECK(room.admit(What::kPop, thread) == Verdict::kNothing);
  CHECK(room.admit(What::kPop, thread) == Verdict::kGoesOn);
  CHECK(room.admit(What::kPop, thread) == Verdict::kNothing);  // one too many
  CHECK(room.admit(What::kPop, other) == Verdict::kGoesOn);
  CHECK(room.ranges_lost() == 2);
  CHECK(room.marks_lost() == 1);
}

TEST_CASE("who never ends a range does not take the room of the marks") {
  MarkRoom room;
  std::uint64_t begun = 0;
  for (int thread = 0; thread < 100; ++thread) {
    ThreadRanges of;
    for (int i = 0; i < 1000; ++i) {
      begun += room.admit(What::kPush, of) == Verdict::kGoesOn ? 1 : 0;
    }
    CHECK(of.open <= ringside::assemble::kMostNestedRanges);
  }
  CHECK(begun == ringside::assemble::kMostOpenRanges);
  CHECK(room.ranges_lost() == 100'000 - begun);
  room.taken(begun, 3);
  CHECK(room.ranges_lost() == 100'003 - begun);
  CHECK(room.had_too_many());
  ThreadRanges of;
  CHECK(room.admit(What::kMark, of) == Verdict::kGoesOn);
}

TEST_CASE("a start is refused as long as its stop would have no room") {
  WindowRoom room;
  std::size_t starts = 0;
  for (; room.has_room(); ++starts) {
    room.added();  // the start
    room.added();  // the stop
  }
  CHECK(starts == WindowRoom::kMost / 2);
  CHECK(room.waiting() <= WindowRoom::kMost);
  room.taken(room.waiting());
  CHECK(room.has_room());
}

TEST_CASE("what the disk does not take is lost, too, but there were not too many") {
  MarkRoom room;
  ThreadRanges thread;
  REQUIRE(room.admit(What::kMark, thread) == Verdict::kGoesOn);
  room.taken(1, 0);
  room.not_written(1, 2);
  CHECK(room.marks_lost() == 1);
  CHECK(room.ranges_lost() == 2);
  CHECK_FALSE(room.had_too_many());
  room.not_written(1, 2);  // since the process began, not anew
  CHECK(room.marks_lost() == 1);
}
