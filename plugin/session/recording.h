// SPDX-License-Identifier: Apache-2.0
//
// Chooses what is recorded, by NCCL's activation masks, the gate of the recorder, and the windows
// that follow from both. It knows no lock and no thread: the session uses it under its mutex.
#ifndef RINGSIDE_PLUGIN_SESSION_RECORDING_H
#define RINGSIDE_PLUGIN_SESSION_RECORDING_H

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugin/config/config.h"
#include "plugin/config/events.h"
#include "plugin/session/activation_masks.h"
#include "plugin/session/notes.h"
#include "plugin/session/window_plan.h"

namespace ringside::session {

// The child of a fork takes these over from its parent. It must not wait for a lock of the parent,
// so they are a few atomic words.

/// The application's orders by the C API.
struct RecordingOrder {
  bool started;
  config::EventChoice choice;
};

/// This process, or one that it was forked from, has opened a communicator or begun to write. Its
/// children record nothing.
inline std::atomic<bool> g_is_used{false};

/// An order of before that, which holds for the children, too. One word, so that a child never
/// finds half of an order. 0: there is none.
inline std::atomic<std::uint64_t> g_order{0};
inline constexpr std::uint64_t kOrdered = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kOrderedStart = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kOrderedDefault = std::uint64_t{1} << 61;

inline void remember_order(const RecordingOrder& order) noexcept {
  if (!g_is_used.load(std::memory_order_relaxed)) {
    g_order.store(kOrdered | (order.started ? kOrderedStart : 0) |
                      (order.choice.use_default ? kOrderedDefault : 0) | order.choice.types,
                  std::memory_order_relaxed);
  }
}

inline std::optional<RecordingOrder> remembered_order() noexcept {
  const std::uint64_t order = g_order.load(std::memory_order_relaxed);
  if (order == 0) {
    return std::nullopt;
  }
  return RecordingOrder{(order & kOrderedStart) != 0,
                        {(order & kOrderedDefault) != 0, static_cast<std::uint32_t>(order)}};
}

class Recording {
 public:
  enum class State : std::uint8_t {
    kStopped,
    kWaiting,  ///< started, and NCCL is not up yet
    kMasked,   ///< started, and somebody else's change of NCCL's masks keeps all events away
    kRecording
  };

  Recording(const config::Config& config, Notes& notes);

  /// NCCL has opened a communicator. `mask` may be NULL.
  void open(std::uint32_t context, int* mask, config::NcclFacts nccl);
  /// NCCL has closed a communicator. Nothing happens if it is not open.
  void close(std::uint32_t context);

  /// Whether the notes of a start have room. A start that changes nothing leaves none.
  bool has_room_to_start(bool has_events) const {
    return (started_ && !has_events) || notes_.has_room_for_start();
  }
  /// Begins a window; without events, those of the open window, else those of the configuration.
  /// The bounds of the window before are forgotten, what is ordered for later is not.
  void start(const std::optional<config::EventChoice>& events);
  /// Ends the window and forgets its bounds.
  void stop();
  /// A start of the control socket: replaces all that was ordered before. Happens at once if it has
  /// neither a moment nor bounds.
  void order_start(const PlannedStart& start);
  /// A stop of the control socket: in addition to what was ordered, or, without a moment (0), at
  /// once and in place of it.
  void order_stop(std::int64_t at_realtime_ns);
  /// Ends the window, since nobody can write what is recorded.
  void give_up();

  /// Compares NCCL's masks with the values that were stored there. If somebody else has removed
  /// event types from a mask, these are not recorded from the last look on at which it had them.
  void look_at_masks();
  /// Does what is due. `operations_begun`: as the drain thread has seen by now.
  void carry_out_plan(std::uint64_t operations_begun);

  State state() const;
  bool is_started() const { return started_; }
  /// The same, for any thread at any time.
  const std::atomic<bool>& started() const { return started_; }
  /// The types of events are RINGSIDE_EVENTS' default for this NCCL, whatever is added to that.
  const config::EventChoice& choice() const { return choice_; }
  /// The facts of the NCCL that has opened a communicator last.
  const config::NcclFacts& nccl() const { return nccl_; }
  std::uint32_t windows() const { return windows_; }
  /// The event types that some NCCL is asked for.
  std::uint32_t wanted() const { return wanted_; }
  /// The wanted ones that no NCCL's mask lacks.
  std::uint32_t recorded() const { return recorded_; }
  const ActivationMasks& masks() const { return masks_; }
  const WindowPlan& plan() const { return plan_; }
  PlanTime plan_time() const;
  /// Something was ordered since carry_out_plan() was called last.
  bool has_new_plan() const { return plan_is_new_; }

 private:
  /// kKept leaves a mask alone that somebody else has changed; kWritten writes every mask.
  enum class Masks : std::uint8_t { kKept, kWritten };
  void apply(Masks masks);
  void begin_window(const std::optional<config::EventChoice>& events);
  void end_window();
  void set_recorded(std::uint64_t end_ticks, bool mask_changed);
  void warn_of_masks(const std::vector<ActivationMasks::Change>& changes);

  const config::Config& config_;
  Notes& notes_;
  std::atomic<bool> started_;
  config::EventChoice choice_;
  config::NcclFacts nccl_;
  ActivationMasks masks_;
  WindowPlan plan_;
  bool plan_is_new_ = false;
  std::uint64_t operations_begun_ = 0;  ///< as the drain thread has last seen
  std::uint32_t windows_ = 0;
  std::uint32_t wanted_ = 0;
  std::uint32_t recorded_ = 0;
  std::uint64_t looked_ticks_ = 0;  ///< when the masks held what is recorded, for the last time
  int mask_changes_told_ = 0;
  bool kernel_risk_told_ = false;
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_RECORDING_H
