// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/live_answers.h"

#include <ctime>
#include <vector>

#include "plugin/export/json_text.h"
#include "plugin/record/recorder.h"

namespace ringside::control {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::uint64_t ring_bytes() {
  std::uint64_t bytes = 0;
  const record::RingPool& pool = record::g_recorder.rings();
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    if (const record::Ring* ring = pool.ring(i); ring != nullptr) {
      bytes += ring->capacity * sizeof(record::Slot);
    }
  }
  return bytes;
}

}  // namespace

exporting::MetricsFacts metrics_facts(const assemble::Assembler& assembler, std::int64_t now_ns) {
  exporting::MetricsFacts facts;
  facts.in_flight = assembler.in_flight_totals();
  facts.oldest = assembler.in_flight_since(now_ns);
  facts.now_ns = now_ns;
  facts.realtime_s = seconds_of(CLOCK_REALTIME);
  facts.drain_cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  facts.ring_bytes = ring_bytes();
  return facts;
}

std::string live_members(const assemble::Assembler& assembler,
                         const exporting::LiveMetrics& metrics, std::int64_t now_ns) {
  // The length of a reply is bounded; `left_out` counts the open communicators beyond it.
  constexpr std::size_t kMostCommunicators = 1000;
  const auto in_flight = assembler.in_flight_totals();
  const std::vector<assemble::InFlight> oldest = assembler.in_flight_since(now_ns);
  exporting::JsonText json;
  json.member("time_ns", now_ns).key("live").raw("[");
  std::size_t listed = 0;
  std::size_t left_out = 0;
  for (const assemble::Communicator& communicator : assembler.communicators()) {
    if (communicator.context == 0 || communicator.finalized_ns != assemble::kUnknownTime) {
      continue;
    }
    if (listed == kMostCommunicators) {
      ++left_out;
      continue;
    }
    json.raw(listed++ == 0 ? "{\"context\":" : ",{\"context\":").integer(communicator.context);
    if (communicator.has_hash) {
      json.member_hex("comm", communicator.hash);
    }
    if (!communicator.name.empty()) {
      json.member_string("name", communicator.name);
    }
    if (communicator.rank_known) {
      json.member("rank", communicator.rank);
    }
    if (communicator.has_size) {
      json.member("nranks", communicator.nranks);
    }
    const auto known = metrics.communicators().find(communicator.context);
    const exporting::MetricSums sums =
        known != metrics.communicators().end() ? known->second : exporting::MetricSums();
    json.member("operations", sums.operations).member("message_bytes", sums.message_bytes);
    json.member("timed_operations", sums.timed_operations).member("busy_ns", sums.busy_ns);
    json.key("bus_bytes").fixed(sums.bus_bytes).member("bus_ns", sums.bus_ns);
    json.member("joint_operations", sums.joint_operations).member("joint_ns", sums.joint_ns);
    const auto open = in_flight.find(communicator.context);
    const assemble::InFlightTotal total =
        open != in_flight.end() ? open->second : assemble::InFlightTotal();
    json.member("in_flight_operations", total.operations);
    json.member("in_flight_bytes", total.bytes);
    for (const assemble::InFlight& first : oldest) {
      if (first.operation.context == communicator.context) {
        json.member_string("oldest_func", first.operation.func);
        json.member("oldest_age_ns", now_ns - first.since_ns);
        if (first.operation.has_seq) {
          json.member("oldest_seq", first.operation.seq);
        }
      }
    }
    json.raw("}");
  }
  return std::string(json.raw("]").member("left_out", left_out).text());
}

}  // namespace ringside::control
