// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/live_answers.h"

#include <string_view>
#include <vector>

#include "plugin/export/lines/json_text.h"
#include "plugin/record/recorder.h"

namespace ringside::drain {
namespace {

using exporting::JsonText;
using exporting::MetricSums;

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

template <typename Numbers>
void add_array(JsonText& json, std::string_view key, const Numbers& numbers) {
  json.key(key).raw("[");
  for (const auto number : numbers) {
    json.next().integer(static_cast<std::uint64_t>(number));
  }
  json.raw("]");
}

void add_sums(JsonText& json, const MetricSums& sums) {
  json.member("operations", sums.operations).member("message_bytes", sums.message_bytes);
  json.member("timed_operations", sums.timed_operations).member("busy_ns", sums.busy_ns);
  json.key("bus_bytes").fixed(sums.bus_bytes).member("bus_ns", sums.bus_ns);
  json.member("joint_operations", sums.joint_operations).member("joint_ns", sums.joint_ns);
}

// Begins an object with the facts of a communicator; NULL: none is known.
void begin_with(JsonText& json, std::uint32_t context, const assemble::Communicator* communicator) {
  json.next().raw("{\"context\":").integer(context);
  if (communicator == nullptr) {
    return;
  }
  if (communicator->has_hash) {
    json.member_hex("comm", communicator->hash);
  }
  json.member_text("name", communicator->name);
  if (communicator->rank_known) {
    json.member("rank", communicator->rank);
  }
  if (communicator->has_size) {
    json.member("nranks", communicator->nranks);
  }
}

void add_series(JsonText& json, const assemble::Assembler& assembler,
                const exporting::LiveMetrics& metrics, const assemble::Account& account) {
  assemble::TypeAccount all;
  for (const assemble::TypeAccount& type : account.by_type) {
    all += type;
  }
  json.member("realtime_ns", record::clock_ns(CLOCK_REALTIME));
  json.member("drain_cpu_ns", record::clock_ns(CLOCK_THREAD_CPUTIME_ID));
  json.member("ring_bytes", ring_bytes());
  json.key("account").raw("{\"produced\":").integer(all.produced);
  for (const assemble::Fate& fate : assemble::kFates) {
    json.member(fate.name, all.*fate.count);
  }
  json.raw("}");
  add_array(json, "duration_bounds_ns", exporting::kDurationBounds_ns);
  add_array(json, "busbw_bounds", exporting::kBusbwBounds_bytes_per_s);
  json.key("series").raw("[");
  for (const auto& [key, sums] : metrics.series()) {
    begin_with(json, key.context, assembler.find_communicator(key.context));
    json.member_string("func", key.func).member_string("algo", key.algo);
    json.member_string("proto", key.proto).member("size_class", key.size_class);
    add_sums(json, sums);
    add_array(json, "durations", sums.durations);
    add_array(json, "busbws", sums.busbws);
    json.raw("}");
  }
  json.raw("]");
}

}  // namespace

std::string live_members(const assemble::Assembler& assembler,
                         const exporting::LiveMetrics& metrics, std::int64_t now_ns,
                         const std::optional<assemble::Account>& account) {
  // The length of a reply is bounded; `left_out` counts the open communicators beyond it.
  constexpr std::size_t kMostCommunicators = 1000;
  const auto in_flight = assembler.in_flight_totals();
  const std::vector<assemble::InFlight> oldest = assembler.in_flight_since(now_ns);
  JsonText json;
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
    ++listed;
    begin_with(json, communicator.context, &communicator);
    const auto known = metrics.communicators().find(communicator.context);
    add_sums(json, known != metrics.communicators().end() ? known->second : MetricSums());
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
  json.raw("]").member("left_out", left_out);
  if (account) {
    add_series(json, assembler, metrics, *account);
  }
  return std::string(json.text());
}

}  // namespace ringside::drain
