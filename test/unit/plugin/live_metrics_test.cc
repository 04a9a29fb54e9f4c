// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/live_metrics.h"

#include <numeric>

#include "plugin/export/metrics_text.h"
#include "test/unit/catch.h"

using namespace ringside;
using assemble::Communicator;
using assemble::Operation;
using assemble::TimesFrom;
using exporting::LiveMetrics;
using exporting::MetricsFacts;
using exporting::MetricsForm;
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

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
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

TEST_CASE("the text of both forms") {
  LiveMetrics metrics;
  std::vector<Communicator> communicators(3);
  communicators[1] = communicator_of(1);
  communicators[1].name = "a\"b\\c\nd\xff";
  communicators[2] = communicators[1];  // made again: the same labels, so one series
  communicators[2].context = 2;
  metrics.add(operation_of("AllReduce", 1'000'000, 100'000), communicators[1]);
  metrics.add(operation_of("AllReduce", 1'000'000, 100'000), communicators[2]);
  MetricsFacts facts;
  facts.process.launcher_rank = 7;
  facts.process.host = "node1";
  facts.process.pid = 4711;
  facts.process.plugin_version = "1.2.3";
  facts.now_ns = 5'000'000'000;
  facts.account.by_type[1].produced = 9;
  facts.account.by_type[1].dropped_parent = 2;
  assemble::InFlight open;
  open.operation = operation_of("AllReduce", 64, 0);
  open.operation.context = 2;
  open.since_ns = 2'000'000'000;
  facts.oldest.push_back(open);
  facts.in_flight[2] = {1, 64};

  const std::string process = "global_rank=\"7\",host=\"node1\",pid=\"4711\"";
  const std::string series = process +
                             ",communicator=\"0x000000000000ab01\","
                             "name=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\",rank=\"1\"";
  const std::string kind = ",func=\"AllReduce\",size_bytes=\"524288\",algo=\"RING\",proto=\"LL\"";
  const std::string plain =
      exporting::metrics_text(MetricsForm::kPrometheus, metrics, communicators, facts);
  CHECK(has_line(plain, "# TYPE ringside_operations_total counter"));
  CHECK(has_line(plain, "ringside_operations_total{" + series + kind + "} 2"));
  CHECK(has_line(plain, "ringside_bus_bytes_total{" + series + kind + "} 3e+06"));
  CHECK(
      has_line(plain, "ringside_duration_seconds_bucket{" + series + kind + ",le=\"6.4e-05\"} 0"));
  CHECK(
      has_line(plain, "ringside_duration_seconds_bucket{" + series + kind + ",le=\"0.000256\"} 2"));
  CHECK(has_line(plain, "ringside_duration_seconds_bucket{" + series + kind + ",le=\"+Inf\"} 2"));
  CHECK(has_line(plain, "ringside_duration_seconds_count{" + series + kind + "} 2"));
  CHECK(has_line(plain, "ringside_in_flight_operations{" + series + "} 1"));
  CHECK(has_line(plain, "ringside_in_flight_bytes{" + series + "} 64"));
  CHECK(has_line(plain, "ringside_oldest_in_flight_seconds{" + series + "} 3"));
  CHECK(has_line(plain, "ringside_callbacks_total{" + process + "} 9"));
  CHECK(has_line(plain, "ringside_dropped_callbacks_total{" + process + ",reason=\"parent\"} 2"));
  CHECK(plain.find("# EOF") == std::string::npos);

  const std::string open_text =
      exporting::metrics_text(MetricsForm::kOpenMetrics, metrics, communicators, facts);
  CHECK(has_line(open_text, "# TYPE ringside_operations counter"));
  CHECK(has_line(open_text, "# UNIT ringside_busy_seconds seconds"));
  CHECK(has_line(open_text, "ringside_operations_total{" + series + kind + "} 2"));
  CHECK(open_text.ends_with("# EOF\n"));
}
