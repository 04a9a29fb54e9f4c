// SPDX-License-Identifier: Apache-2.0
//
// Tests which operations are stuck, by records with times of the test's choice, and what the plugin
// says about them.
#include "plugin/doors/hang_watch.h"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <thread>
#include <unistd.h>

#include "plugin/doors/hang_command.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using assemble::InFlight;
using record::EventId;
using record::EventState;
using record::EventType;
using test::kSecond;
using test::Script;

namespace {

constexpr std::int64_t kLimit = 2 * kSecond;

std::vector<InFlight> stuck_in(Script& script) {
  return script.assembler.in_flight_since(script.now - kLimit);
}

EventId enqueue(Script& script) {
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  return coll;
}

void run_to_its_end(Script& script, EventId coll) {
  script.stop(script.start(EventType::kProxyOp, coll, 11), 11);
}

}  // namespace

TEST_CASE("a transfer that never ends is stuck after the limit, not before") {
  Script script;
  const EventId coll = enqueue(script);
  const EventId send = script.start(EventType::kProxyOp, coll, 11);
  const std::int64_t begun_ns = script.now;
  const EventId step = script.start(EventType::kProxyStep, send, 11);
  script.state(step, EventState::kStepSendGpuWait);
  script.settle(kLimit - kSecond / 10);
  CHECK(stuck_in(script).empty());
  script.settle(kSecond / 10);
  const auto stuck = stuck_in(script);
  REQUIRE(stuck.size() == 1);
  CHECK(stuck[0].operation.number == 1);
  CHECK(stuck[0].since_ns == begun_ns);
  script.stop(step, 11);
  CHECK(stuck_in(script).size() == 1);
  script.stop(send, 11);
  script.settle(kLimit);
  CHECK(stuck_in(script).empty());
}

TEST_CASE("a kernel that never ends is stuck; one that has not begun is an enqueue") {
  Script script(6, true);
  const EventId coll = enqueue(script);
  script.settle(10 * kSecond);
  CHECK(stuck_in(script).empty());
  script.start(EventType::kKernelCh, coll, 11);
  script.settle(3 * kSecond);
  CHECK(stuck_in(script).size() == 1);
}

TEST_CASE("an operation of which only the enqueue is seen is never stuck") {
  Script script;
  for (int i = 0; i < 3; ++i) {
    enqueue(script);
    for (int second = 0; second < 8; ++second) {
      script.settle(kSecond);
      CHECK(stuck_in(script).empty());
    }
  }
}

TEST_CASE("a call that does not return is stuck, unless its thread has made others since") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.settle(3 * kSecond);
  const auto stuck = stuck_in(script);
  REQUIRE(stuck.size() == 1);
  CHECK_FALSE(stuck[0].call_returned);
  script.start(EventType::kGroup, 0);
  CHECK(stuck_in(script).empty());
  script.stop(coll);
  script.settle(3 * kSecond);
  CHECK(stuck_in(script).empty());
}

TEST_CASE("an operation's time counts from its turn, not from the queue behind another") {
  Script script;
  const EventId first = script.start(EventType::kProxyOp, enqueue(script), 11);
  script.start(EventType::kProxyOp, enqueue(script), 11);
  script.settle(10 * kSecond);
  REQUIRE(stuck_in(script).size() == 1);
  CHECK(stuck_in(script)[0].operation.number == 1);
  script.stop(first, 11);
  const std::int64_t ended_ns = script.now;
  CHECK(stuck_in(script).empty());  // its end is known, though it may still get late events
  script.settle(kSecond);
  CHECK(stuck_in(script).empty());
  script.settle(kSecond);
  const auto stuck = stuck_in(script);
  REQUIRE(stuck.size() == 1);
  CHECK(stuck[0].operation.number == 2);
  CHECK(stuck[0].since_ns == ended_ns);
}

TEST_CASE("an operation that a later one has overtaken has lost its end, and is not stuck") {
  Script script;
  script.start(EventType::kProxyOp, enqueue(script), 11);
  script.settle(3 * kSecond);
  REQUIRE(stuck_in(script).size() == 1);
  run_to_its_end(script, enqueue(script));
  script.settle(5 * kSecond);
  CHECK(stuck_in(script).empty());
}

TEST_CASE("a stall is told once; the next one of the communicator, and another's, again") {
  doors::Stalls reported;
  const auto stuck = [](std::uint32_t context, std::uint64_t number) {
    InFlight made;
    made.operation.context = context;
    made.operation.number = number;
    return made;
  };
  CHECK(doors::take_unreported({stuck(1, 7)}, reported).size() == 1);
  CHECK(doors::take_unreported({stuck(1, 7)}, reported).empty());
  CHECK(doors::take_unreported({}, reported).empty());
  CHECK(doors::take_unreported({stuck(1, 7)}, reported).empty());
  const auto another = doors::take_unreported({stuck(1, 7), stuck(2, 8)}, reported);
  REQUIRE(another.size() == 1);
  CHECK(another[0].operation.context == 2);
  CHECK(doors::take_unreported({stuck(1, 9), stuck(2, 8)}, reported).size() == 1);
}

TEST_CASE("the line names rank, communicator, operation and dump, and stays one line") {
  InFlight stuck;
  stuck.operation.func = "AllGather";
  stuck.operation.has_seq = stuck.operation.has_bytes = true;
  stuck.operation.seq = 5;
  stuck.operation.bytes = 4096;
  stuck.since_ns = kSecond;
  assemble::Communicator world;
  world.name = "wor\nld";
  world.has_hash = world.has_size = world.rank_known = true;
  world.hash = 0xabc;
  world.rank = 2;
  world.nranks = 3;
  CHECK(doors::hang_line(stuck, &world, {2, 4 * kSecond, 0, "/d/x.json"}) ==
        "stalled: rank 2 of 3 in communicator wor?ld (0x0000000000000abc): AllGather #5, 4096 "
        "bytes, in flight for 3.0 s (limit 2 s); dump: /d/x.json");
  stuck.call_returned = false;
  const std::string line = doors::hang_line(stuck, nullptr, {2, 4 * kSecond, 9, ""});
  CHECK(line.find("(limit 2 s), its call has not returned; 9 records were lost") != line.npos);
  CHECK(line.find("; no dump: 4 have been written") != line.npos);
  stuck.operation.has_seq = false;
  stuck.operation.func = "Recv";
  stuck.operation.kind = assemble::OperationKind::kP2p;
  stuck.operation.number = 367;
  stuck.operation.root_or_peer = 1;
  CHECK(doors::hang_line(stuck, nullptr, {2, 4 * kSecond, 0, ""})
            .find(": Recv from peer 1 (operation 367 of the trace), 4096 bytes") != line.npos);
}

TEST_CASE("the command runs with the dump's path, without our files and signals") {
  const Directory directory;
  const std::string out = directory.file("out");
  const int open_file = dup(STDERR_FILENO);
  doors::HangCommand command(
      "{ echo \"$RINGSIDE_HANG_DUMP $RINGSIDE_HANG_PID\"; "
      "grep SigBlk /proc/self/status; ls /proc/$$/fd | wc -l; } > " +
      out + ".new; mv " + out + ".new " + out);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  CHECK(command.run("/a b/dump.json").is_ok());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::string said;
  for (int i = 0; i < 1000 && said.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream file(out);
    said.assign(std::istreambuf_iterator<char>(file), {});
  }
  close(open_file);
  CHECK(said.find("/a b/dump.json " + std::to_string(getpid()) + "\n") == 0);
  CHECK(said.find("SigBlk:\t0000000000000000\n") != said.npos);
  CHECK(said.substr(said.rfind('\n', said.size() - 2) + 1).size() <= 2);  // fewer than 10
  command.reap();
}
