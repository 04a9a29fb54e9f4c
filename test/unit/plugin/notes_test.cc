// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/notes.h"

#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>

#include "plugin/journal/images.h"
#include "plugin/record/recorder.h"
#include "plugin/session/session.h"
#include "test/unit/catch.h"

using namespace ringside;
using namespace ringside::config;
using namespace ringside::drain;
using namespace ringside::session;
using posix::Log;

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

TEST_CASE("orders whose clients have gone do not fill the memory of a process that cannot write") {
  const Config config;
  TraceWriter writer(config);
  Log log("stderr");
  Session session(config, log, writer, [] { return true; });  // a thread that does nothing
  constexpr std::size_t kOrders = 1000;
  std::size_t dumps = 0;
  std::size_t others = 0;
  for (std::size_t i = 0; i < kOrders; ++i) {
    const auto dump = session.order_dump("/nowhere");
    REQUIRE(dump != nullptr);
    const std::optional<Result> result = dump->result();
    CHECK((!result || result->error() == EBUSY));
    dumps += result ? 0 : 1;
    others += session.tell_drain_thread([](TraceWriter&) {}) ? 1 : 0;
  }
  CHECK(dumps > 10);
  CHECK(dumps < 100);
  CHECK(others > 10);
  CHECK(others < 100);
  threads::kDrainThread.assume();
  std::vector<Note> taken;
  session.take_notes(taken);
  CHECK(taken.size() == others);
  CHECK(session.tell_drain_thread([](TraceWriter&) {}));
}

TEST_CASE("notes of windows keep their room until they are applied") {
  Log log("stderr");
  Notes notes(log);
  while (notes.has_room_for_start()) {
    notes.tell(WindowNote{1, 1, WindowNote::What::kOpens, 1});
    notes.tell(WindowNote{1, 2, WindowNote::What::kEnds, 1});
  }
  std::vector<Note> taken;
  const std::size_t windows = notes.take(taken);
  CHECK(windows == Notes::kMostOfWindows);
  CHECK(taken.size() == windows);
  CHECK(notes.is_empty());
  CHECK_FALSE(notes.has_room_for_start());
  notes.tell(CloseNote{1, 3});
  notes.windows_applied(windows);
  CHECK(notes.has_room_for_start());
  CHECK_FALSE(notes.is_empty());
}

TEST_CASE("a change of a window's events for whose opening memory was too short changes no other") {
  threads::kDrainThread.assume();
  const Config config;
  TraceWriter writer(config);
  const auto memory = std::make_unique<char[]>(journal::Journal::kLeastBytes);
  writer.keep_journal(memory.get(), journal::Journal::kLeastBytes);
  writer.apply(WindowNote{1, record::g_recorder.ticks(), WindowNote::What::kChanges, 2});
  writer.apply(WindowNote{1, record::g_recorder.ticks(), WindowNote::What::kOpens, 2});
  writer.apply(WindowNote{2, record::g_recorder.ticks(), WindowNote::What::kChanges, 3});
  journal::JournalImage image;
  const auto* const bytes = reinterpret_cast<const std::byte*>(memory.get());
  REQUIRE(journal::read_journal({bytes, journal::Journal::kLeastBytes}, image).is_ok());
  REQUIRE(image.windows.size() == 1);
  CHECK(image.windows.at(1).types == 2);
  writer.apply(WindowNote{1, record::g_recorder.ticks(), WindowNote::What::kChanges, 3});
  REQUIRE(journal::read_journal({bytes, journal::Journal::kLeastBytes}, image).is_ok());
  CHECK(image.windows.at(1).types == 3);
}
