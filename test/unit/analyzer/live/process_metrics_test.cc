// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/process_metrics.h"

#include <string>
#include <utility>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::live {
namespace {

constexpr uid_t kOwner = 1007;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// An AllReduce of 1 MB in 100 us over four ranks, in a communicator that was made twice.
std::string series_of(int context) {
  return "{\"context\":" + std::to_string(context) +
         R"(,"comm":"0xab01","name":"a\"b\\c\nd","rank":1,"nranks":4,"func":"AllReduce",)"
         R"("algo":"RING","proto":"LL","size_class":19,"operations":1,"message_bytes":1000000,)"
         R"("timed_operations":1,"busy_ns":100000,"bus_bytes":1500000.000,"bus_ns":100000,)"
         R"("joint_operations":1,"joint_ns":100000,"durations":[0,1,0],"busbws":[0,1]})";
}

std::string answer() {
  return R"({"version":1,"ok":true,"verb":"live","ringside_version":"1.2.3","job":"train",)"
         R"("host":"node1","pid":4711,"directory":"/t","trace_path":"/t/x.json",)"
         R"("nccl_version":"2.29.7","abi_version":6,"launcher_rank":7,"communicators":1,)"
         R"("windows":1,"operations":2,"dropped":2,"bytes_written":77,"trouble":false,)"
         R"("state":"recording","time_ns":5000000000,"live":[{"context":2,"comm":"0xab01",)"
         R"("name":"a\"b\\c\nd","rank":1,"nranks":4,"operations":1,"message_bytes":1000000,)"
         R"("timed_operations":1,"busy_ns":100000,"bus_bytes":1500000.000,"bus_ns":100000,)"
         R"("in_flight_operations":1,"in_flight_bytes":64,"oldest_func":"AllReduce",)"
         R"("oldest_age_ns":3000000000}],"left_out":0,"realtime_ns":1795299139500000000,)"
         R"("drain_cpu_ns":250000000,"ring_bytes":65536,"account":{"produced":9,"rotated":1,)"
         R"("sampled_out":3,"dropped_memory":0,"dropped_no_ring":0,"dropped_parent":2,)"
         R"("dropped_ring_full":0,"dropped_write":0},"duration_bounds_ns":[64000,256000],)"
         R"("busbw_bounds":[5000000000],"series":[)" +
         series_of(1) + "," + series_of(2) + "]}";
}

std::optional<ProcessMetrics> read(const std::string& text) {
  Exchange exchange;
  exchange.silence = Silence::kNone;
  exchange.answer = text;
  return ProcessMetrics::read(read_reply(exchange), kOwner);
}

std::string page_of(const std::string& text, MetricsForm form) {
  const auto metrics = read(text);
  REQUIRE(metrics);
  MetricsPage page(form);
  LastEvents events;
  metrics->add_to(page, events);
  return page.text();
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the metrics of a process, in both forms") {
  const std::string process = R"(global_rank="7",host="node1",pid="4711",uid="1007")";
  const std::string of = process + R"(,communicator="0xab01",name="a\"b\\c?d",rank="1")";
  const std::string kind = R"(,func="AllReduce",size_bytes="524288",algo="RING",proto="LL")";
  const std::string plain = page_of(answer(), MetricsForm::kPrometheus);
  for (const std::string& line : std::vector<std::string>{
           "# TYPE ringside_operations_total counter",
           "ringside_operations_total{" + of + kind + "} 2",
           "ringside_message_bytes_total{" + of + kind + "} 2000000",
           "ringside_busy_seconds_total{" + of + kind + "} 2e-04",
           "ringside_bus_bytes_total{" + of + kind + "} 3e+06",
           "ringside_bus_seconds_total{" + of + kind + "} 2e-04",
           "ringside_duration_seconds_bucket{" + of + kind + ",le=\"6.4e-05\"} 0",
           "ringside_duration_seconds_bucket{" + of + kind + ",le=\"0.000256\"} 2",
           "ringside_duration_seconds_bucket{" + of + kind + ",le=\"+Inf\"} 2",
           "ringside_duration_seconds_count{" + of + kind + "} 2",
           "ringside_duration_seconds_sum{" + of + kind + "} 2e-04",
           "ringside_busbw_bytes_per_second_bucket{" + of + kind + ",le=\"5e+09\"} 0",
           "ringside_in_flight_operations{" + of + "} 1",
           "ringside_in_flight_bytes{" + of + "} 64",
           "ringside_oldest_in_flight_seconds{" + of + "} 3",
           "ringside_callbacks_total{" + process + "} 9",
           "ringside_dropped_callbacks_total{" + process + ",reason=\"parent\"} 2",
           "ringside_rotated_callbacks_total{" + process + "} 1",
           "ringside_sampled_out_callbacks_total{" + process + "} 3",
           "ringside_trace_bytes_total{" + process + "} 77",
           "ringside_ring_bytes{" + process + "} 65536",
           "ringside_drain_cpu_seconds_total{" + process + "} 0.25",
           "ringside_recording{" + process + "} 1",
           "ringside_written_timestamp_seconds{" + process + "} 1795299139.5",
           "ringside_build_info{" + process +
               ",version=\"1.2.3\",nccl_version=\"2.29.7\",abi_version=\"6\",job=\"train\","
               "process_id=\"4711\"} 1"}) {
    INFO(line);
    CHECK(has_line(plain, line));
  }
  CHECK(plain.find("busbw_bytes_per_second_sum") == std::string::npos);
  CHECK(plain.find("# EOF") == std::string::npos);
  const std::string open = page_of(answer(), MetricsForm::kOpenMetrics);
  CHECK(has_line(open, "# TYPE ringside_operations counter"));
  CHECK(has_line(open, "# UNIT ringside_busy_seconds seconds"));
  CHECK(has_line(open, "ringside_operations_total{" + of + kind + "} 2"));
  CHECK(open.ends_with("# EOF\n"));
}

TEST_CASE("series beyond those that a process keeps have no communicator, size or algorithm") {
  const std::string folded = replaced(
      answer(), R"("context":1,"comm":"0xab01","name":"a\"b\\c\nd","rank":1)", R"("context":0)");
  const std::string text = page_of(replaced(folded, R"("size_class":19)", R"("size_class":-1)"),
                                   MetricsForm::kPrometheus);
  CHECK(text.find(R"(,communicator="other",name="",rank="",func="AllReduce",size_bytes="",)") !=
        std::string::npos);
  const std::string nameless =
      replaced(answer(), R"("context":1,"comm":"0xab01",)", R"("context":1,)");
  CHECK(page_of(nameless, MetricsForm::kPrometheus).find(R"(,communicator="context 1",)") !=
        std::string::npos);
}

TEST_CASE("what is not a process's answer gives no metrics") {
  std::string many = answer();
  for (std::size_t i = 0; i < ProcessMetrics::kMostSeries; ++i) {
    many = replaced(std::move(many), "\"series\":[", "\"series\":[" + series_of(3) + ',');
  }
  std::string bounds = "1";
  std::string counts = "0,0";
  for (std::size_t i = 2; i <= ProcessMetrics::kMostBounds + 1; ++i) {
    bounds += ',' + std::to_string(i);
    counts += ",0";
  }
  std::string wide =
      replaced(answer(), R"("busbw_bounds":[5000000000])", "\"busbw_bounds\":[" + bounds + ']');
  for (int i = 0; i < 2; ++i) {
    wide = replaced(std::move(wide), R"("busbws":[0,1])", "\"busbws\":[" + counts + ']');
  }
  std::vector<std::string> wrong = {"", "{}", "ringside_recording 1\n", many, wide};
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("series":[)", R"("metrics":"ringside_recording 1\n","no":[)"},
           {R"("ok":true)", R"("ok":false,"message":"no")"},
           {R"("produced":9)", R"("produced":-9)"},
           {R"("produced":9)", R"("produced":"9} 1\nevil 1")"},
           {R"("produced":9)", R"("produced":1.5)"},
           {R"("dropped_write":0)", R"("other":0)"},
           {R"("host":"node1")", R"("host":["node1"])"},
           {R"("duration_bounds_ns":[64000,256000])", R"("duration_bounds_ns":[64000,64000])"},
           {R"("duration_bounds_ns":[64000,256000])", R"("duration_bounds_ns":[64000])"},
           {R"("durations":[0,1,0])", R"("durations":[0,18446744073709551615,1])"},
           {R"("durations":[0,1,0])", R"("durations":[0,"1",0])"},
           {R"("bus_bytes":1500000.000,"bus_ns":100000,"joint)", R"("bus_bytes":1e999,"joint)"},
           {R"("size_class":19)", R"("size_class":64)"},
           {R"("realtime_ns":)", R"("real_time_ns":)"}}) {
    wrong.push_back(replaced(answer(), from, to));
  }
  for (const std::string& text : wrong) {
    INFO(text.substr(0, 3000));
    CHECK_FALSE(read(text));
  }
}

TEST_CASE("the owner in the labels is the kernel's word, whatever the answer says") {
  const auto metrics =
      read(replaced(answer(), R"("host":"node1")", R"("uid":0,"host":"n\",uid=\"0")"));
  REQUIRE(metrics);
  CHECK(metrics->labels() == R"(global_rank="7",host="n\",uid=\"0",pid="4711",uid="1007")");
}

}  // namespace ringside::live
