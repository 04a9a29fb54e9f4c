// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/overview/operation_counters.h"

#include <algorithm>
#include <map>

#include "analyzer/metrics/bandwidth.h"

namespace ringside::merge {
namespace {

struct Change {
  std::int64_t at_ns;
  double by;
};

struct Run {
  std::int64_t start_ns;
  std::int64_t end_ns;
  double gb_s;
};

struct OfContext {
  std::vector<Change> in_flight_bytes;
  std::vector<Run> runs;
};

bool was_seen(const model::Operation& operation) {
  const bool is_timed = operation.times_from == model::TimesFrom::kGpu ||
                        operation.times_from == model::TimesFrom::kProxy;
  return is_timed && !operation.in_flight && operation.state == model::State::kCompleted &&
         operation.bytes && operation.start_ns && operation.end_ns &&
         *operation.start_ns < *operation.end_ns;
}

// Several ranks in a process have communicators of one name.
std::string name_of(const ProcessPlan& process, const model::TraceFile& file,
                    std::uint32_t context) {
  const auto found = file.contexts.find(context);
  if (found == file.contexts.end()) {
    return "communicator " + std::to_string(context);
  }
  const auto& of = found->second;
  const std::string_view known = process.name_of(context, of.name);
  const auto has_same_name = [&](const auto& other) {
    return process.name_of(other.first, other.second.name) == known;
  };
  std::string name(known);
  if (known.empty()) {
    name = "communicator " + of.comm.value_or("").substr(0, 8);
  }
  if (known.empty() && !of.comm) {
    name += std::to_string(context);
  } else if (of.rank &&
             std::count_if(file.contexts.begin(), file.contexts.end(), has_same_name) > 1) {
    name = "rank " + std::to_string(*of.rank) + ' ' + name;
  }
  return name;
}

std::vector<CounterValue> sums_of(std::vector<Change> changes) {
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
  std::vector<CounterValue> sums;
  double sum = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    sum += changes[i].by;
    if (i + 1 == changes.size() || changes[i + 1].at_ns != changes[i].at_ns) {
      sums.push_back({changes[i].at_ns, sum});
    }
  }
  return sums;
}

// Operations of a communicator run one after the other. Where their times overlap, the counter has
// only the part behind the end of the one before.
std::vector<CounterValue> bandwidths_of(std::vector<Run> runs) {
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.start_ns < b.start_ns; });
  std::vector<CounterValue> values;
  for (const Run& run : runs) {
    const std::int64_t start_ns =
        values.empty() ? run.start_ns : std::max(run.start_ns, values.back().at_ns);
    if (start_ns < run.end_ns) {
      values.push_back({start_ns, run.gb_s});
      values.push_back({run.end_ns, 0});
    }
  }
  return values;
}

}  // namespace

std::vector<OperationCounter> operation_counters(const model::Traces& traces,
                                                 const ProcessPlan& process) {
  const model::TraceFile& file = traces.files[process.file];
  std::map<std::uint32_t, OfContext> contexts;
  for (std::size_t i = 0; i < file.operations.size(); ++i) {
    const model::Operation operation = file.operations[i];
    if (!was_seen(operation)) {
      continue;
    }
    OfContext& of = contexts[operation.context];
    const auto bytes = static_cast<double>(*operation.bytes);
    const std::int64_t called_ns = operation.enqueue_start_ns.value_or(*operation.start_ns);
    of.in_flight_bytes.push_back({called_ns, bytes});
    of.in_flight_bytes.push_back({std::max(*operation.end_ns, called_ns), -bytes});
    const auto context = file.contexts.find(operation.context);
    if (operation.kind != model::Kind::kCollective || context == file.contexts.end() ||
        !context->second.nranks) {
      continue;
    }
    const metrics::Bandwidth bandwidth = metrics::bandwidth(
        traces.names.text(operation.func), *operation.bytes, *context->second.nranks,
        static_cast<double>(*operation.end_ns - *operation.start_ns));
    if (bandwidth.busbw_gb_s) {
      of.runs.push_back({*operation.start_ns, *operation.end_ns, *bandwidth.busbw_gb_s});
    }
  }
  std::vector<OperationCounter> counters;
  for (auto& [context, of] : contexts) {
    const std::string name = name_of(process, file, context);
    if (!of.runs.empty()) {
      counters.push_back({name + " busbw", "GB/s", bandwidths_of(std::move(of.runs))});
    }
    counters.push_back({name + " in flight", "bytes", sums_of(std::move(of.in_flight_bytes))});
  }
  return counters;
}

}  // namespace ringside::merge
