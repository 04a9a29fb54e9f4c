// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/live_metrics.h"

#include <numeric>

#include "test/unit/catch.h"

using namespace ringside;
using assemble::Communicator;
using assemble::Operation;
using assemble::TimesFrom;
using exporting::LiveMetrics;
using exporting::MetricSums;

namespace {

Communicator communicator_of(std::uint32_t context, int nranks = 4) {
  Communicator made;
  made.context = context;
  made.has_hash = made.has_size = made.rank_known = true;
  made.hash = 0xab00 + context;
  made.name = "world";
  made.rank = 1;
  made.nranks = nranks;
  return made;
}

Operation operation_of(std::string_view func, std::uint64_t bytes, std::int64_t busy_ns) {
  Operation made;
  made.func = func;
  made.algo = "RING";
  made.proto = "LL";
  made.has_bytes = true;
  made.bytes = bytes;
  made.start_ns = 1'000;
  made.end_ns = 1'000 + busy_ns;
  made.times_from = TimesFrom::kGpu;
  return made;
}

const MetricSums& only(const LiveMetrics& metrics) {
  REQUIRE(metrics.series().size() == 1);
  return metrics.series().begin()->second;
}

}  // namespace

TEST_CASE("sums of an AllReduce, by hand") {
  LiveMetrics metrics;
  // 1 MB in 100 us over four ranks: 10 GB/s algbw, times 2 * 3 / 4.
  metrics.add(operation_of("AllReduce", 1'000'000, 100'000), communicator_of(1));
  metrics.add(operation_of("AllReduce", 1'000'000, 300'000), communicator_of(1));
  const MetricSums& sums = only(metrics);
  CHECK(sums.operations == 2);
  CHECK(sums.message_bytes == 2'000'000);
  CHECK(sums.busy_ns == 400'000);
  CHECK(sums.bus_bytes == Approx(3'000'000));
  CHECK(sums.bus_ns == 400'000);
  CHECK(metrics.series().begin()->first.size_class == 19);
  CHECK(sums.durations[4] == 1);  // to 256 us
  CHECK(sums.durations[5] == 1);  // to 1 ms
  CHECK(sums.busbws[6] == 1);     // 5 GB/s, the bound itself
  CHECK(sums.busbws[8] == 1);     // 15 GB/s
}

TEST_CASE("of what each rank gives a part the message is the whole") {
  LiveMetrics metrics;
  metrics.add(operation_of("AllGather", 1'000, 1'000), communicator_of(1));
  CHECK(only(metrics).message_bytes == 4'000);
  CHECK(only(metrics).bus_bytes == Approx(3'000));
}

TEST_CASE("no bandwidth without times, ranks or bytes") {
  LiveMetrics metrics;
  Operation enqueued = operation_of("AllReduce", 1'000, 1'000);
  enqueued.times_from = TimesFrom::kEnqueue;
  metrics.add(enqueued, communicator_of(1));
  CHECK(only(metrics).operations == 1);
  CHECK(only(metrics).timed_operations == 0);
  CHECK(only(metrics).busy_ns == 0);

  Communicator alone = communicator_of(1, 1);
  metrics.add(operation_of("AllReduce", 1'000, 1'000), alone);
  CHECK(only(metrics).timed_operations == 1);
  CHECK(only(metrics).bus_ns == 0);

  LiveMetrics unknown;
  Communicator no_size = communicator_of(1);
  no_size.has_size = false;
  unknown.add(operation_of("AllGather", 1'000, 1'000), no_size);
  CHECK(only(unknown).message_bytes == 0);
  CHECK(unknown.series().begin()->first.size_class == -1);
}

TEST_CASE("a send has no factor") {
  LiveMetrics metrics;
  Operation send = operation_of("Send", 1'000, 1'000);
  send.kind = assemble::OperationKind::kP2p;
  metrics.add(send, communicator_of(1));
  CHECK(only(metrics).bus_bytes == Approx(1'000));
}

TEST_CASE("joint operations are those with times in which each rank waits for all") {
  LiveMetrics metrics;
  for (const char* const func : {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll"}) {
    metrics.add(operation_of(func, 1'000, 1'000), communicator_of(1));
  }
  for (const char* const func : {"Broadcast", "Reduce", "Gather", "Scatter"}) {
    metrics.add(operation_of(func, 1'000, 50'000), communicator_of(1));
  }
  Operation send = operation_of("Send", 1'000, 50'000);
  send.kind = assemble::OperationKind::kP2p;
  metrics.add(send, communicator_of(1));
  Operation enqueued = operation_of("AllReduce", 1'000, 50'000);
  enqueued.times_from = TimesFrom::kEnqueue;
  metrics.add(enqueued, communicator_of(1));
  Operation received = operation_of("AllReduce", 1'000, 50'000);
  received.start_is_latest = true;
  metrics.add(received, communicator_of(1));
  CHECK(metrics.communicators().at(1).joint_operations == 4);
  CHECK(metrics.communicators().at(1).joint_ns == 4'000);
  CHECK(metrics.communicators().at(1).timed_operations == 10);
}

TEST_CASE("series are bounded, and no sum is lost") {
  LiveMetrics metrics;
  std::uint64_t added = 0;
  for (std::uint32_t context = 1; context <= 300; ++context) {
    const Communicator communicator = communicator_of(context);
    metrics.add(operation_of("AllReduce", 1'000, 1'000), communicator);
    metrics.add(operation_of("AllGather", 1'000, 1'000), communicator);
    added += 2;
    if (context % 2 == 0) {
      metrics.close(context);
    }
  }
  CHECK(metrics.series().size() <= LiveMetrics::kMostSeries + 2);
  CHECK(metrics.communicators().size() == 150);
  std::uint64_t found = 0;
  for (const auto& [key, sums] : metrics.series()) {
    found += sums.operations;
    CHECK(std::accumulate(sums.durations.begin(), sums.durations.end(), std::uint64_t{0}) ==
          sums.operations);
    CHECK((key.context == 0 || key.context % 2 == 1 || key.context > 290));
  }
  CHECK(found == added);
}
