// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/thread_segments.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ringside::metrics {
namespace {

struct Open {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  OpenCall what = OpenCall::kNothing;
  model::NameId name = model::kNoName;
  std::uint32_t call = Segment::kNone;
};

class Cutter {
 public:
  Cutter(std::int64_t begin_ns, std::vector<Segment>& segments)
      : at_ns_(begin_ns), segments_(segments) {}

  /// `last_ns`: the thread goes on as far as this at least.
  void cut(std::vector<Open>& calls, std::int64_t last_ns) {
    segments_.reserve(2 * calls.size() + 1);  // memory that stays untouched costs nothing
    std::stable_sort(calls.begin(), calls.end(), [](const Open& one, const Open& other) {
      return std::pair(one.start_ns, -one.end_ns) < std::pair(other.start_ns, -other.end_ns);
    });
    for (Open& call : calls) {
      close_until(call.start_ns);
      emit(call.start_ns);
      if (!stack_.empty()) {
        call.end_ns = std::min(call.end_ns, stack_.back().end_ns);
      }
      stack_.push_back(call);
    }
    close_until(std::numeric_limits<std::int64_t>::max());
    emit(last_ns);
  }

 private:
  void close_until(std::int64_t time_ns) {
    while (!stack_.empty() && stack_.back().end_ns <= time_ns) {
      emit(stack_.back().end_ns);
      stack_.pop_back();
    }
  }

  void emit(std::int64_t until_ns) {
    if (until_ns <= at_ns_) {
      return;
    }
    Segment& made = segments_.emplace_back();
    made.start_ns = at_ns_;
    made.end_ns = until_ns;
    at_ns_ = until_ns;
    if (stack_.empty()) {
      return;
    }
    made.innermost = stack_.back().what;
    made.name = stack_.back().name;
    made.call = stack_.back().call;
    for (auto open = stack_.rbegin(); open != stack_.rend(); ++open) {
      if (open->what == OpenCall::kOperator) {
        made.operator_name = open->name;
        break;
      }
    }
  }

  std::int64_t at_ns_;
  std::vector<Segment>& segments_;
  std::vector<Open> stack_;
};

}  // namespace

std::map<std::int64_t, std::vector<Segment>> thread_segments(const model::KinetoTrace& trace,
                                                             std::int64_t begin_ns) {
  std::map<std::int64_t, std::vector<Open>> calls;
  for (const model::KinetoCall& call : trace.operators) {
    calls[call.thread].push_back({call.start_ns, call.end_ns, OpenCall::kOperator, call.name});
  }
  std::map<std::int64_t, std::int64_t> last_ns;  // of the steps
  for (const model::KinetoCall& call : trace.annotations) {
    auto& until_ns = last_ns[call.thread];
    until_ns = std::max(until_ns, call.end_ns);
    if (!trace.names.text(call.name).starts_with("ProfilerStep")) {
      calls[call.thread].push_back({call.start_ns, call.end_ns, OpenCall::kRange, call.name});
    }
  }
  for (std::size_t i = 0; i < trace.runtime.size(); ++i) {
    const model::KinetoCall& call = trace.runtime[i];
    calls[call.thread].push_back(
        {call.start_ns, call.end_ns, OpenCall::kRuntime, call.name, static_cast<std::uint32_t>(i)});
  }
  std::map<std::int64_t, std::vector<Segment>> segments;
  for (auto& [thread, own] : calls) {
    Cutter(begin_ns, segments[thread]).cut(own, last_ns[thread]);
    own = {};
  }
  return segments;
}

}  // namespace ringside::metrics
