// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/recording.h"

#include "plugin/session/announcement.h"
#include "test/unit/catch.h"

using namespace ringside;
using namespace ringside::config;
using namespace ringside::session;
using posix::Log;

namespace {

struct Place {
  Place() { g_is_used.store(true); }  // the orders of this test are no other test's
  ~Place() { recording.stop(); }

  /// How many notes of windows have been left since the last call.
  std::size_t new_notes() {
    std::vector<Note> taken;
    const std::size_t windows = notes.take(taken);
    notes.windows_applied(windows);
    return windows;
  }

  Config config;
  Log log{"/dev/null"};
  Notes notes{log};
  Recording recording{config, notes};
  int mask = 0;
};

constexpr NcclFacts kNccl{6, 22805};

}  // namespace

TEST_CASE("windows follow starts, stops and somebody else's change of NCCL's mask") {
  Place place;
  Recording& recording = place.recording;
  CHECK(recording.state() == Recording::State::kWaiting);
  recording.open(1, &place.mask, kNccl);
  CHECK(recording.state() == Recording::State::kRecording);
  CHECK(recording.windows() == 1);
  CHECK(place.mask == static_cast<int>(recording.wanted()));
  CHECK(place.new_notes() == 1);
  recording.start({});
  CHECK(place.new_notes() == 0);

  place.mask = 0;
  recording.look_at_masks();
  CHECK(recording.state() == Recording::State::kMasked);
  CHECK(place.new_notes() == 1);
  recording.start({});
  CHECK(recording.state() == Recording::State::kRecording);
  CHECK(recording.windows() == 2);
  CHECK(place.mask == static_cast<int>(recording.wanted()));

  recording.stop();
  CHECK(recording.state() == Recording::State::kStopped);
  CHECK(place.mask == 0);
  CHECK(place.new_notes() == 2);
  recording.start(EventChoice{false, record::bit(record::EventType::kColl)});
  CHECK(recording.recorded() == record::bit(record::EventType::kColl));
  recording.close(1);
  recording.close(1);
  CHECK(recording.masks().open_contexts() == 0);
}

TEST_CASE(
    "what is ordered for later happens when its time has come, and an order replaces others") {
  Place place;
  Recording& recording = place.recording;
  recording.open(1, &place.mask, kNccl);
  recording.stop();
  recording.order_start({0, 5, 0, {}});
  CHECK(recording.has_new_plan());
  CHECK(recording.state() == Recording::State::kStopped);
  recording.carry_out_plan(100);
  CHECK_FALSE(recording.has_new_plan());
  CHECK(recording.state() == Recording::State::kRecording);
  recording.carry_out_plan(104);
  CHECK(recording.state() == Recording::State::kRecording);
  recording.carry_out_plan(105);
  CHECK(recording.state() == Recording::State::kStopped);

  recording.order_start({0, 5, 0, {}});
  recording.order_stop(0);
  recording.carry_out_plan(200);
  CHECK(recording.state() == Recording::State::kStopped);
  recording.order_start({});
  CHECK(recording.state() == Recording::State::kRecording);
}

TEST_CASE("the line at load says what is recorded and where") {
  Place place;
  place.recording.open(1, &place.mask, kNccl);
  const auto lines = announcement(place.config, place.recording, RingDirectory(), "/traces/a.json");
  REQUIRE(lines.size() == 1);
  CHECK_FALSE(lines[0].is_warning);
  INFO(lines[0].text);
  CHECK(lines[0].text.find("NCCL 2.28.5, profiler interface v6, events ") != std::string::npos);
  CHECK(lines[0].text.find("trace /traces/a.json (rings in memory") != std::string::npos);

  Place newer;
  newer.recording.open(1, &newer.mask, {6, 22907});
  const auto others =
      announcement(newer.config, newer.recording, RingDirectory(), "/traces/a.json");
  REQUIRE(others.size() == 2);
  CHECK(others[1].text.starts_with("kernel channels (GPU times) are off: NCCL 2.29.7"));
}
