// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/process_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "live/json_members.h"
#include "live/watch/live_sample.h"

namespace ringside::live {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
// Of a bucket: sums of all buckets of all series are far from a 64 bit number's end.
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 48;

std::string labels_of(std::int64_t context, const std::string& comm, const std::string& name,
                      std::optional<std::int64_t> rank) {
  const std::string communicator = context == 0    ? "other"
                                   : !comm.empty() ? comm
                                                   : "context " + std::to_string(context);
  return ',' + label("communicator", communicator) + ',' + label("name", name) + ',' +
         label("rank", rank ? std::to_string(*rank) : "");
}

// Numbers that only grow, as the bounds of buckets do.
bool take_bounds(const JsonObject& object, std::string_view name, double unit,
                 std::vector<double>& bounds) {
  simdjson::dom::array array;
  if (!take(object, name, array) || array.size() > ProcessMetrics::kMostBounds) {
    return false;
  }
  for (const simdjson::dom::element element : array) {
    double bound = 0;
    if (element.get(bound) != simdjson::SUCCESS || !std::isfinite(bound) ||
        (!bounds.empty() && !(bound / unit > bounds.back()))) {
      return false;
    }
    bounds.push_back(bound / unit);
  }
  return true;
}

bool take_counts(const JsonObject& object, std::string_view name, std::size_t size,
                 std::vector<std::uint64_t>& counts) {
  simdjson::dom::array array;
  if (!take(object, name, array) || array.size() != size) {
    return false;
  }
  for (const simdjson::dom::element element : array) {
    if (element.get(counts.emplace_back()) != simdjson::SUCCESS || counts.back() > kMostCount) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct ProcessMetrics::Reader {
  ProcessMetrics& made;

  bool read_process(const JsonObject& object, const ProcessStatus& status, uid_t owner) {
    const std::string host_and_pid =
        label("host", status.host) + ',' + label("pid", std::to_string(status.pid));
    const auto rank = integer_of(object, "launcher_rank");
    made.labels_ = (rank ? label("global_rank", std::to_string(*rank)) + ',' : "") + host_and_pid +
                   ',' + label("uid", std::to_string(owner));
    const auto interface = integer_of(object, "abi_version");
    made.build_labels_ =
        made.labels_ + ',' + label("version", text_of(object, "ringside_version")) + ',' +
        label("nccl_version", text_of(object, "nccl_version")) + ',' +
        label("abi_version", std::to_string(interface.value_or(0))) + ',' +
        label("job", status.job) + ',' + label("process_id", std::to_string(status.pid));
    made.is_recording_ = status.state == "recording" || status.state == "masked";
    JsonObject account;
    if (!take(object, "account", account, "bytes_written", made.trace_bytes_, "ring_bytes",
              made.ring_bytes_, "drain_cpu_ns", made.drain_cpu_ns_, "realtime_ns",
              made.realtime_ns_)) {
      return false;
    }
    for (std::size_t i = 0; i < kReasons.size(); ++i) {
      if (!take(account, "dropped_" + std::string(kReasons[i]), made.dropped_[i])) {
        return false;
      }
    }
    return take(account, "produced", made.produced_, "rotated", made.rotated_, "sampled_out",
                made.sampled_out_);
  }

  bool read_series(const JsonObject& object) {
    simdjson::dom::array array;
    if (!take_bounds(object, "duration_bounds_ns", kNanosecondsPerSecond,
                     made.duration_bounds_s_) ||
        !take_bounds(object, "busbw_bounds", 1, made.busbw_bounds_) ||
        !take(object, "series", array) || array.size() > kMostSeries) {
      return false;
    }
    for (const simdjson::dom::element element : array) {
      JsonObject one;
      if (element.get(one) != simdjson::SUCCESS || !read_one(one)) {
        return false;
      }
    }
    return true;
  }

  bool read_one(const JsonObject& object) {
    constexpr std::int64_t kMostSizeClass = 63;
    std::int64_t context = 0;
    std::int64_t size_class = 0;
    Sums sums;
    if (!take(object, "context", context, "size_class", size_class, "operations", sums.operations,
              "message_bytes", sums.message_bytes, "timed_operations", sums.timed_operations,
              "busy_ns", sums.busy_ns, "bus_bytes", sums.bus_bytes, "bus_ns", sums.bus_ns) ||
        size_class > kMostSizeClass || !std::isfinite(sums.bus_bytes) ||
        !take_counts(object, "durations", made.duration_bounds_s_.size() + 1, sums.durations) ||
        !take_counts(object, "busbws", made.busbw_bounds_.size() + 1, sums.busbws)) {
      return false;
    }
    const std::string labels =
        made.labels_ +
        labels_of(context, text_of(object, "comm"), text_of(object, "name"),
                  integer_of(object, "rank")) +
        ',' + label("func", text_of(object, "func")) + ',' +
        label("size_bytes", size_class < 0 ? "" : std::to_string(std::uint64_t{1} << size_class)) +
        ',' + label("algo", text_of(object, "algo")) + ',' +
        label("proto", text_of(object, "proto"));
    const auto [place, is_new] = made.series_.try_emplace(labels);
    if (is_new) {
      place->second = std::move(sums);
    } else {
      add(sums, place->second);
    }
    return true;
  }

  static void add(const Sums& more, Sums& sums) {
    for (auto of : {&Sums::operations, &Sums::message_bytes, &Sums::timed_operations,
                    &Sums::busy_ns, &Sums::bus_ns}) {
      sums.*of += more.*of;
    }
    sums.bus_bytes += more.bus_bytes;
    for (auto of : {&Sums::durations, &Sums::busbws}) {
      std::transform((sums.*of).begin(), (sums.*of).end(), (more.*of).begin(), (sums.*of).begin(),
                     std::plus<>());
    }
  }

  void read_in_flight(const LiveSample& sample) {
    for (const LiveCommunicator& one : sample.communicators) {
      InFlight& sums =
          made.in_flight_[made.labels_ + labels_of(one.context, one.comm, one.name, one.rank)];
      sums.operations += one.in_flight_operations;
      sums.bytes += one.in_flight_bytes;
      sums.oldest_ns = std::max(sums.oldest_ns, one.oldest_age_ns.value_or(0));
    }
  }
};

std::optional<ProcessMetrics> ProcessMetrics::read(const Reply& reply, uid_t owner) {
  const auto sample = reply.status ? read_live(reply.answer) : std::nullopt;
  simdjson::dom::parser parser;
  JsonObject object;
  ProcessMetrics made;
  Reader reader{made};
  if (!sample || sample->communicators.size() > kMostCommunicators ||
      parser.parse(reply.answer).get(object) != simdjson::SUCCESS ||
      !reader.read_process(object, *reply.status, owner) || !reader.read_series(object)) {
    return std::nullopt;
  }
  reader.read_in_flight(*sample);
  return made;
}

void ProcessMetrics::add_to(MetricsPage& page, LastEvents& events) const {
  add_series(page);
  add_in_flight(page);
  add_process(page);
  const double quiet_s = events.look(labels_, produced_, realtime_ns_);
  if (is_recording_) {
    page.family("ringside_quiet_seconds", "gauge",
                "Time without a call of NCCL, at the least: since a scrape first found this state.",
                "seconds");
    page.sample(labels_, quiet_s);
  }
}

void ProcessMetrics::add_series(MetricsPage& page) const {
  const auto family = [&](std::string_view name, std::string_view unit, std::string_view help,
                          const auto& value) {
    page.family(name, "counter", help, unit);
    for (const auto& [labels, sums] : series_) {
      page.sample(labels, value(sums));
    }
  };
  family("ringside_operations", "", "Finished operations.",
         [](const Sums& sums) { return sums.operations; });
  family("ringside_message_bytes", "bytes", "Bytes of finished operations, as nccl-tests counts.",
         [](const Sums& sums) { return sums.message_bytes; });
  family(
      "ringside_busy_seconds", "seconds",
      "Time from start to end of operations whose execution was seen, added up.",
      [](const Sums& sums) { return static_cast<double>(sums.busy_ns) / kNanosecondsPerSecond; });
  family("ringside_bus_bytes", "bytes",
         "Bytes times the factor of busbw. By ringside_bus_seconds_total it is busbw.",
         [](const Sums& sums) { return sums.bus_bytes; });
  family("ringside_bus_seconds", "seconds", "Time of the operations in ringside_bus_bytes_total.",
         [](const Sums& sums) { return static_cast<double>(sums.bus_ns) / kNanosecondsPerSecond; });
  page.family("ringside_duration_seconds", "histogram", "Operations by time from start to end.",
              "seconds");
  for (const auto& [labels, sums] : series_) {
    if (sums.timed_operations != 0) {
      page.buckets(labels, duration_bounds_s_, sums.durations,
                   static_cast<double>(sums.busy_ns) / kNanosecondsPerSecond);
    }
  }
  // There is no sum: a sum of bandwidths would only invite a mean of means.
  page.family("ringside_busbw_bytes_per_second", "histogram", "Operations by bus bandwidth.",
              "bytes_per_second");
  for (const auto& [labels, sums] : series_) {
    if (sums.bus_ns != 0) {
      page.buckets(labels, busbw_bounds_, sums.busbws, std::nullopt);
    }
  }
}

void ProcessMetrics::add_in_flight(MetricsPage& page) const {
  const auto family = [&](std::string_view name, std::string_view unit, std::string_view help,
                          const auto& value) {
    page.family(name, "gauge", help, unit);
    for (const auto& [labels, sums] : in_flight_) {
      page.sample(labels, value(sums));
    }
  };
  family("ringside_in_flight_operations", "", "Operations that have begun and not ended.",
         [](const InFlight& sums) { return sums.operations; });
  family("ringside_in_flight_bytes", "bytes", "Bytes that each rank gives to these.",
         [](const InFlight& sums) { return sums.bytes; });
  family("ringside_oldest_in_flight_seconds", "seconds", "Age of the oldest of these.",
         [](const InFlight& sums) {
           return static_cast<double>(sums.oldest_ns) / kNanosecondsPerSecond;
         });
}

void ProcessMetrics::add_process(MetricsPage& page) const {
  const auto one = [&](std::string_view name, std::string_view type, std::string_view unit,
                       std::string_view help, auto value) {
    page.family(name, type, help, unit);
    page.sample(labels_, value);
  };
  one("ringside_callbacks", "counter", "", "NCCL's calls that reached the recorder.", produced_);
  page.family("ringside_dropped_callbacks", "counter",
              "Calls that were lost; nothing above counts them.");
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    page.sample(labels_ + ',' + label("reason", kReasons[i]), dropped_[i]);
  }
  one("ringside_rotated_callbacks", "counter", "",
      "Calls whose lines were in segments that are deleted.", rotated_);
  one("ringside_sampled_out_callbacks", "counter", "",
      "Calls that RINGSIDE_SAMPLE leaves out of the trace.", sampled_out_);
  one("ringside_trace_bytes", "counter", "bytes", "Bytes written to the trace.", trace_bytes_);
  one("ringside_ring_bytes", "gauge", "bytes", "Memory of the rings of all threads.", ring_bytes_);
  one("ringside_drain_cpu_seconds", "counter", "seconds",
      "Time that Ringside's own thread has run.",
      static_cast<double>(drain_cpu_ns_) / kNanosecondsPerSecond);
  one("ringside_recording", "gauge", "", "1 while operations are recorded.",
      std::uint64_t{is_recording_ ? 1U : 0U});
  one("ringside_written_timestamp_seconds", "gauge", "seconds", "When this was answered.",
      static_cast<double>(realtime_ns_) / kNanosecondsPerSecond);
  page.family("ringside_build_info", "gauge", "Versions of Ringside and NCCL; the value is 1.");
  page.sample(build_labels_, std::uint64_t{1});
}

}  // namespace ringside::live
