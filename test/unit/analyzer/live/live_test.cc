// SPDX-License-Identifier: Apache-2.0
//
// Answers of the control socket, and the rates between two of them.
#include <random>
#include <string>

#include "live/request.h"
#include "live/top_report.h"
#include "live/watch/live_sample.h"
#include "test/unit/catch.h"

using namespace ringside::live;

namespace {

const std::string kAnswer =
    R"({"version":1,"ok":true,"verb":"live","job":"j","host":"h","pid":7,"directory":"/d",)"
    R"("trace_path":"","communicators":1,"windows":1,"operations":10,"callbacks":20,"dropped":2,"trouble":false,)"
    R"("state":"recording","rank":3,"left_ns":5,"time_ns":1000000000,"live":[{"context":1,)"
    R"("comm":"0x1","name":"world","rank":3,"operations":10,"message_bytes":100,)"
    R"("timed_operations":9,"busy_ns":50,"bus_bytes":100.000,"bus_ns":50,)"
    R"("in_flight_operations":1,"in_flight_bytes":64,"oldest_func":"AllReduce",)"
    R"("oldest_age_ns":4,"oldest_seq":8}],"left_out":0})";

LiveProcesses processes_with(const std::string& answer) {
  Exchange exchange;
  exchange.endpoint.path = "p";
  exchange.silence = Silence::kNone;
  exchange.answer = answer;
  LiveProcess process;
  process.reply = read_reply(exchange);
  process.sample = process.reply.error.empty() ? read_live(answer) : std::nullopt;
  LiveProcesses processes;
  processes.emplace("p", process);
  return processes;
}

std::vector<LiveRow> rates_between(const LiveProcesses& before, const LiveProcesses& after) {
  LastEvents events;
  return live::rates_between(before, after, events);
}

std::string with(std::string text, const std::string& before, const std::string& after) {
  const std::size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

std::string two_seconds_later() {
  std::string answer = with(kAnswer, "\"time_ns\":1000000000", "\"time_ns\":3000000000");
  answer = with(answer, "\"dropped\":2", "\"dropped\":5");
  answer = with(answer, "\"rank\":3,\"operations\":10", "\"rank\":3,\"operations\":30");
  return with(answer, "\"bus_bytes\":100.000,\"bus_ns\":50", "\"bus_bytes\":400.0,\"bus_ns\":150");
}

}  // namespace

TEST_CASE("rates are differences of sums over the process's own time") {
  const LiveProcesses before = processes_with(kAnswer);
  const LiveProcesses after = processes_with(two_seconds_later());
  const std::vector<LiveRow> rows = rates_between(before, after);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].interval_s == 2);
  CHECK(rows[0].operations_per_s == 10.0);
  CHECK(rows[0].busbw_bytes_per_s == 3e9);
  CHECK(rows[0].dropped == 3U);
  CHECK(rows[0].communicator->in_flight_bytes == 64);
  CHECK(rows[0].communicator->oldest_seq == 8);
}

TEST_CASE("a rate that cannot be told has no value") {
  const LiveProcesses first = processes_with(kAnswer);
  CHECK_FALSE(rates_between({}, first)[0].operations_per_s);
  CHECK_FALSE(rates_between(first, first)[0].operations_per_s);
  const LiveProcesses later = processes_with(two_seconds_later());
  // The older one second: sums that shrink are of something else.
  CHECK_FALSE(rates_between(later, processes_with(with(kAnswer, "\"time_ns\":1000000000",
                                                       "\"time_ns\":9000000000")))[0]
                  .operations_per_s);
  const LiveProcesses still = processes_with(with(
      with(kAnswer, "recording", "stopped"), "\"time_ns\":1000000000", "\"time_ns\":2000000000"));
  CHECK_FALSE(rates_between(first, still)[0].operations_per_s);
  // One that is new has begun from nothing.
  const LiveProcesses other = processes_with(with(kAnswer, "\"context\":1", "\"context\":2"));
  CHECK(rates_between(other, later)[0].operations_per_s == 15.0);
}

TEST_CASE("the time without an event is that since the first look at their count") {
  const LiveProcesses first = processes_with(kAnswer);
  const auto at = [](const char* time_ns, const char* callbacks) {
    return processes_with(
        with(with(kAnswer, "\"time_ns\":1000000000", time_ns), "\"callbacks\":20", callbacks));
  };
  const LiveProcesses second = at("\"time_ns\":3500000000", "\"callbacks\":20");
  const LiveProcesses third = at("\"time_ns\":6000000000", "\"callbacks\":20");
  const LiveProcesses moved = at("\"time_ns\":7000000000", "\"callbacks\":21");
  LastEvents events;
  CHECK(live::rates_between(first, second, events)[0].quiet_s == 2.5);
  CHECK(live::rates_between(second, third, events)[0].quiet_s == 5.0);
  CHECK(live::rates_between(third, moved, events)[0].quiet_s == 0.0);
  const LiveProcesses stopped = processes_with(with(kAnswer, "recording", "stopped"));
  CHECK_FALSE(rates_between(stopped, stopped)[0].quiet_s);
}

TEST_CASE("what is no answer is said to be none") {
  CHECK(processes_with(kAnswer).at("p").reply.error.empty());
  CHECK(processes_with(R"({"ok":false,"error":"io","message":"disk full"})").at("p").reply.error ==
        "disk full");
  for (const char* wrong : {"", "{}", "[]", "{\"ok\":1}", "{\"ok\":true}", "{\"ok\":false}"}) {
    CHECK(processes_with(wrong).at("p").reply.error == "answers what is not Ringside's protocol");
  }
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::string text = kAnswer.substr(0, kAnswer.size() - (random() % 2) * (random() % 300));
    for (auto changes = random() % 5; changes != 0; --changes) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const LiveProcesses damaged = processes_with(text);
    const std::vector<LiveRow> rows = rates_between(processes_with(kAnswer), damaged);
    REQUIRE(!rows.empty());
    REQUIRE(!top_as_table(rows).empty());
    REQUIRE(!top_as_json(rows).empty());
  }
}

TEST_CASE("a request has what is given, and text that is quoted") {
  CHECK(Request("status").line() == R"({"version":1,"verb":"status"})");
  CHECK(Request("start").integer("operations", 5).seconds("seconds", 1.5).line() ==
        R"({"version":1,"verb":"start","operations":5,"seconds":1.500000})");
  CHECK(Request("mark").text("text", "a\"\\\n\xff").text("none", "").line() ==
        "{\"version\":1,\"verb\":\"mark\",\"text\":\"a\\\"\\\\\\u000a\xff\"}");
}
