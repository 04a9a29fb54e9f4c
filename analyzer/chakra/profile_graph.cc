// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/profile_graph.h"

#include <algorithm>

#include "analyzer/metrics/steps/gpu_waits.h"
#include "analyzer/model/saturating.h"

namespace ringside::chakra {

using model::GpuActivity;
using model::KinetoCall;
using model::SyncKind;

ProfileGraph::ProfileGraph(const Profile& profile, const model::Process& process,
                           const align::Alignment& alignment, std::span<const Enqueue> enqueued,
                           Schedule& schedule)
    : trace_(*profile.trace),
      profile_(profile),
      base_ns_(process.base_time_s * 1'000'000'000),
      alignment_(alignment),
      schedule_(schedule),
      tree_(trace_.operators),
      of_call_(trace_.operators.size()),
      of_activity_(trace_.activities.size()) {
  for (std::uint32_t i = 0; i < trace_.runtime.size(); ++i) {
    if (trace_.runtime[i].correlation != model::kNoId) {
      runtime_.try_emplace(trace_.runtime[i].correlation, i);
    }
  }
  find_durations(enqueued);
}

std::int64_t ProfileGraph::common_ns(std::int64_t epoch_ns) const {
  return alignment_.to_common_ns(profile_.file, subtract_saturating(epoch_ns, base_ns_));
}

// An operator takes the time until it calls another one or launches work, so that these can begin
// then. The rest of its own time is in gaps behind it. Waiting for the GPU becomes a dependency of
// the next operator, if there is one.
void ProfileGraph::find_durations(std::span<const Enqueue> enqueued) {
  const auto until = [&](const KinetoCall& call, std::int64_t end_ns) {
    return micros(common_ns(end_ns)) - micros(common_ns(call.start_ns));
  };
  for (const KinetoCall& call : trace_.operators) {
    own_us_.push_back(until(call, call.end_ns));
  }
  const auto end_at = [&](std::optional<std::uint32_t> call, std::int64_t at_ns) {
    if (call) {
      own_us_[*call] = std::min(own_us_[*call], until(trace_.operators[*call], at_ns));
    }
  };
  for (std::uint32_t i = 0; i < trace_.operators.size(); ++i) {
    end_at(tree_.parent(i), trace_.operators[i].start_ns);
  }
  for (const Enqueue& one : enqueued) {
    end_at(tree_.innermost(one.thread, one.at_ns), one.at_ns);
  }
  for (const GpuActivity& activity : trace_.activities) {
    if (const auto launch = runtime_.find(activity.correlation); launch != runtime_.end()) {
      const KinetoCall& call = trace_.runtime[launch->second];
      end_at(tree_.innermost(call.thread, call.start_ns), call.start_ns);
    }
  }
  const metrics::GpuWaits found = metrics::find_gpu_waits(trace_);
  std::size_t last_call = SIZE_MAX;
  for (const metrics::GpuWait& wait : found.waits) {
    if (!wait.operation) {
      continue;
    }
    awaited_[static_cast<std::uint32_t>(*wait.operation)].push_back(
        static_cast<std::uint32_t>(wait.activity));
    const KinetoCall& call = trace_.runtime[wait.call];
    const auto around = tree_.innermost(call.thread, call.start_ns);
    if (wait.is_last && wait.call != last_call && around) {
      last_call = wait.call;  // several may end together
      if (until(trace_.operators[*around], call.start_ns) < own_us_[*around]) {
        own_us_[*around] = std::max<std::int64_t>(own_us_[*around] - micros(wait.waited_ns), 0);
      }
    }
  }
}

void ProfileGraph::find_steps(const match::KinetoKernels& kernels, std::vector<Step>& steps) const {
  for (const std::uint32_t i : tree_.order()) {
    steps.push_back({common_ns(trace_.operators[i].start_ns), Kind::kCall, i});
  }
  for (std::uint32_t i = 0; i < trace_.activities.size(); ++i) {
    if (!std::binary_search(kernels.activities.begin(), kernels.activities.end(), i)) {
      const auto launch = runtime_.find(trace_.activities[i].correlation);
      const std::int64_t at_ns = launch == runtime_.end() ? trace_.activities[i].start_ns
                                                          : trace_.runtime[launch->second].start_ns;
      steps.push_back({common_ns(at_ns), Kind::kActivity, i});
    }
  }
  for (std::uint32_t i = 0; i < trace_.syncs.size(); ++i) {
    const model::CudaSync& sync = trace_.syncs[i];
    const auto wait = runtime_.find(sync.correlation);
    const auto record = runtime_.find(sync.event_record);
    if (sync.kind == SyncKind::kStreamWaitsEvent && wait != runtime_.end() &&
        record != runtime_.end()) {
      steps.push_back({common_ns(trace_.runtime[record->second].start_ns), Kind::kEventRecord, i});
      steps.push_back({common_ns(trace_.runtime[wait->second].start_ns), Kind::kEventWait, i});
    }
  }
}

void ProfileGraph::take(const Step& step) {
  switch (step.kind) {
    case Kind::kCall:
      add_call(step.index);
      break;
    case Kind::kActivity:
      add_activity(step.index);
      break;
    case Kind::kEventRecord: {
      const model::CudaSync& sync = trace_.syncs[step.index];
      const auto lane = lanes_.find({sync.device, sync.event_stream});
      if (lane != lanes_.end()) {
        recorded_.try_emplace(sync.event_record, lane->second.tail());
      }
      break;
    }
    case Kind::kEventWait: {
      const model::CudaSync& sync = trace_.syncs[step.index];
      if (const auto recorded = recorded_.find(sync.event_record); recorded != recorded_.end()) {
        std::vector<PieceIndex>& waits = event_waits_[{sync.device, sync.stream}];
        waits.insert(waits.end(), recorded->second.begin(), recorded->second.end());
      }
      break;
    }
    case Kind::kOperation:
      break;
  }
}

std::optional<PieceIndex> ProfileGraph::operator_at(std::int64_t thread, std::int64_t at_ns) const {
  const auto call = tree_.innermost(thread, at_ns);
  return call ? of_call_[*call] : std::nullopt;
}

Lane& ProfileGraph::lane_of(std::uint32_t activity) {
  return lanes_[{trace_.activities[activity].device, trace_.activities[activity].stream}];
}

void ProfileGraph::take_event_waits(std::uint32_t activity, std::vector<PieceIndex>& dependencies) {
  const auto waits =
      event_waits_.find({trace_.activities[activity].device, trace_.activities[activity].stream});
  if (waits != event_waits_.end()) {
    dependencies.insert(dependencies.end(), waits->second.begin(), waits->second.end());
    event_waits_.erase(waits);
  }
}

// A thread that had nothing to do was waked by another, as the engine of autograd is: by the
// operator that was over last since then.
std::optional<PieceIndex> ProfileGraph::other_thread(std::int64_t thread, std::int64_t since_ns,
                                                     std::int64_t at_ns) const {
  std::optional<PieceIndex> found;
  std::int64_t last_ns = since_ns;
  for (const auto& [other, state] : threads_) {
    const bool is_over = state.outer_end_ns <= at_ns;
    const std::int64_t end_ns = is_over ? state.outer_end_ns : state.end_before_ns;
    const auto& piece = is_over ? state.tail : state.tail_before;
    if (other != thread && piece && end_ns > last_ns) {
      last_ns = end_ns;
      found = piece;
    }
  }
  return found;
}

void ProfileGraph::add_call(std::uint32_t index) {
  const KinetoCall& call = trace_.operators[index];
  Thread& thread = threads_[call.thread];
  Piece piece;
  piece.source = Piece::Source::kCall;
  piece.is_cpu = true;
  piece.of = index;
  piece.start_us = micros(common_ns(call.start_ns));
  piece.duration_us = own_us_[index];
  if (thread.tail) {
    piece.data.push_back(*thread.tail);
  }
  if (const auto parent = tree_.parent(index)) {
    piece.control = of_call_[*parent];
  } else {
    piece.other_thread = other_thread(call.thread, thread.outer_end_ns, call.start_ns);
    if (piece.other_thread) {
      piece.data.push_back(*piece.other_thread);
    }
    thread.end_before_ns = std::exchange(thread.outer_end_ns, call.end_ns);
    thread.tail_before = thread.tail;
  }
  if (const auto awaited = awaited_.find(index); awaited != awaited_.end()) {
    for (const std::uint32_t activity : awaited->second) {
      if (const auto& work = of_activity_[activity]) {
        piece.syncs.push_back(*work);
        piece.data.push_back(*work);
      }
    }
  }
  of_call_[index] = thread.tail = schedule_.add(std::move(piece), 0);
}

void ProfileGraph::add_activity(std::uint32_t index) {
  const GpuActivity& activity = trace_.activities[index];
  LaneEntry entry;
  entry.start_us = micros(common_ns(activity.start_ns));
  entry.end_us = micros(common_ns(activity.end_ns));
  Piece piece;
  piece.source = Piece::Source::kActivity;
  piece.of = index;
  piece.start_us = entry.start_us;
  piece.duration_us = entry.end_us - entry.start_us;
  if (const auto launch = runtime_.find(activity.correlation); launch != runtime_.end()) {
    const KinetoCall& call = trace_.runtime[launch->second];
    piece.control = operator_at(call.thread, call.start_ns);
  }
  if (piece.control) {
    piece.data.push_back(*piece.control);
  }
  Lane& lane = lane_of(index);
  lane.find_before(schedule_, entry, piece.data);
  take_event_waits(index, piece.data);
  of_activity_[index] = schedule_.add(std::move(piece), entry.end_us);
  lane.add(*of_activity_[index], entry);
}

}  // namespace ringside::chakra
