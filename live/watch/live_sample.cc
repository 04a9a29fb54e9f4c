// SPDX-License-Identifier: Apache-2.0
#include "live/watch/live_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "launch/text.h"
#include "live/json_members.h"
#include "plugin/assemble/operation_name.h"

namespace ringside::live {
namespace {

bool read_communicator(const JsonObject& object, LiveCommunicator& made) {
  take(object, "comm", made.comm);
  take(object, "name", made.name);
  take(object, "rank", made.rank);
  take(object, "nranks", made.nranks);
  take(object, "oldest_func", made.oldest_func);
  take(object, "oldest_age_ns", made.oldest_age_ns);
  take(object, "oldest_seq", made.oldest_seq);
  take(object, "joint_operations", made.joint_operations, "joint_ns", made.joint_ns);
  return take(object, "context", made.context, "operations", made.operations, "message_bytes",
              made.message_bytes, "bus_bytes", made.bus_bytes, "bus_ns", made.bus_ns,
              "in_flight_operations", made.in_flight_operations, "in_flight_bytes",
              made.in_flight_bytes) &&
         std::isfinite(made.bus_bytes);
}

const LiveCommunicator* find(const LiveSample& sample, std::int64_t context) {
  const auto found = std::ranges::find(sample.communicators, context, &LiveCommunicator::context);
  return found != sample.communicators.end() ? &*found : nullptr;
}

// Sums only grow; one that does not is of something else.
std::optional<double> rate(std::uint64_t before, std::uint64_t after, double interval_s) {
  return after < before ? std::nullopt
                        : std::optional(static_cast<double>(after - before) / interval_s);
}

void set_rates(const LiveCommunicator& before, bool was_recorded, LiveRow& row) {
  const LiveCommunicator& after = *row.communicator;
  // Nothing finished, and nothing was looked at: that is no rate of 0.
  if (!was_recorded && after.operations == before.operations) {
    return;
  }
  row.operations_per_s = rate(before.operations, after.operations, row.interval_s);
  row.message_bytes_per_s = rate(before.message_bytes, after.message_bytes, row.interval_s);
  constexpr double kSecond_ns = 1e9;
  if (after.bus_ns > before.bus_ns && after.bus_bytes >= before.bus_bytes) {
    row.busbw_bytes_per_s = (after.bus_bytes - before.bus_bytes) /
                            static_cast<double>(after.bus_ns - before.bus_ns) * kSecond_ns;
  }
}

bool is_recording(const LiveProcess& process) {
  return process.reply.status && process.reply.status->state == "recording";
}

std::optional<double> look_for_events(const std::string& path, const LiveProcess& process,
                                      LastEvents& events) {
  const auto& status = process.reply.status;
  return process.sample && is_recording(process) && status->callbacks
             ? std::optional(events.look(path, *status->callbacks, process.sample->time_ns))
             : std::nullopt;
}

bool comes_before(const LiveRow& a, const LiveRow& b) {
  const auto key = [](const LiveRow& row) {
    static const LiveCommunicator none;
    static const ProcessStatus nobody;
    const LiveCommunicator& communicator = row.communicator != nullptr ? *row.communicator : none;
    const Reply& reply = row.process->reply;
    const ProcessStatus& status = reply.status ? *reply.status : nobody;
    constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
    return std::tuple(row.communicator == nullptr, std::string_view(status.directory),
                      std::string_view(status.job), std::string_view(communicator.name),
                      std::string_view(communicator.comm), communicator.rank.value_or(kLast),
                      std::string_view(status.host), reply.endpoint.pid, communicator.context);
  };
  return key(a) < key(b);
}

}  // namespace

std::string operation_text(const std::string& function, const std::optional<std::int64_t>& seq) {
  const std::string name = launch::printable(function);
  return seq ? assemble::numbered(name, static_cast<std::uint64_t>(*seq)) : name;
}

std::optional<LiveSample> read_live(const std::string& answer) {
  simdjson::dom::parser parser;
  JsonObject object;
  simdjson::dom::array communicators;
  LiveSample sample;
  if (parser.parse(answer).get(object) != simdjson::SUCCESS ||
      !take(object, "time_ns", sample.time_ns, "left_out", sample.left_out, "live",
            communicators)) {
    return std::nullopt;
  }
  for (const simdjson::dom::element element : communicators) {
    JsonObject of;
    if (element.get(of) != simdjson::SUCCESS ||
        !read_communicator(of, sample.communicators.emplace_back())) {
      return std::nullopt;
    }
  }
  return sample;
}

LiveProcesses live_processes(std::vector<Reply> replies) {
  LiveProcesses processes;
  for (Reply& reply : replies) {
    const std::string number =
        reply.endpoint.pid == 0 ? std::string() : std::to_string(reply.endpoint.pid);
    const std::string key = reply.endpoint.path.empty()
                                ? std::string(reply.endpoint.host).append(1, ' ').append(number)
                                : reply.endpoint.place();
    LiveProcess process;
    if (reply.error.empty()) {
      process.sample = read_live(reply.answer);
      reply.error = process.sample ? "" : "answers what is not Ringside's protocol";
    }
    process.reply = std::move(reply);
    processes.emplace(key, std::move(process));
  }
  return processes;
}

std::vector<LiveRow> rates_between(const LiveProcesses& before, const LiveProcesses& after,
                                   LastEvents& events) {
  std::vector<LiveRow> rows;
  for (const auto& [path, process] : before) {
    look_for_events(path, process, events);
  }
  for (const auto& [path, process] : after) {
    LiveRow row;
    row.process = &process;
    row.quiet_s = look_for_events(path, process, events);
    const auto earlier = before.find(path);
    const bool has_earlier = process.sample && earlier != before.end() && earlier->second.sample &&
                             earlier->second.sample->time_ns < process.sample->time_ns;
    bool was_recorded = is_recording(process);
    if (has_earlier) {
      constexpr double kSecond_ns = 1e9;
      row.interval_s = (static_cast<double>(process.sample->time_ns) -
                        static_cast<double>(earlier->second.sample->time_ns)) /
                       kSecond_ns;
      was_recorded = was_recorded && is_recording(earlier->second);
      const std::uint64_t dropped = process.reply.status->dropped;
      const std::uint64_t had = earlier->second.reply.status->dropped;
      row.dropped = dropped >= had ? std::optional(dropped - had) : std::nullopt;
    }
    if (!process.sample || process.sample->communicators.empty()) {
      rows.push_back(row);
      continue;
    }
    for (const LiveCommunicator& communicator : process.sample->communicators) {
      LiveRow of = row;
      of.communicator = &communicator;
      if (has_earlier) {
        // One that was not there yet has begun from nothing.
        static const LiveCommunicator created;
        const LiveCommunicator* const had = find(*earlier->second.sample, communicator.context);
        set_rates(had != nullptr ? *had : created, was_recorded, of);
      }
      rows.push_back(of);
    }
  }
  std::sort(rows.begin(), rows.end(), comes_before);
  return rows;
}

}  // namespace ringside::live
