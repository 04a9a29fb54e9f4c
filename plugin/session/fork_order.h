// SPDX-License-Identifier: Apache-2.0
//
// What the child of a fork must know of its parent. It may use no memory behind a lock of the
// parent, so this is a few atomic words.
#ifndef RINGSIDE_PLUGIN_SESSION_FORK_ORDER_H
#define RINGSIDE_PLUGIN_SESSION_FORK_ORDER_H

#include <optional>

#include "plugin/config/events.h"

namespace ringside::control {

/// What the application has ordered with the C API.
struct RecordingOrder {
  bool started;
  EventChoice choice;
};

/// This process opens a communicator, or begins to write: from here on its children record nothing.
void mark_as_used() noexcept;
/// The same, of this process or of one that it was forked from.
bool is_used() noexcept;

/// An order that is given before that holds for the children, too.
void remember_order(const RecordingOrder& order) noexcept;
/// Nothing if no order was remembered.
std::optional<RecordingOrder> remembered_order() noexcept;

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_SESSION_FORK_ORDER_H
