// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/in_flight.h"

#include <algorithm>

#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/operations.h"
#include "plugin/assemble/thread_slices.h"

namespace ringside::assemble {
namespace {

void earlier(std::int64_t& first_ns, std::int64_t ts_ns) {
  if (ts_ns != kUnknownTime) {
    first_ns = first_ns == kUnknownTime ? ts_ns : std::min(first_ns, ts_ns);
  }
}

void add_open_event(const Event& event, std::int64_t& begun_ns) {
  if (const auto* proxy = std::get_if<ProxyOpEvent>(&event.data)) {
    earlier(begun_ns, proxy->row.start_ns);
  } else if (const auto* kernel = std::get_if<KernelRow>(&event.data)) {
    earlier(begun_ns, kernel->callback_start_ns);
  } else if (const auto* engine = std::get_if<CopyEngineRow>(&event.data)) {
    earlier(begun_ns, engine->start_ns);
  }
}

}  // namespace

std::map<std::uint32_t, InFlightTotal> sum_in_flight(const Operations& operations) {
  std::map<std::uint32_t, InFlightTotal> totals;
  operations.for_each_unfinished([&](const OpenOperation& open) {
    const Operation& operation = open.operation;
    if (open.open_children == 0 || operations.progress().is_overtaken(operation)) {
      return;
    }
    InFlightTotal& total = totals[operation.context];
    ++total.operations;
    total.bytes += operation.has_bytes ? operation.bytes : 0;
  });
  return totals;
}

std::vector<InFlight> find_in_flight(std::int64_t until_ns, const Operations& operations,
                                     const Events& events, const ThreadSlices& slices) {
  const Progress& progress = operations.progress();
  struct Front {
    const OpenOperation* open = nullptr;
    std::int64_t progress_ns = kUnknownTime;  ///< when an operation ended last
  };
  std::map<std::uint32_t, Front> fronts;  // by context
  operations.for_each_unfinished([&](const OpenOperation& open) {
    Front& front = fronts[open.operation.context];
    if (open.open_children == 0 && open.call_has_returned()) {
      // The operation is over and waits for late records, or only its enqueue was seen.
      if (open.proxy_last_ns != kUnknownTime || open.kernels_stopped > 0) {
        front.progress_ns = std::max(front.progress_ns, open.last_activity_ns);
      }
    } else if (front.open == nullptr && !progress.is_overtaken(open.operation)) {
      front.open = &open;
    }
  });
  std::map<std::uint64_t, std::pair<InFlight, std::int64_t>> found;  // by number, with begin times
  for (const auto& [context, front] : fronts) {
    if (front.open == nullptr || front.open->operation.enqueue_start_ns > until_ns) {
      continue;
    }
    auto& [made, begun_ns] = found[front.open->operation.number];
    made.operation = front.open->operation;
    made.call_returned = front.open->call_has_returned();
    made.since_ns = std::max(front.progress_ns, progress.last_end_ns(context));
    begun_ns =
        front.open->proxy_last_ns != kUnknownTime ? front.open->proxy_first_ns : kUnknownTime;
    for (const OpenOperation::Kernel& kernel : front.open->kernels) {
      earlier(begun_ns, kernel.row.callback_start_ns);
    }
  }
  if (found.empty()) {
    return {};
  }
  for (auto at_event = events.oldest(); at_event; at_event.next()) {
    const auto at = found.find(at_event.value().operation);
    if (at != found.end()) {
      add_open_event(at_event.value(), at->second.second);
    }
  }
  std::vector<InFlight> since;
  for (auto& [number, entry] : found) {
    auto& [made, begun_ns] = entry;
    if (begun_ns == kUnknownTime) {
      // No open event tells when the execution began, so only the call can tell. A call that has
      // not returned, although its thread has made other calls since, has only lost its stop.
      if (made.call_returned || !slices.is_silent_since(made.operation.tid, until_ns)) {
        continue;
      }
      begun_ns = made.operation.enqueue_start_ns;
    }
    made.since_ns = std::max(made.since_ns, begun_ns);
    if (made.since_ns <= until_ns) {
      since.push_back(made);
    }
  }
  return since;
}

}  // namespace ringside::assemble
