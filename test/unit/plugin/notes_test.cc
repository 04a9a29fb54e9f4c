// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/notes.h"

#include <new>

#include "test/unit/catch.h"

using namespace ringside;
using namespace ringside::control;

TEST_CASE("a note for which memory is too short is tried three times, and others are applied") {
  threads::kDrainThread.assume();  // there is no drain thread here
  const Config config;
  TraceWriter writer(config);
  TakenNotes taken;
  int attempts = 0;
  int others = 0;
  taken.list().emplace_back([&](TraceWriter&) { ++others; });
  taken.list().emplace_back([&](TraceWriter&) {
    ++attempts;
    throw std::bad_alloc();
  });
  taken.list().emplace_back([&](TraceWriter&) { ++others; });
  for (int cycle = 0; cycle < 3; ++cycle) {
    CHECK_THROWS_AS(taken.apply(writer), std::bad_alloc);
    CHECK(others == 1);
  }
  CHECK(taken.apply(writer));
  CHECK(attempts == 3);
  CHECK(others == 2);
  CHECK(taken.list().empty());
  CHECK_FALSE(taken.apply(writer));
}

TEST_CASE("notes of windows keep their room until they are applied") {
  Log log("stderr");
  Notes notes(log);
  while (notes.has_room_for_start()) {
    notes.tell(WindowNote{1, 1, true, 1});
    notes.tell(WindowNote{1, 2, false, 1});
  }
  std::vector<Note> taken;
  const std::size_t windows = notes.take(taken);
  CHECK(windows == WindowRoom::kMost);
  CHECK(taken.size() == windows);
  CHECK(notes.is_empty());
  CHECK_FALSE(notes.has_room_for_start());
  notes.tell(CloseNote{1, 3});
  notes.windows_applied(windows);
  CHECK(notes.has_room_for_start());
  CHECK_FALSE(notes.is_empty());
}
