// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/chrome_trace.h"

namespace ringside::exporting {

void ChromeTrace::window(const Window& window, bool repeated) {
  process_.window(window);
  if (repeated) {
    return;
  }
  const bool has_ended = window.end_ns != assemble::kUnknownTime;
  const bool has_changed = window.changed_ns != assemble::kUnknownTime;
  mark_process(has_ended     ? window.end_ns
               : has_changed ? window.changed_ns
                             : window.start_ns,
               window.mask_changed ? "activation mask changed"
               : has_ended         ? "ringside stop"
               : has_changed       ? "ringside events"
                                   : "ringside start");
}

void ChromeTrace::row(const assemble::Row& row, const assemble::Tally& tally) {
  std::visit(
      assemble::Overloaded{[&](const assemble::OperationRow& of) {
                             operations_.write(*of.operation, *of.communicator, tally);
                           },
                           [&](const assemble::Call* call) { operations_.write(*call, tally); },
                           [&](const assemble::Mark* mark) { marks_.write(*mark, tally); },
                           [&](const auto* child) { rows_.write(*child, tally); }},
      row);
}

void ChromeTrace::communicator(const assemble::Communicator& communicator) {
  names_.learn(communicator);
  process_.communicator(communicator);
}

}  // namespace ringside::exporting
