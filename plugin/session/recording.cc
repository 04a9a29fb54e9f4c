// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/recording.h"

#include <cstdio>
#include <ctime>
#include <string>

#include "plugin/export/lines/chrome_trace.h"
#include "plugin/record/clock.h"
#include "plugin/record/recorder.h"

namespace ringside::session {
namespace {

constexpr std::uint32_t kOperations =
    record::bit(record::EventType::kColl) | record::bit(record::EventType::kCollApi) |
    record::bit(record::EventType::kP2p) | record::bit(record::EventType::kP2pApi) |
    record::bit(record::EventType::kCeColl);

}  // namespace

Recording::Recording(const config::Config& config, Notes& notes)
    : config_(config), notes_(notes), started_(config.start), choice_(config.events) {
  if (const auto order = remembered_order()) {
    started_ = order->started;
    choice_ = order->choice;
  }
}

void Recording::open(std::uint32_t context, int* mask, config::NcclFacts nccl) {
  nccl.recorded_from_start = nccl_.recorded_from_start && started_;
  nccl.is_made_safe = config_.kernels_are_safe;
  nccl_ = nccl;
  masks_.open(context, mask, nccl);
  // RINGSIDE_RECORD_SECONDS count from the first communicator on, not from the load: before that
  // there is nothing to record.
  if (config_.record_seconds > 0 && config_.start && started_ && windows_ == 0) {
    plan_.order_start({0, 0, static_cast<std::int64_t>(config_.record_seconds * 1e9), {}});
    plan_is_new_ = true;
  }
  apply(Masks::kKept);
}

void Recording::close(std::uint32_t context) {
  if (masks_.close(context)) {
    notes_.tell(drain::CloseNote{context, record::g_recorder.ticks()});
    apply(Masks::kKept);
  }
}

void Recording::start(const std::optional<config::EventChoice>& events) {
  plan_.forget_window();
  begin_window(events);
}

void Recording::stop() {
  plan_.forget_window();
  end_window();
}

void Recording::order_start(const PlannedStart& start) {
  if (start.at_realtime_ns != 0 || start.operations != 0 || start.duration_ns != 0) {
    plan_.order_start(start);
    plan_is_new_ = true;
  } else {
    plan_.clear();
    begin_window(start.events);
  }
}

void Recording::order_stop(std::int64_t at_realtime_ns) {
  if (at_realtime_ns != 0) {
    plan_.order_stop(at_realtime_ns);
    plan_is_new_ = true;
  } else {
    plan_.clear();
    end_window();
  }
}

void Recording::give_up() {
  started_ = false;
  apply(Masks::kWritten);
}

void Recording::begin_window(const std::optional<config::EventChoice>& events) {
  choice_ = events.value_or(started_ ? choice_ : config_.events);
  started_ = true;
  apply(Masks::kWritten);
  if ((wanted_ & record::bit(record::EventType::kKernelCh)) != 0 && !nccl_.recorded_from_start &&
      !kernel_risk_told_) {
    kernel_risk_told_ = true;
    notes_.warn(
        "kernel channels begin after the first communicator: NCCL can hang at its end (AlltoAll)");
  }
}

void Recording::end_window() {
  started_ = false;
  nccl_.recorded_from_start = nccl_.recorded_from_start && nccl_.abi_version == 0;
  apply(Masks::kWritten);
}

// Before NCCL is up, the default events cannot be resolved: open() comes back here.
void Recording::apply(Masks masks) {
  look_at_masks();
  const auto resolve = [this](config::NcclFacts nccl) {
    nccl.recorded_from_start = nccl_.recorded_from_start;
    return started_ && nccl.abi_version != 0 ? config::resolve_events(choice_, nccl) : 0;
  };
  remember_order({started_, choice_});
  masks_.choose(resolve, masks == Masks::kWritten);
  // Between the last finalize and the next init there is no mask.
  wanted_ = masks_.count() != 0 ? masks_.wanted() : resolve(nccl_);
  looked_ticks_ = record::g_recorder.ticks();
  set_recorded(looked_ticks_, false);
  masks_.store();
}

void Recording::look_at_masks() {
  const std::uint64_t ticks = record::g_recorder.ticks();
  const std::uint32_t before = recorded_;
  const std::vector<ActivationMasks::Change> changes = masks_.look();
  if (!changes.empty()) {
    set_recorded(looked_ticks_, true);
    if ((before & ~recorded_) != 0) {
      nccl_.recorded_from_start = false;
    }
    warn_of_masks(changes);
  }
  looked_ticks_ = ticks;
}

void Recording::warn_of_masks(const std::vector<ActivationMasks::Change>& changes) {
  constexpr int kMostTold = 20;  // somebody may change it in a loop
  const std::uint32_t missing = wanted_ & ~recorded_;
  const std::string now =
      recorded_ == 0 && missing != 0
          ? "nothing is recorded until it is as it was, or until recording is started again"
      : missing != 0 ? config::event_names_text(missing) +
                           " are not recorded until it is as it was, or until recording is started "
                           "again"
                     : "all is recorded that is asked for";
  for (const ActivationMasks::Change& change : changes) {
    if (++mask_changes_told_ > kMostTold) {
      return;
    }
    char text[160];
    std::snprintf(text, sizeof text, " (at %p) was changed by somebody else, from 0x%x to 0x%x: ",
                  static_cast<const void*>(change.mask), change.from, change.to);
    notes_.warn("the activation mask of NCCL " +
                (change.nccl_version != 0 ? exporting::nccl_version_text(change.nccl_version)
                                          : std::string("of unknown version")) +
                text + now);
  }
}

// Operations that are all recorded, before and after, stay in one window.
void Recording::set_recorded(std::uint64_t end_ticks, bool mask_changed) {
  std::uint32_t types = wanted_ & ~masks_.missing();
  if ((types & kOperations) == 0 && (wanted_ & kOperations) != 0) {
    types = 0;
  }
  if (types == recorded_) {
    return;
  }
  const std::uint32_t before = recorded_;
  const std::uint64_t ticks = mask_changed ? record::g_recorder.ticks() : end_ticks;
  recorded_ = types;
  using What = drain::WindowNote::What;
  if (before != 0 && types != 0 && !mask_changed && ((before ^ types) & kOperations) == 0) {
    notes_.tell(drain::WindowNote{windows_, ticks, What::kChanges, types});
  } else {
    if (before != 0) {
      notes_.tell(drain::WindowNote{windows_, end_ticks, What::kEnds, before, mask_changed});
    }
    if (types != 0) {
      notes_.tell(drain::WindowNote{++windows_, ticks, What::kOpens, types});
    }
  }
  // NCCL does not give what it is not asked for, but for the ancestors of an event.
  const std::uint32_t let_through = types != 0 ? wanted_ : 0;
  if (before != 0 && types != 0) {
    record::g_recorder.change_gate(let_through);
  } else {
    record::g_recorder.set_gate(let_through);
  }
}

void Recording::carry_out_plan(std::uint64_t operations_begun) {
  operations_begun_ = operations_begun;
  plan_is_new_ = false;
  while (true) {
    switch (plan_.take_due(plan_time())) {
      case WindowPlan::Due::kStart:
        begin_window(plan_.taken_events());
        break;
      case WindowPlan::Due::kStop:
        end_window();
        break;
      default:
        return;
    }
  }
}

PlanTime Recording::plan_time() const {
  return {static_cast<std::int64_t>(record::clock_ns(CLOCK_REALTIME)),
          static_cast<std::int64_t>(record::monotonic_ns()), operations_begun_};
}

Recording::State Recording::state() const {
  const bool waits = started_ && nccl_.abi_version == 0;
  return recorded_ != 0 ? State::kRecording
         : wanted_ != 0 ? State::kMasked
         : waits        ? State::kWaiting
                        : State::kStopped;
}

}  // namespace ringside::session
