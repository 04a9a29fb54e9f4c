// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/chrome_trace.h"

namespace ringside::exporting {

void ChromeTrace::window(std::uint32_t number, std::int64_t start_ns, std::int64_t end_ns,
                         const std::vector<std::string_view>& events, bool repeated) {
  process_.window(number, start_ns, end_ns, events);
  if (!repeated) {
    const bool ended = end_ns != assemble::kUnknownTime;
    mark_process(ended ? end_ns : start_ns, ended ? "ringside stop" : "ringside start");
  }
}

void ChromeTrace::operation(const assemble::Operation& operation,
                            const assemble::Communicator& communicator,
                            const assemble::Tally& tally) {
  operations_.write(operation, communicator, tally);
  if (operation.state == assemble::OperationState::kCompleted) {
    counters_.add(operation, communicator);
  }
}

void ChromeTrace::communicator(const assemble::Communicator& communicator) {
  names_.learn(communicator);
  counters_.communicator(communicator);
  process_.communicator(communicator);
}

}  // namespace ringside::exporting
