// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/rank_graph.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analyzer/metrics/steps/gpu_waits.h"
#include "analyzer/metrics/steps/graph_labels.h"
#include "analyzer/metrics/steps/thread_segments.h"
#include "analyzer/model/kineto/nccl_kernel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

constexpr std::uint32_t kNone = PathNode::kNone;
constexpr std::int64_t kForEver_ns = std::numeric_limits<std::int64_t>::max();

// Work of a stream: an activity of the profiler, or an operation whose kernel it did not see.
struct Work {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t device = 0;
  std::int64_t stream = 0;
  std::optional<std::int64_t> launch_ns;
  std::int64_t thread = 0;
  PathKind kind = PathKind::kKernel;
  model::NameId name = model::kNoName;
  std::uint32_t previous = kNone;  // on its stream
  bool is_recorded = false;        // by the profiler
};

// A thing that a work needed before it could begin: when it was there, and what it is.
struct Need {
  std::int64_t ready_ns = 0;
  std::uint32_t work = kNone;  // kNone: its launch
  bool is_inferred = false;
};

bool is_wait_for_event(std::string_view name) {
  return name.find("StreamWaitEvent") != name.npos;
}

class GraphBuilder {
 public:
  GraphBuilder(const model::KinetoTrace& trace, std::span<const GraphOperation> operations)
      : trace_(trace), operations_(operations) {
    graph_.has_gpu = !trace.activities.empty();
    graph_.has_syncs = !trace.syncs.empty();
    for (std::size_t i = 0; i < trace.runtime.size(); ++i) {
      calls_.try_emplace(trace.runtime[i].correlation, i);
    }
    find_begin();
    threads_ = thread_segments(trace, begin_ns_);
    collect_works();
    collect_waits();
    collect_ends();
    work_nodes_.assign(works_.size(), kNone);
    std::size_t places = works_.size();
    for (const auto& [thread, segments] : threads_) {
      segment_nodes_[thread].assign(segments.size(), kNone);
      places += segments.size();
    }
    graph_.nodes.reserve(places);  // memory that stays untouched costs nothing
  }

  RankGraph build(const std::optional<std::string>& annotation,
                  const ChooseLabelled& choose_labelled) {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const std::uint32_t node = reach({work_of_operation_[i], 0, 0});
      graph_.of_operation.emplace_back(operations_[i].operation, node);
      graph_.of_node.emplace_back(node, operations_[i].operation);
    }
    std::sort(graph_.of_operation.begin(), graph_.of_operation.end());
    std::sort(graph_.of_node.begin(), graph_.of_node.end());
    add_steps(annotation);
    add_labels(choose_labelled);
    return std::move(graph_);
  }

 private:
  // A work, or a segment of a thread if `work` is kNone.
  struct Place {
    std::uint32_t work = kNone;
    std::int64_t thread = 0;
    std::size_t segment = 0;
  };

  void find_begin() {
    begin_ns_ = kForEver_ns;
    const auto first = [&](const auto& rows) {
      if (!rows.empty()) {
        begin_ns_ = std::min(begin_ns_, rows.front().start_ns);
      }
    };
    first(trace_.operators);
    first(trace_.annotations);
    first(trace_.runtime);
    graph_.begin_ns = begin_ns_ == kForEver_ns ? graph_.begin_ns : begin_ns_;
  }

  void collect_works() {
    for (const model::GpuActivity& activity : trace_.activities) {
      Work& work = works_.emplace_back();
      work.start_ns = activity.start_ns;
      work.end_ns = activity.end_ns;
      work.device = activity.device;
      work.stream = activity.stream;
      work.name = activity.name;
      work.is_recorded = true;
      const bool is_nccl =
          !model::nccl_function_of_kernel(trace_.names.text(activity.name)).empty();
      work.kind = activity.kind != model::GpuWork::kKernel ? PathKind::kCopy
                  : is_nccl                                ? PathKind::kCommunication
                                                           : PathKind::kKernel;
      if (const auto call = calls_.find(activity.correlation);
          activity.correlation != model::kNoId && call != calls_.end()) {
        work.launch_ns = trace_.runtime[call->second].start_ns;
        work.thread = trace_.runtime[call->second].thread;
      }
    }
    for (const GraphOperation& operation : operations_) {
      if (operation.activity) {
        work_of_operation_.push_back(static_cast<std::uint32_t>(*operation.activity));
        works_[*operation.activity].kind = PathKind::kCommunication;
        continue;
      }
      work_of_operation_.push_back(static_cast<std::uint32_t>(works_.size()));
      Work& work = works_.emplace_back();
      work.start_ns = operation.start_ns;
      work.end_ns = operation.end_ns;
      work.device = -1;
      work.stream = operation.context;
      work.launch_ns = operation.called_ns;
      work.thread = operation.thread;
      work.kind = PathKind::kCommunication;
    }
    for (std::uint32_t i = 0; i < works_.size(); ++i) {
      streams_[{works_[i].device, works_[i].stream}].push_back(i);
      if (works_[i].launch_ns) {
        const std::int64_t latency_ns =
            std::max<std::int64_t>(0, works_[i].start_ns - *works_[i].launch_ns);
        auto& least_ns = latency_ns_.try_emplace(works_[i].device, latency_ns).first->second;
        least_ns = std::min(least_ns, latency_ns);
      }
    }
    for (auto& [key, works] : streams_) {
      std::stable_sort(works.begin(), works.end(), [&](std::uint32_t one, std::uint32_t other) {
        return works_[one].start_ns < works_[other].start_ns;
      });
      for (std::size_t i = 1; i < works.size(); ++i) {
        works_[works[i]].previous = works[i - 1];
      }
    }
  }

  void collect_waits() {
    const GpuWaits waits = find_gpu_waits(trace_);
    for (const GpuWait& wait : waits.waits) {
      const std::int64_t end_ns = trace_.activities[wait.activity].end_ns;
      CallWait& known = waits_[static_cast<std::uint32_t>(wait.call)];
      if (known.work == kNone || end_ns > known.end_ns) {
        known.next_ns = known.work == kNone ? known.next_ns : known.end_ns;
        known.end_ns = end_ns;
        known.work = static_cast<std::uint32_t>(wait.activity);
      } else {
        known.next_ns = std::max(known.next_ns, end_ns);
      }
      known.is_inferred = known.is_inferred || wait.proof == WaitProof::kInferred;
    }
    for (const model::CudaSync& sync : trace_.syncs) {
      const auto call = calls_.find(sync.correlation);
      const auto record = calls_.find(sync.event_record);
      if (sync.kind == model::SyncKind::kStreamWaitsEvent && call != calls_.end() &&
          record != calls_.end()) {
        stream_waits_[{sync.device, sync.stream}].push_back(
            {trace_.runtime[call->second].start_ns,
             last_launched({sync.device, sync.event_stream},
                           trace_.runtime[record->second].start_ns)});
      }
    }
    for (auto& [stream, list] : stream_waits_) {
      std::sort(list.begin(), list.end());
    }
    for (const model::KinetoCall& call : trace_.runtime) {
      if (is_wait_for_event(trace_.names.text(call.name))) {
        event_waits_.push_back(call.start_ns);
      }
    }
  }

  using Stream = std::pair<std::int64_t, std::int64_t>;

  // Streams run their work in the order of launches.
  std::uint32_t last_launched(const Stream& stream, std::int64_t before_ns) const {
    const auto works = streams_.find(stream);
    if (works == streams_.end()) {
      return kNone;
    }
    const auto next =
        std::partition_point(works->second.begin(), works->second.end(), [&](std::uint32_t work) {
          return works_[work].launch_ns.value_or(works_[work].start_ns) < before_ns;
        });
    return next == works->second.begin() ? kNone : *std::prev(next);
  }

  // When threads leave their operators, for those that go on after that. One that only calls CUDA
  // (a watchdog that looks at events) lets nobody go on.
  void collect_ends() {
    for (const auto& [thread, segments] : threads_) {
      for (std::size_t i = 0; i < segments.size(); ++i) {
        const bool is_over = i + 1 == segments.size() || is_idle(segments[i + 1]);
        if (segments[i].operator_name != model::kNoName && !is_idle(segments[i]) && is_over) {
          ends_.push_back({segments[i].end_ns, thread, i});
        }
      }
    }
    std::sort(ends_.begin(), ends_.end());
  }

  bool is_data_loader(const Segment& segment) const {
    return segment.innermost == OpenCall::kRange &&
           trace_.names.text(segment.name).starts_with("enumerate(DataLoader)");
  }

  // The segment of a thread that is over at a moment, or in which it is.
  std::optional<Place> place_before(std::int64_t thread, std::int64_t time_ns) const {
    const auto own = threads_.find(thread);
    if (own == threads_.end()) {
      return std::nullopt;
    }
    const auto next =
        std::partition_point(own->second.begin(), own->second.end(),
                             [&](const Segment& segment) { return segment.start_ns < time_ns; });
    if (next == own->second.begin()) {
      return std::nullopt;
    }
    return Place{kNone, thread, static_cast<std::size_t>(next - own->second.begin()) - 1};
  }

  std::uint32_t& node_at(const Place& place) {
    return place.work != kNone ? work_nodes_[place.work]
                               : segment_nodes_[place.thread][place.segment];
  }

  // Makes the node of a place, and of all that it goes back to.
  std::uint32_t reach(const Place& from) {
    if (const std::uint32_t known = node_at(from); known != kNone) {
      return known;
    }
    std::uint32_t first = kNone;
    std::uint32_t after = kNone;
    for (std::optional<Place> at = from; at;) {
      std::uint32_t& known = node_at(*at);
      const bool is_new = known == kNone;
      std::optional<Place> next;
      if (is_new) {
        known = static_cast<std::uint32_t>(graph_.nodes.size());
        const std::uint32_t made = known;
        graph_.nodes.emplace_back();
        PathNode node;
        next = at->work != kNone ? fill_work(at->work, node) : fill_segment(*at, node);
        graph_.nodes[made] = node;
        known = made;
      }
      const std::uint32_t node = node_at(*at);
      if (after != kNone) {
        graph_.nodes[after].before = node;
      } else {
        first = node;
      }
      after = node;
      at = is_new ? next : std::nullopt;
    }
    return first;
  }

  std::optional<Place> fill_work(std::uint32_t index, PathNode& node) {
    const Work& work = works_[index];
    node.start_ns = work.start_ns;
    node.kind = work.kind;
    node.gap = work.is_recorded ? PathKind::kLaunch : PathKind::kUnknown;
    std::vector<Need> needs = needs_of(index);
    node.ready_ns = work.start_ns;
    if (needs.empty()) {
      return std::nullopt;
    }
    const auto last = std::max_element(
        needs.begin(), needs.end(),
        [](const Need& one, const Need& other) { return one.ready_ns < other.ready_ns; });
    std::int64_t next_ns = std::numeric_limits<std::int64_t>::min();
    for (const Need& need : needs) {
      next_ns = &need == &*last ? next_ns : std::max(next_ns, need.ready_ns);
    }
    node.margin_ns = needs.size() == 1 ? kForEver_ns : subtract_saturating(last->ready_ns, next_ns);
    node.is_inferred = last->is_inferred;
    if (last->work != kNone) {
      node.ready_ns = std::min(last->ready_ns, work.start_ns);
      return Place{last->work, 0, 0};
    }
    node.ready_ns = std::min(*work.launch_ns, work.start_ns);
    return place_before(work.thread, *work.launch_ns);
  }

  std::vector<Need> needs_of(std::uint32_t index) const {
    const Work& work = works_[index];
    std::vector<Need> needs;
    if (work.launch_ns) {
      needs.push_back({add_saturating(*work.launch_ns, latency_ns_.at(work.device)), kNone, false});
    }
    if (work.previous != kNone) {
      needs.push_back({works_[work.previous].end_ns, work.previous, false});
    }
    const std::int64_t launch_ns = work.launch_ns.value_or(work.start_ns);
    const std::int64_t from_ns =
        work.previous == kNone
            ? std::numeric_limits<std::int64_t>::min()
            : works_[work.previous].launch_ns.value_or(works_[work.previous].start_ns);
    if (graph_.has_syncs) {
      const auto waits = stream_waits_.find({work.device, work.stream});
      if (waits != stream_waits_.end()) {
        auto at = std::lower_bound(waits->second.begin(), waits->second.end(),
                                   std::pair<std::int64_t, std::uint32_t>(from_ns, 0));
        for (; at != waits->second.end() && at->first < launch_ns; ++at) {
          if (at->second != kNone) {
            needs.push_back({works_[at->second].end_ns, at->second, false});
          }
        }
      }
    } else if (const auto other = inferred_need(work, from_ns, launch_ns)) {
      needs.push_back(*other);
    }
    return needs;
  }

  // Without cuda_sync events: if a stream was made to wait for an event since the launch before, on
  // whatever thread, this is the work of another stream that was over last before this one began.
  std::optional<Need> inferred_need(const Work& work, std::int64_t from_ns,
                                    std::int64_t launch_ns) const {
    const auto last = std::lower_bound(event_waits_.begin(), event_waits_.end(), launch_ns);
    if (!work.launch_ns || last == event_waits_.begin() || *std::prev(last) <= from_ns) {
      return std::nullopt;
    }
    std::optional<Need> found;
    for (const auto& [key, works] : streams_) {
      if (key.first != work.device || key.second == work.stream) {
        continue;
      }
      const std::uint32_t launched = last_launched(key, *std::prev(last));
      for (std::uint32_t at = launched; at != kNone; at = works_[at].previous) {
        const std::int64_t end_ns = works_[at].end_ns;
        if (end_ns > work.start_ns) {
          continue;
        }
        if (!found || end_ns > found->ready_ns) {
          found = Need{end_ns, at, true};
        }
        break;
      }
    }
    return found;
  }

  std::optional<Place> fill_segment(const Place& place, PathNode& node) {
    const std::vector<Segment>& segments = threads_.at(place.thread);
    const Segment& segment = segments[place.segment];
    node.start_ns = node.ready_ns = segment.start_ns;
    node.kind = is_data_loader(segment)                    ? PathKind::kDataLoader
                : is_idle(segment)                         ? PathKind::kIdle
                : segment.innermost == OpenCall::kOperator ? PathKind::kOperator
                                                           : PathKind::kLaunch;
    const auto wait = segment.call == kNone ? waits_.end() : waits_.find(segment.call);
    if (wait != waits_.end() && wait->second.end_ns > segment.start_ns) {
      node.start_ns = node.ready_ns = std::min(wait->second.end_ns, segment.end_ns);
      node.margin_ns = subtract_saturating(wait->second.end_ns,
                                           std::max(segment.start_ns, wait->second.next_ns));
      node.call = segment.call;
      node.is_inferred = wait->second.is_inferred;
      return Place{wait->second.work, 0, 0};
    }
    if (is_idle(segment) && node.kind != PathKind::kDataLoader) {
      if (const auto other = woken_by(place.thread, segment)) {
        const Segment& last = threads_.at(other->thread)[other->segment];
        node.start_ns = node.ready_ns = last.end_ns;
        node.margin_ns = last.end_ns - segment.start_ns;
        node.is_inferred = true;
        return other;
      }
    }
    return place.segment == 0 ? std::nullopt
                              : std::optional(Place{kNone, place.thread, place.segment - 1});
  }

  // A thread that does nothing may wait for another: for the one that left its last operator since,
  // and does nothing when this one goes on.
  std::optional<Place> woken_by(std::int64_t thread, const Segment& segment) const {
    auto at = std::upper_bound(
        ends_.begin(), ends_.end(), segment.end_ns,
        [](std::int64_t time_ns, const End& end) { return time_ns < end.time_ns; });
    for (int tries = 0; at != ends_.begin() && tries < 16; ++tries) {
      const End& end = *--at;
      if (end.time_ns <= segment.start_ns) {
        break;
      }
      if (end.thread == thread) {
        continue;
      }
      const auto& others = threads_.at(end.thread);
      const auto now = place_before(end.thread, segment.end_ns);
      if (now && (is_idle(others[now->segment]) || now->segment == end.segment)) {
        return Place{kNone, end.thread, end.segment};
      }
    }
    return std::nullopt;
  }

  void add_labels(const ChooseLabelled& choose_labelled) {
    std::vector<bool> is_labelled(graph_.nodes.size(), true);
    if (choose_labelled) {
      is_labelled = choose_labelled(graph_);
    }
    GraphLabels labels(trace_, graph_);
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const Work& work = works_[i];
      if (work_nodes_[i] != kNone && is_labelled[work_nodes_[i]]) {
        const auto launch =
            work.launch_ns ? place_before(work.thread, *work.launch_ns + 1) : std::nullopt;
        graph_.nodes[work_nodes_[i]].label = labels.of(
            work.name, launch ? &threads_.at(work.thread)[launch->segment] : nullptr, work.thread);
      }
    }
    for (const auto& [thread, segments] : threads_) {
      const std::vector<std::uint32_t>& nodes = segment_nodes_.at(thread);
      for (std::size_t i = 0; i < segments.size(); ++i) {
        if (nodes[i] != kNone && is_labelled[nodes[i]]) {
          graph_.nodes[nodes[i]].label = labels.of(segments[i].name, &segments[i], thread);
        }
      }
    }
  }

  void add_steps(const std::optional<std::string>& annotation) {
    const std::string_view wanted =
        annotation ? std::string_view(*annotation) : std::string_view("ProfilerStep");
    std::map<model::NameId, std::size_t> occurrences;
    for (const model::KinetoCall& range : trace_.annotations) {
      if (trace_.names.text(range.name).find(wanted) != std::string_view::npos) {
        add_step(range, occurrences[range.name]++);
      }
    }
    if (graph_.steps.empty() && !annotation && !threads_.empty()) {
      model::KinetoCall whole;
      whole.start_ns = begin_ns_;
      whole.end_ns = begin_ns_;
      for (const auto& [thread, segments] : threads_) {
        if (!segments.empty() && segments.back().end_ns > whole.end_ns) {
          whole.end_ns = segments.back().end_ns;
          whole.thread = thread;
        }
      }
      add_step(whole, 0);
    }
  }

  void add_step(const model::KinetoCall& range, std::size_t occurrence) {
    if (by_launch_.empty()) {
      for (std::uint32_t i = 0; i < works_.size(); ++i) {
        by_launch_.emplace_back(works_[i].launch_ns.value_or(works_[i].start_ns), i);
      }
      std::sort(by_launch_.begin(), by_launch_.end());
    }
    std::map<Stream, std::uint32_t> lasts;
    for (auto at =
             std::lower_bound(by_launch_.begin(), by_launch_.end(), std::pair(range.start_ns, 0U));
         at != by_launch_.end() && at->first < range.end_ns; ++at) {
      const Work& work = works_[at->second];
      auto& last = lasts.try_emplace({work.device, work.stream}, at->second).first->second;
      last = work.end_ns > works_[last].end_ns ? at->second : last;
    }
    std::vector<std::pair<std::int64_t, std::uint32_t>> ends;  // and the node
    ends.reserve(lasts.size() + 1);
    for (const auto& [stream, work] : lasts) {
      ends.emplace_back(works_[work].end_ns, reach({work, 0, 0}));
    }
    if (const auto place = place_before(range.thread, range.end_ns)) {
      ends.emplace_back(range.end_ns, reach(*place));
    }
    std::sort(ends.rbegin(), ends.rend());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      StepRoot& step = graph_.steps.emplace_back();
      step.name = graph_.names.id(trace_.names.text(range.name));
      step.occurrence = occurrence;
      step.start_ns = range.start_ns;
      step.end_ns = ends[i].first;
      step.node = ends[i].second;
      step.is_last = i == 0;
    }
  }

  struct CallWait {
    std::uint32_t work = kNone;
    std::int64_t end_ns = 0;
    std::int64_t next_ns = std::numeric_limits<std::int64_t>::min();  // of the other works
    bool is_inferred = false;
  };
  struct End {
    std::int64_t time_ns = 0;
    std::int64_t thread = 0;
    std::size_t segment = 0;

    bool operator<(const End& other) const {
      return std::tie(time_ns, thread) < std::tie(other.time_ns, other.thread);
    }
  };

  const model::KinetoTrace& trace_;
  std::span<const GraphOperation> operations_;
  std::unordered_map<std::int64_t, std::size_t> calls_;  // of runtime, by correlation
  std::int64_t begin_ns_ = 0;
  std::map<std::int64_t, std::vector<Segment>> threads_;
  std::vector<Work> works_;  // those of the profiler first
  std::vector<std::uint32_t> work_of_operation_;
  std::map<Stream, std::vector<std::uint32_t>> streams_;  // by start
  std::map<std::int64_t, std::int64_t> latency_ns_;       // the least of a device
  std::unordered_map<std::uint32_t, CallWait> waits_;     // by call of runtime
  std::map<Stream, std::vector<std::pair<std::int64_t, std::uint32_t>>> stream_waits_;
  std::vector<std::int64_t> event_waits_;  // calls that have a stream wait, by time
  std::vector<End> ends_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_launch_;  // works
  std::vector<std::uint32_t> work_nodes_;
  std::map<std::int64_t, std::vector<std::uint32_t>> segment_nodes_;
  RankGraph graph_;
};

}  // namespace

std::uint32_t RankGraph::node_of(std::size_t operation) const {
  const auto found =
      std::lower_bound(of_operation.begin(), of_operation.end(), std::pair(operation, 0U));
  return found != of_operation.end() && found->first == operation ? found->second : kNone;
}

RankGraph build_rank_graph(const model::KinetoTrace& trace,
                           std::span<const GraphOperation> operations,
                           const std::optional<std::string>& annotation,
                           const ChooseLabelled& choose_labelled) {
  return GraphBuilder(trace, operations).build(annotation, choose_labelled);
}

}  // namespace ringside::metrics
