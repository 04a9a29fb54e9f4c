// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/group_calls.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analyzer/match/communicators/communicators.h"
#include "analyzer/model/saturating.h"
#include "plugin/assemble/message_bytes.h"

namespace ringside::match {

std::string_view group_of_communicator(std::string_view name) {
  return name.substr(name.rfind(':') + 1);
}

bool has_all_calls(const model::TraceFile& file) {
  return file.account.dropped.empty() && file.bad_lines == 0 && file.segments_missing == 0 &&
         file.process.sampling == model::Sampling{} && file.account.sampled_out == 0;
}

std::int64_t HostClock::at(std::int64_t time_ns) const {
  const auto next = std::upper_bound(
      file_.clocks.begin(), file_.clocks.end(), time_ns,
      [](std::int64_t at_ns, const model::ClockReading& one) { return at_ns < one.ts_ns; });
  if (next == file_.clocks.begin()) {
    return since_epoch(file_.process, time_ns);
  }
  const model::ClockReading& last = *std::prev(next);
  const std::int64_t later_ns = subtract_saturating(time_ns, last.ts_ns);
  if (next == file_.clocks.end()) {
    return add_saturating(last.realtime_ns, later_ns);
  }
  // The host's clock may be slewed between two readings.
  const double rate =
      static_cast<double>(subtract_saturating(next->realtime_ns, last.realtime_ns)) /
      static_cast<double>(subtract_saturating(next->ts_ns, last.ts_ns));
  return add_saturating(last.realtime_ns,
                        std::llround(static_cast<double>(later_ns) * std::clamp(rate, 0.5, 2.0)));
}

std::int64_t HostClock::when(std::int64_t epoch_ns) const {
  std::int64_t time_ns = subtract_saturating(epoch_ns, since_epoch(file_.process, 0));
  // The rate is near 1, so what is left of an error shrinks by a factor of thousands.
  for (int i = 0; i < 3; ++i) {
    time_ns = add_saturating(time_ns, subtract_saturating(epoch_ns, at(time_ns)));
  }
  return time_ns;
}

GroupCalls group_calls(const model::NameTable& names, const model::TraceFile& trace,
                       const std::set<std::uint32_t>& contexts) {
  const HostClock clock(trace);
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    if (contexts.contains(trace.operations.context(i))) {
      order.emplace_back(trace.operations.call_ns(i), i);
    }
  }
  std::sort(order.begin(), order.end());
  GroupCalls calls;
  for (const auto& [call_ns, i] : order) {
    const model::Operation operation = trace.operations[i];
    const auto bytes =
        operation.count ? assemble::message_bytes(*operation.count, names.text(operation.datatype))
                        : std::nullopt;
    calls.calls.push_back({names.text(operation.func), bytes, operation.group});
    calls.called_ns.push_back(clock.at(call_ns));
    calls.index.push_back(i);
  }
  return calls;
}

}  // namespace ringside::match
