// SPDX-License-Identifier: Apache-2.0
//
// From records to operations: the order of callbacks that NCCL was seen to make, and those it
// might.
#include "plugin/assemble/assembler.h"

#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using assemble::OperationState;
using assemble::RecordView;
using assemble::TimesFrom;
using record::EventId;
using record::EventState;
using record::EventType;
using record::RecordKind;
using test::kMillisecond;
using test::kSecond;
using test::Script;

TEST_CASE("children that come after the enqueue, from another thread, time the operation") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId send = script.start(EventType::kProxyOp, coll, 11);
  const EventId step = script.start(EventType::kProxyStep, send, 11);
  script.state(step, EventState::kStepSendGpuWait);
  script.settle(2 * kSecond);
  CHECK(script.sink.operations.empty());  // the proxy operation is still open
  script.state(step, EventState::kStepSendWait, 4096);
  const std::int64_t sent_ns = script.now;
  script.stop(step, 11);
  script.stop(send, 11);
  const std::int64_t done_ns = script.now;
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  const assemble::Operation& operation = script.sink.operations[0];
  CHECK(operation.state == OperationState::kCompleted);
  CHECK(operation.times_from == TimesFrom::kProxy);
  CHECK(operation.start_ns == sent_ns);
  CHECK(operation.end_ns == done_ns);
  CHECK(operation.bytes == 400);
  CHECK(script.sink.proxy_ops[0].bytes == 4096);
  CHECK(script.sink.steps[0].transfer_ns > 0);
}

TEST_CASE("proxy operations alone are a place in a queue") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId send = script.start(EventType::kProxyOp, coll, 11);
  script.state(send, EventState::kProxyOpInProgress);
  script.stop(send, 11);
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].times_from == TimesFrom::kProxyQueue);
}

TEST_CASE("a step has the bytes of the state at which NCCL has just set them") {
  // As recorded with NCCL 2.30.7: before, and after, comes what other steps have left behind.
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  const EventId op = script.start(EventType::kProxyOp, coll, 11);  // of two steps
  const EventId sent = script.start(EventType::kProxyStep, op, 11);
  script.state(sent, EventState::kStepSendGpuWait, 458'752);
  script.state(sent, EventState::kStepSendPeerWait, 458'752);
  script.state(sent, EventState::kStepSendWait, 65'536);
  script.stop(sent, 11);
  const EventId received = script.start(EventType::kProxyStep, op, 11);
  script.state(received, EventState::kStepRecvWait, 458'752);
  script.state(received, EventState::kStepRecvFlushWait, 0);  // of LL a step can be empty
  script.state(received, EventState::kStepRecvGpuWait, 131'072);
  script.stop(received, 11);
  script.stop(op, 11);
  const EventId partly = script.start(EventType::kProxyOp, coll, 11);  // one of its steps is lost
  const EventId told = script.start(EventType::kProxyStep, partly, 11);
  script.state(told, EventState::kStepSendWait, 4096);
  script.stop(told, 11);
  const EventId stateless = script.start(EventType::kProxyStep, partly, 11);
  script.state(stateless, EventState::kStepSendGpuWait, 4096);
  script.stop(stateless, 11);
  script.stop(partly, 11);
  REQUIRE(script.sink.steps.size() == 4);
  CHECK(script.sink.steps[0].bytes == 65'536);
  CHECK(script.sink.steps[1].has_bytes);
  CHECK(script.sink.steps[1].bytes == 0);
  CHECK_FALSE(script.sink.steps[3].has_bytes);
  REQUIRE(script.sink.proxy_ops.size() == 2);
  CHECK(script.sink.proxy_ops[0].has_bytes);
  CHECK(script.sink.proxy_ops[0].bytes == 65'536);
  CHECK_FALSE(script.sink.proxy_ops[1].has_bytes);
}

TEST_CASE("native proxy states tell when the network moved, and bytes by difference") {
  Script script(2);
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId send = script.start(EventType::kProxyOp, coll, 11);
  script.state(send, EventState::kSendPosted, 70'000);  // the total of what was before
  script.state(send, EventState::kSendTransmitted, 72'000);
  const std::int64_t moved_ns = script.now;
  script.state(send, EventState::kSendDone, 78'192);
  script.stop(send, 11);
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].times_from == TimesFrom::kProxy);
  CHECK(script.sink.operations[0].start_ns == moved_ns);
  CHECK(script.sink.proxy_ops[0].bytes == 8'192);
}

TEST_CASE("a rank has come when its GPU gives data, not when the receiver is ready for them") {
  const auto [algo, is_latest] =
      GENERATE(table<const char*, bool>({{"RING", false}, {"TREE", true}, {"NVLS_TREE", true}}));
  Script script;
  script.algo = algo;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId send = script.start(EventType::kProxyOp, coll, 11);
  const EventId step = script.start(EventType::kProxyStep, send, 11);
  script.state(step, EventState::kStepSendGpuWait);
  script.state(step, EventState::kStepSendPeerWait);
  const std::int64_t given_ns = script.now;
  script.now += 20 * kMillisecond;
  script.state(step, EventState::kStepSendWait, 4096);
  script.finish(step, send);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].start_ns == given_ns);
  CHECK(script.sink.operations[0].start_is_latest == is_latest);
}

TEST_CASE("of an earlier interface a send tells only when the receiver was ready, too") {
  Script script(3);
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId send = script.start(EventType::kProxyOp, coll, 11);
  const EventId step = script.start(EventType::kProxyStep, send, 11);
  script.state(step, EventState::kStepSendGpuWait);
  script.state(step, EventState::kStepSendWait, 4096);
  script.finish(step, send);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].start_is_latest);
}

TEST_CASE("data that lie in a buffer do not show that the rank has come") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  script.is_send = false;
  const EventId receive = script.start(EventType::kProxyOp, coll, 11);
  const EventId got = script.start(EventType::kProxyStep, receive, 11);
  script.state(got, EventState::kStepRecvWait);
  script.state(got, EventState::kStepRecvFlushWait, 4096);
  script.state(got, EventState::kStepRecvGpuWait);
  script.now += 20 * kMillisecond;
  SECTION("it only receives") {
    script.stop(got, 11);
    const std::int64_t taken_ns = script.now;
    script.stop(receive, 11);
    script.settle(kSecond);
    REQUIRE(script.sink.operations.size() == 1);
    CHECK(script.sink.operations[0].times_from == TimesFrom::kProxy);
    CHECK(script.sink.operations[0].start_ns == taken_ns);
    CHECK(script.sink.operations[0].start_is_latest);
  }
  SECTION("it sends, too") {
    script.is_send = true;
    const EventId send = script.start(EventType::kProxyOp, coll, 11);
    const EventId step = script.start(EventType::kProxyStep, send, 11);
    script.state(step, EventState::kStepSendPeerWait);
    const std::int64_t given_ns = script.now;
    script.stop(got, 11);
    script.stop(receive, 11);
    script.state(step, EventState::kStepSendWait, 4096);
    script.finish(step, send);
    REQUIRE(script.sink.operations.size() == 1);
    CHECK(script.sink.operations[0].start_ns == given_ns);
    CHECK_FALSE(script.sink.operations[0].start_is_latest);
  }
  SECTION("the end of the step is lost") {
    script.stop(receive, 11);
    const std::int64_t done_ns = script.now;
    script.settle(kSecond);
    REQUIRE(script.sink.operations.size() == 1);
    CHECK(script.sink.operations[0].times_from == TimesFrom::kProxy);
    CHECK(script.sink.operations[0].start_ns == done_ns);
    CHECK(script.sink.operations[0].start_is_latest);
  }
}

TEST_CASE("an operation whose enqueue alone is seen is not stuck") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].state == OperationState::kEnqueued);
  CHECK_FALSE(script.sink.operations[0].in_flight);
}

TEST_CASE("kernel channels are waited for, and time the operation by the GPU's clock") {
  Script script(6, true);
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  script.settle(5 * kSecond);
  CHECK(script.sink.operations.empty());  // it waits for its turn on the GPU
  const auto gpu = [&](std::int64_t host) {
    return static_cast<std::uint64_t>(host + 77 * kSecond);
  };
  const std::int64_t begin = script.now;
  script.kernel(coll, gpu(begin - 400'000), gpu(begin - 100'000), 0);
  script.settle(100 * kMillisecond);
  CHECK(script.sink.operations.empty());  // one of two
  script.kernel(coll, gpu(begin - 390'000), gpu(begin - 80'000), 1);
  script.settle(100 * kMillisecond);
  REQUIRE(script.sink.operations.size() == 1);
  const assemble::Operation& operation = script.sink.operations[0];
  CHECK(operation.times_from == TimesFrom::kGpu);
  CHECK(operation.gpu_channels == 2);
  CHECK(operation.end_ns - operation.start_ns == 320'000);
}

TEST_CASE("stamps that cannot be true are left out and say why") {
  Script script(6, true);
  const auto gpu = [&](std::int64_t host) {
    return static_cast<std::uint64_t>(host + 77 * kSecond);
  };
  const EventId call = script.start(EventType::kCollApi, 0);
  script.stop(call);
  const EventId coll = script.start(EventType::kColl, call);
  script.stop(coll);
  script.kernel(coll, gpu(script.now), gpu(script.now) + 500, 0);
  script.kernel(coll, gpu(script.now), gpu(script.now) - 500, 1);  // stop before start
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].gpu_channels == 1);
  CHECK(script.sink.operations[0].gpu_rejected == 1);
  CHECK(script.sink.kernels[1].rejected == "stop before start");

  const EventId later_call = script.start(EventType::kCollApi, 0);
  script.stop(later_call);
  const EventId later = script.start(EventType::kColl, later_call);
  script.stop(later);
  script.kernel(later, gpu(script.now) - 9'000'000'000, gpu(script.now) - 8'000'000'000, 0);
  script.kernel(later, gpu(script.now), gpu(script.now) + 500, 1);
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 2);
  CHECK(script.sink.kernels[2].rejected == "start before the launch");
}

TEST_CASE("stamps of several kernels in one operation are not believed") {
  Script script(6, true);
  const auto gpu = [&](std::int64_t host) {
    return static_cast<std::uint64_t>(host + 77 * kSecond);
  };
  const EventId ahead = script.start(EventType::kColl, 0);
  script.stop(ahead);
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId late = script.start(EventType::kColl, 0);
  script.stop(late);
  script.now += 20 * kMillisecond;
  const std::int64_t t = script.now;
  script.kernel(ahead, gpu(t - 15'000'000), gpu(t - 10'000'000), 0);
  script.kernel(ahead, gpu(t - 15'000'000), gpu(t - 10'000'000), 1);
  // One channel is the kernel's ahead, the other its own.
  script.kernel(coll, gpu(t - 15'000'000), gpu(t - 10'000'000), 0);
  script.kernel(coll, gpu(t - 9'000'000), gpu(t - 6'000'000), 1);
  // A busy GPU began one channel late: true, and long.
  script.kernel(late, gpu(t - 5'000'000), gpu(t - 4'000'000), 0);
  script.kernel(late, gpu(t - 2'000'000), gpu(t - 1'000'000), 1);
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 3);
  CHECK(script.sink.operations[0].gpu_channels == 2);
  CHECK(script.sink.operations[1].gpu_rejected == 2);
  CHECK(script.sink.operations[1].times_from == TimesFrom::kEnqueue);
  CHECK(script.sink.operations[1].state == OperationState::kCompleted);
  CHECK(script.sink.operations[2].gpu_channels == 2);
  CHECK(script.sink.operations[2].end_ns - script.sink.operations[2].start_ns == 4'000'000);
}

TEST_CASE("records that arrive before what they belong to are joined when it comes") {
  Script script;
  const EventId coll = record::make_event_id(EventType::kColl, false, 0, 1);
  const EventId proxy = record::make_event_id(EventType::kProxyOp, false, 0, 2);
  RecordView early = script.view(RecordKind::kStart, proxy, 11);
  early.payload.proxy_op = {coll, 1, 1, 1, 4096, 0, 0, 1, {}};
  script.assembler.record(early);
  script.stop(proxy, 11);
  script.start(EventType::kColl, 0);  // gets number 1
  script.stop(coll);
  script.settle(10 * kMillisecond);
  REQUIRE(script.sink.proxy_ops.size() == 1);
  CHECK(script.sink.proxy_ops[0].operation == 1);
}

TEST_CASE("what never finds its event is stale, and what never finds its parent goes on alone") {
  Script script;
  const EventId gone = record::make_event_id(EventType::kColl, false, 0, 4711);
  script.stop(gone);
  const EventId proxy = script.start(EventType::kProxyOp, gone, 11);
  script.stop(proxy, 11);
  script.settle(100 * kMillisecond);
  CHECK(script.assembler.counts().stale[1] == 0);  // not yet
  script.settle(2 * kSecond);
  CHECK(script.assembler.counts().stale[1] == 1);
  REQUIRE(script.sink.proxy_ops.size() == 1);
  CHECK(script.sink.proxy_ops[0].operation == 0);
}

TEST_CASE("receiving steps that NCCL never ends, end with their proxy operation") {
  Script script(2);
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId proxy = script.start(EventType::kProxyOp, coll, 11);
  const EventId step = script.start(EventType::kProxyStep, proxy, 11);
  script.state(step, EventState::kStepRecvWait);
  script.stop(proxy, 11);
  script.settle(kSecond);
  REQUIRE(script.sink.steps.size() == 1);
  CHECK(script.sink.steps[0].unstopped);
  CHECK(script.sink.operations.size() == 1);
}

TEST_CASE("a call without execution becomes an operation, once its group is over") {
  Script script;
  const EventId group = script.start(EventType::kGroupApi, 0);
  const EventId call = script.start(EventType::kCollApi, group);
  script.stop(call);
  script.settle(10 * kSecond);
  CHECK(script.sink.operations.empty());  // still connecting, inside the group
  script.stop(group);
  script.settle(10 * kMillisecond);
  script.settle(3 * kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].kind == assemble::OperationKind::kApi);
  CHECK_FALSE(script.sink.operations[0].in_flight);
}

TEST_CASE("a call whose end was lost is told when its operation is forgotten") {
  Script script;
  const EventId call = script.start(EventType::kCollApi, 0);
  const EventId coll = script.start(EventType::kColl, call);
  script.stop(coll);
  script.settle(10 * kSecond);
  script.settle(10 * kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  const auto found =
      std::find_if(script.sink.calls.begin(), script.sink.calls.end(),
                   [&](const assemble::Call& one) { return one.type == EventType::kCollApi; });
  REQUIRE(found != script.sink.calls.end());
  CHECK(found->in_flight);
  const std::size_t told = script.sink.calls.size();
  script.stop(call);  // after all
  script.assembler.close(script.now += 10 * kSecond);
  CHECK(script.sink.calls.size() == told);
  const auto index = static_cast<std::size_t>(EventType::kCollApi);
  CHECK(script.assembler.counts().stale[index] == 1);
}

TEST_CASE("what is open is shown in flight, and stays") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId proxy = script.start(EventType::kProxyOp, coll, 11);
  test::CollectingSink dump;
  CHECK(script.assembler.write_in_flight(dump, script.now) == 1);
  REQUIRE(dump.operations.size() == 1);
  CHECK(dump.operations[0].in_flight);
  CHECK(dump.operations[0].state == OperationState::kStarted);
  CHECK(dump.proxy_ops[0].in_flight);
  CHECK(script.sink.operations.empty());
  script.stop(proxy, 11);
  script.settle(kSecond);
  REQUIRE(script.sink.operations.size() == 1);
  CHECK(script.sink.operations[0].state == OperationState::kCompleted);
}

TEST_CASE("a step in flight tells what it waits for, up to now") {
  Script script;
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  const EventId proxy = script.start(EventType::kProxyOp, coll, 11);
  const EventId step = script.start(EventType::kProxyStep, proxy, 11);
  const auto dumped = [&script] {
    test::CollectingSink dump;
    script.assembler.write_in_flight(dump, script.now + kSecond);
    REQUIRE(dump.steps.size() == 1);
    return dump.steps[0];
  };
  script.state(step, EventState::kStepSendGpuWait);
  CHECK(dumped().gpu_wait_ns == kSecond);
  CHECK(dumped().peer_wait_ns == 0);
  script.state(step, EventState::kStepSendPeerWait);
  CHECK(dumped().gpu_wait_ns < kSecond);
  CHECK(dumped().peer_wait_ns == kSecond);
  CHECK(dumped().transfer_ns == 0);
  script.state(step, EventState::kStepSendWait, 4096);
  CHECK(dumped().peer_wait_ns < kSecond);
  CHECK(dumped().transfer_ns == kSecond);
  script.stop(step, 11);
  REQUIRE(script.sink.steps.size() == 1);
  CHECK(script.sink.steps[0].transfer_ns < kSecond);
}

TEST_CASE("calls that end out of order are not slices that nest") {
  Script script;
  const EventId outer = script.start(EventType::kGroup, 0);
  const EventId first = script.start(EventType::kColl, outer);
  const EventId second = script.start(EventType::kColl, outer);
  script.stop(first);
  script.stop(second);
  script.stop(outer);
  REQUIRE(script.sink.calls.size() == 3);
  CHECK_FALSE(script.sink.calls[0].nests);
  CHECK(script.sink.calls[1].nests);
  CHECK(script.sink.calls[2].nests);
}

TEST_CASE("a call whose stop is lost is no slice that nests, since others of its thread go on") {
  Script script;
  const EventId group = script.start(EventType::kGroupApi, 0);
  const EventId call = script.start(EventType::kCollApi, group);
  const EventId coll = script.start(EventType::kColl, call);
  script.stop(coll);
  script.stop(group);
  const EventId later = script.start(EventType::kGroupApi, 0);  // its stop comes after all
  script.settle(4 * kSecond);
  script.settle(10 * kSecond);
  script.stop(later);
  const auto& calls = script.sink.calls;
  const auto lost = std::find_if(calls.begin(), calls.end(), [](const assemble::Call& row) {
    return row.type == EventType::kCollApi;
  });
  REQUIRE(lost != calls.end());
  CHECK(lost->in_flight);
  CHECK_FALSE(lost->nests);
}

TEST_CASE("a count that no message can have makes no bytes that look like those of one") {
  // A Coll event has that count, and so has a call without one. 2^62 floats are 2^64 bytes, or 0.
  constexpr std::uint64_t kAbsurd = (std::uint64_t{1} << 62) + 25;
  const auto fill = [](auto& payload, const char* func) {
    payload.func = record::known_name(record::read_prefix(func));
    payload.datatype = record::known_name(record::read_prefix("ncclFloat32"));
    payload.count = kAbsurd;
  };
  Script script;
  const EventId call = record::make_event_id(EventType::kCollApi, false, 0, ++script.counter);
  RecordView called = script.view(RecordKind::kStart, call, 10);
  fill(called.payload.api, "Broadcast");
  script.assembler.record(called);
  script.stop(call);
  const EventId coll = record::make_event_id(EventType::kColl, false, 0, ++script.counter);
  RecordView enqueued = script.view(RecordKind::kStart, coll, 10);
  fill(enqueued.payload.coll, "AllReduce");
  script.assembler.record(enqueued);
  script.stop(coll);
  script.settle(70 * kSecond);
  script.settle(70 * kSecond);
  REQUIRE(script.sink.operations.size() == 2);
  for (const assemble::Operation& operation : script.sink.operations) {
    CHECK(operation.count == kAbsurd);
    CHECK_FALSE(operation.has_bytes);
    CHECK(operation.bytes == 0);
  }
}
