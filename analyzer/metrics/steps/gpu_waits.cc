// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/gpu_waits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using model::GpuActivity;
using model::KinetoCall;
using model::SyncKind;

// CUPTI puts the GPU's times onto the host's clock, and is off by less than this as a rule.
constexpr std::int64_t kSlack_ns = 2'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// "cudaStreamSynchronize_ptsz", "cuStreamSynchronize" and "hipStreamSynchronize" are one.
std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"}) {
    if (name.starts_with(prefix)) {
      return name.substr(prefix.size());
    }
  }
  return {};
}

std::optional<SyncKind> waiting_kind(std::string_view name) {
  const std::string_view rest = without_prefix(name);
  if (rest.starts_with("StreamSynchronize")) return SyncKind::kStream;
  if (rest.starts_with("EventSynchronize")) return SyncKind::kEvent;
  if (rest.starts_with("DeviceSynchronize") || rest.starts_with("CtxSynchronize")) {
    return SyncKind::kContext;
  }
  return std::nullopt;
}

// Copies whose call returns once they are over (CUDA's runtime API, "API synchronization
// behavior"): those to pageable memory of the host, and all but device to device if the call is
// not asynchronous.
bool is_blocking_copy(std::string_view copy, std::string_view call) {
  const bool is_to_host = copy.find("DtoH") != copy.npos;
  const bool is_pageable = copy.find("Pageable") != copy.npos;
  const std::string_view rest = without_prefix(call);
  const bool is_async = rest.find("Async") != rest.npos;
  return rest.starts_with("Memcpy") &&
         ((is_to_host && is_pageable) || (!is_async && (is_to_host || is_pageable)));
}

// The work of one stream in the order in which it was launched, which is that in which it runs.
class Stream {
 public:
  void add(std::int64_t launch_ns, std::int64_t end_ns, std::size_t activity) {
    rows_.push_back({launch_ns, end_ns, activity});
  }

  void settle() {
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& one, const Row& other) {
      return one.launch_ns != other.launch_ns
                 ? one.launch_ns < other.launch_ns
                 : one.launch_ns == -kNever && one.end_ns < other.end_ns;
    });
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      if (rows_[i].end_ns < rows_[i - 1].end_ns) {
        rows_[i].end_ns = rows_[i - 1].end_ns;
        rows_[i].activity = rows_[i - 1].activity;
      }
    }
  }

  /// The work that was over last, of what was launched before a moment.
  std::optional<std::size_t> last(std::int64_t before_ns) const {
    const auto next = launched_from(before_ns);
    return next == rows_.begin() ? std::nullopt : std::optional(std::prev(next)->activity);
  }

  /// The same, but the one that was over last by `until_ns`.
  std::optional<std::size_t> last_over(std::int64_t before_ns, std::int64_t until_ns) const {
    const auto next =
        std::upper_bound(rows_.begin(), launched_from(before_ns), until_ns,
                         [](std::int64_t at_ns, const Row& row) { return at_ns < row.end_ns; });
    return next == rows_.begin() ? std::nullopt : std::optional(std::prev(next)->activity);
  }

 private:
  struct Row {
    std::int64_t launch_ns = 0;
    std::int64_t end_ns = 0;   // after settle(): of all that was launched up to this one
    std::size_t activity = 0;  // whose end that is
  };

  std::vector<Row>::const_iterator launched_from(std::int64_t at_ns) const {
    return std::lower_bound(
        rows_.begin(), rows_.end(), at_ns,
        [](const Row& row, std::int64_t time_ns) { return row.launch_ns < time_ns; });
  }

  std::vector<Row> rows_;
};

class Finder {
 public:
  explicit Finder(const model::KinetoTrace& trace) : trace_(trace) {
    for (std::size_t i = 0; i < trace.runtime.size(); ++i) {
      if (trace.runtime[i].correlation != model::kNoId) {
        calls_.try_emplace(trace.runtime[i].correlation, i);
      }
    }
    for (const model::CudaSync& sync : trace.syncs) {
      syncs_.try_emplace(sync.correlation, &sync);
    }
    // When the work of each stream began that was launched in the profile.
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> first_launched;
    for (const GpuActivity& activity : trace.activities) {
      if (calls_.contains(activity.correlation)) {
        auto& first_ns =
            first_launched.try_emplace({activity.device, activity.stream}, kNever).first->second;
        first_ns = std::min(first_ns, activity.start_ns);
      }
    }
    for (std::size_t i = 0; i < trace.activities.size(); ++i) {
      const GpuActivity& activity = trace.activities[i];
      const auto call = calls_.find(activity.correlation);
      const bool is_launched = call != calls_.end();
      const auto first = first_launched.find({activity.device, activity.stream});
      // Work that runs before all of these was launched before the profile began.
      const bool is_from_before =
          first == first_launched.end() || activity.start_ns < first->second;
      const std::int64_t launch_ns = is_launched      ? trace.runtime[call->second].start_ns
                                     : is_from_before ? -kNever
                                                      : activity.start_ns;
      streams_[{activity.device, activity.stream}].add(launch_ns, activity.end_ns, i);
      if (is_launched) {
        launches_[trace.runtime[call->second].thread].emplace_back(launch_ns, i);
        if (activity.kind == model::GpuWork::kCopy) {
          copies_.try_emplace(call->second, i);
        }
      }
    }
    for (auto& [key, stream] : streams_) {
      stream.settle();
    }
    for (auto& [thread, launches] : launches_) {
      std::sort(launches.begin(), launches.end());
    }
    for (std::size_t i = 0; i < trace.operators.size(); ++i) {
      operators_[trace.operators[i].thread].push_back(i);
    }
  }

  GpuWaits find() {
    for (std::size_t i = 0; i < trace_.runtime.size(); ++i) {
      const KinetoCall& call = trace_.runtime[i];
      const std::string_view name = trace_.names.text(call.name);
      if (const auto kind = waiting_kind(name)) {
        add_synchronisation(i, *kind);
      } else if (const auto copy = copies_.find(i);
                 copy != copies_.end() &&
                 is_blocking_copy(trace_.names.text(trace_.activities[copy->second].name), name)) {
        ++found_.calls;
        add(i, {copy->second}, WaitProof::kCopy);
      }
    }
    add_launchers();
    found_.has_syncs = !trace_.syncs.empty();
    return std::move(found_);
  }

 private:
  using Found = std::vector<std::size_t>;  // activities

  void add_synchronisation(std::size_t index, SyncKind kind) {
    const KinetoCall& call = trace_.runtime[index];
    ++found_.calls;
    const auto sync = syncs_.find(call.correlation);
    const bool is_recorded = sync != syncs_.end() && sync->second->kind == kind;
    const Found found = is_recorded ? recorded(call, *sync->second) : inferred(call, kind);
    if (found.empty()) {
      ++found_.unresolved;
    }
    add(index, found, is_recorded ? WaitProof::kRecorded : WaitProof::kInferred);
  }

  Found recorded(const KinetoCall& call, const model::CudaSync& sync) const {
    Found found;
    std::int64_t before_ns = call.start_ns;
    std::int64_t on_stream = sync.stream;
    if (sync.kind == SyncKind::kEvent) {
      const auto record = calls_.find(sync.event_record);
      if (record == calls_.end()) {
        return {};
      }
      before_ns = trace_.runtime[record->second].start_ns;
      on_stream = sync.event_stream;
    }
    for (const auto& [key, stream] : streams_) {
      if (key.first == sync.device &&
          (sync.kind == SyncKind::kContext || key.second == on_stream)) {
        if (const auto last = last_of(stream, before_ns, call)) {
          found.push_back(*last);
        }
      }
    }
    return found;
  }

  // The call waits for the last work that its stream had been given. Work from before the profile
  // may end after the call: then the call did not wait for it, but for the last work that ended.
  std::optional<std::size_t> last_of(const Stream& stream, std::int64_t before_ns,
                                     const KinetoCall& call) const {
    const std::int64_t until_ns = add_saturating(call.end_ns, kSlack_ns);
    const auto last = stream.last(before_ns);
    const bool is_too_late = last && trace_.activities[*last].end_ns > until_ns &&
                             !calls_.contains(trace_.activities[*last].correlation);
    return is_too_late ? stream.last_over(before_ns, until_ns) : last;
  }

  Found inferred(const KinetoCall& call, SyncKind kind) const {
    const GpuActivity* const own = last_launch_of(call.thread, call.start_ns);
    if (kind == SyncKind::kContext) {
      Found found;
      for (const auto& [key, stream] : streams_) {
        const auto last = own == nullptr || key.first == own->device
                              ? last_of(stream, call.start_ns, call)
                              : std::nullopt;
        if (last) {
          found.push_back(*last);
        }
      }
      return found;
    }
    const std::int64_t until_ns = add_saturating(call.end_ns, kSlack_ns);
    if (kind == SyncKind::kStream && own != nullptr) {
      const auto last = streams_.at({own->device, own->stream}).last(call.start_ns);
      if (last && trace_.activities[*last].end_ns <= until_ns) {
        return {*last};
      }
    }
    std::optional<std::size_t> during;
    for (const auto& [key, stream] : streams_) {
      const auto last = stream.last_over(call.start_ns, until_ns);
      if (last && trace_.activities[*last].end_ns > call.start_ns &&
          (!during || trace_.activities[*last].end_ns > trace_.activities[*during].end_ns)) {
        during = last;
      }
    }
    return during ? Found{*during} : Found();
  }

  const GpuActivity* last_launch_of(std::int64_t thread, std::int64_t before_ns) const {
    const auto launches = launches_.find(thread);
    if (launches == launches_.end()) {
      return nullptr;
    }
    const auto next = std::lower_bound(launches->second.begin(), launches->second.end(),
                                       std::pair<std::int64_t, std::size_t>(before_ns, 0));
    return next == launches->second.begin() ? nullptr : &trace_.activities[std::prev(next)->second];
  }

  std::optional<std::size_t> next_operator(const KinetoCall& call) const {
    const auto own = operators_.find(call.thread);
    if (own == operators_.end()) {
      return std::nullopt;
    }
    const auto next = std::lower_bound(
        own->second.begin(), own->second.end(), call.end_ns,
        [&](std::size_t i, std::int64_t at_ns) { return trace_.operators[i].start_ns < at_ns; });
    return next == own->second.end() ? std::nullopt : std::optional(*next);
  }

  // In older traces the External id of a kernel is its correlation, and may be another operator's
  // by chance: an operator launches while it runs, on its thread.
  bool has_launched(const KinetoCall& operation, const GpuActivity& activity) const {
    const auto call = calls_.find(activity.correlation);
    if (call == calls_.end()) {
      return false;
    }
    const KinetoCall& launch = trace_.runtime[call->second];
    return operation.thread == launch.thread && operation.start_ns <= launch.start_ns &&
           launch.start_ns <= operation.end_ns;
  }

  // Few operators launch what is waited for, so only these are kept by their ids.
  void add_launchers() {
    constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
    std::unordered_map<std::int64_t, std::size_t> by_external_id;
    for (const GpuWait& wait : found_.waits) {
      by_external_id.try_emplace(trace_.activities[wait.activity].external_id, kUnknown);
    }
    by_external_id.erase(model::kNoId);
    for (std::size_t i = 0; i < trace_.operators.size(); ++i) {
      const auto found = by_external_id.find(trace_.operators[i].external_id);
      if (found != by_external_id.end() && found->second == kUnknown) {
        found->second = i;
      }
    }
    for (GpuWait& wait : found_.waits) {
      const GpuActivity& activity = trace_.activities[wait.activity];
      const auto found = by_external_id.find(activity.external_id);
      if (found != by_external_id.end() && found->second != kUnknown &&
          has_launched(trace_.operators[found->second], activity)) {
        wait.launcher = found->second;
      }
    }
  }

  void add(std::size_t index, const Found& activities, WaitProof proof) {
    const KinetoCall& call = trace_.runtime[index];
    const auto operation = activities.empty() ? std::nullopt : next_operator(call);
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t activity : activities) {
      last_ns = std::max(last_ns, trace_.activities[activity].end_ns);
    }
    for (const std::size_t at : activities) {
      const GpuActivity& activity = trace_.activities[at];
      GpuWait wait;
      wait.activity = at;
      wait.call = index;
      wait.operation = operation;
      wait.waited_ns = std::max<std::int64_t>(
          0, subtract_saturating(std::min(activity.end_ns, call.end_ns), call.start_ns));
      wait.is_last = activity.end_ns == last_ns;
      wait.proof = proof;
      wait.left_out = activity.external_id == model::kNoId || call.external_id == model::kNoId
                          ? LeftOut::kNoId
                      : activity.external_id == call.external_id ? LeftOut::kSameId
                                                                 : LeftOut::kNot;
      found_.waits.push_back(wait);
    }
  }

  const model::KinetoTrace& trace_;
  std::unordered_map<std::int64_t, std::size_t> calls_;  // of runtime, by correlation
  std::unordered_map<std::int64_t, const model::CudaSync*> syncs_;
  std::unordered_map<std::size_t, std::size_t> copies_;              // an activity, by its call
  std::map<std::pair<std::int64_t, std::int64_t>, Stream> streams_;  // by device and stream
  // By thread: when, and what. In order of time.
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::size_t>>> launches_;
  std::map<std::int64_t, std::vector<std::size_t>> operators_;
  GpuWaits found_;
};

}  // namespace

GpuWaits find_gpu_waits(const model::KinetoTrace& trace) {
  return Finder(trace).find();
}

}  // namespace ringside::metrics
