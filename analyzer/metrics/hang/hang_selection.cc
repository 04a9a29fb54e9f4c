// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang_selection.h"

#include <utility>

namespace ringside::metrics {

void choose_communicators(const match::Selection& selection, Hang& hang) {
  if (selection.communicators.empty()) {
    return;
  }
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t i = 0; i < hang.operations.size(); ++i) {
    const std::uint32_t communicator = hang.matched(hang.operations[i]).communicator;
    if (match::is_chosen(selection, hang.matches.communicators[communicator])) {
      chosen.push_back(i);
    }
  }
  const std::vector<bool> is_kept = reached_from(graph_of(hang.operations), chosen);
  hang.is_hidden.resize(hang.matches.communicators.size());
  for (std::size_t i = 0; i < hang.is_hidden.size(); ++i) {
    hang.is_hidden[i] = !match::is_chosen(selection, hang.matches.communicators[i]);
  }
  std::vector<std::uint32_t> number(is_kept.size());  // of those that stay, their new index
  std::vector<StuckOperation> kept;
  for (std::size_t i = 0; i < is_kept.size(); ++i) {
    if (is_kept[i]) {
      number[i] = static_cast<std::uint32_t>(kept.size());
      hang.is_hidden[hang.matched(hang.operations[i]).communicator] = false;
      kept.push_back(std::move(hang.operations[i]));
    }
  }
  for (StuckOperation& operation : kept) {
    for (Blocker& blocker : operation.blockers) {
      if (blocker.stuck_in) {
        blocker.stuck_in = number[*blocker.stuck_in];
      }
    }
  }
  // An operation that leads to one of the cycle leads to all of it.
  if (!hang.cycle.empty() && !is_kept[hang.cycle.front()]) {
    hang.cycle.clear();
  }
  for (std::uint32_t& operation : hang.cycle) {
    operation = number[operation];
  }
  hang.operations = std::move(kept);
  std::erase_if(hang.enqueued_only, [&](const auto& of) { return hang.is_hidden[of.first]; });
  std::erase_if(hang.never_told, [&](const auto& of) { return hang.is_hidden[of.first]; });
  std::erase_if(hang.undecided, [&](const UndecidedCall& call) {
    return hang.is_hidden[hang.matches.operations[call.matched].communicator];
  });
  std::erase_if(hang.unaligned, [&](std::uint32_t position) {
    return hang.is_hidden[hang.positions[position].communicator];
  });
  std::erase_if(hang.too_young, [&](const auto& of) { return hang.is_hidden[of.first]; });
}

}  // namespace ringside::metrics
