// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/facts.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/merge/additions.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

// Above the greatest pid of Linux (2^22), so that no process of a host has it.
constexpr std::uint32_t kFirstFreePid = (std::uint32_t{1} << 22) + 1;

// The ranks of a process in the largest communicator that it is of.
std::vector<std::uint32_t> ranks_of(const model::TraceFile& file) {
  const model::Context* largest = nullptr;
  for (const auto& [number, context] : file.contexts) {
    if (context.rank &&
        (largest == nullptr || context.nranks.value_or(0) > largest->nranks.value_or(0))) {
      largest = &context;
    }
  }
  std::set<std::uint32_t> ranks;
  for (const auto& [number, context] : file.contexts) {
    if (largest != nullptr && context.rank && context.comm && context.comm == largest->comm) {
      ranks.insert(*context.rank);
    }
  }
  if (largest != nullptr) {
    ranks.insert(*largest->rank);
  }
  return {ranks.begin(), ranks.end()};
}

struct Name {
  std::int64_t rank = std::numeric_limits<std::int64_t>::max();  // unknown: behind all others
  std::string label;
};

Name name_of(const model::TraceFile& file) {
  const std::vector<std::uint32_t> ranks = ranks_of(file);
  if (file.process.launcher_rank && ranks.size() <= 1) {
    return {*file.process.launcher_rank, "rank " + std::to_string(*file.process.launcher_rank)};
  }
  if (!ranks.empty()) {
    return {ranks.front(), match::rank_list(ranks)};
  }
  return {std::numeric_limits<std::int64_t>::max(),
          file.process.host + ':' + std::to_string(file.process.pid)};
}

std::vector<ProcessPlan> order_processes(const model::Traces& traces, std::uint32_t& free_pid) {
  std::vector<std::pair<Name, std::uint32_t>> order;
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    order.emplace_back(name_of(traces.files[i]), i);
  }
  const auto key = [&](const std::pair<Name, std::uint32_t>& one) {
    const model::Process& process = traces.files[one.second].process;
    return std::tuple(one.first.rank, std::string_view(process.host), process.pid, one.second);
  };
  std::sort(order.begin(), order.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::map<std::int64_t, std::uint32_t> uses;
  for (const model::TraceFile& file : traces.files) {
    ++uses[file.process.pid];
  }
  free_pid = kFirstFreePid;
  std::vector<ProcessPlan> processes;
  for (auto& [name, file] : order) {
    const std::int64_t pid = traces.files[file].process.pid;
    const bool is_unique = pid >= 1 && pid < kFirstFreePid && uses[pid] == 1;
    ProcessPlan process;
    process.file = file;
    process.pid = is_unique ? static_cast<std::uint32_t>(pid) : free_pid++;
    process.label = std::move(name.label);
    processes.push_back(std::move(process));
  }
  return processes;
}

// Kineto's base (docs/trace-format.md, "Times") before all that is in the traces.
std::int64_t base_of(const model::Traces& traces, const align::Alignment& alignment) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    first_ns = std::min(first_ns, alignment.to_common_ns(i, traces.files[i].process.start_ns));
  }
  const std::int64_t first_s = std::max<std::int64_t>(first_ns / 1'000'000'000, 0);
  return first_s - first_s % schema::kBaseTimeUnit_s;
}

void keep_operations(const model::Traces& traces, const match::Matches& matches,
                     const align::Alignment& alignment, Plan& plan) {
  std::vector<std::vector<std::uint64_t>> kept(traces.files.size());
  for (const match::MatchedOperation& operation : matches.operations) {
    for (const match::Part& part : match::parts_of(matches, operation)) {
      kept[part.file].push_back(traces.files[part.file].operations.id(part.operation));
    }
    if (const auto span = span_of(traces, matches, alignment, operation)) {
      plan.spans.push_back(*span);
    }
  }
  for (ProcessPlan& process : plan.processes) {
    process.operations = std::move(kept[process.file]);
    std::sort(process.operations.begin(), process.operations.end());
  }
  std::sort(plan.spans.begin(), plan.spans.end());
  std::size_t count = 0;
  for (const auto& span : plan.spans) {
    if (count > 0 && span.first <= plan.spans[count - 1].second) {
      plan.spans[count - 1].second = std::max(plan.spans[count - 1].second, span.second);
    } else {
      plan.spans[count++] = span;
    }
  }
  plan.spans.resize(count);
}

}  // namespace

bool is_in_spans(const Plan& plan, std::int64_t begin_ns, std::int64_t end_ns) {
  // The first span that ends at the beginning or later.
  const auto span =
      std::lower_bound(plan.spans.begin(), plan.spans.end(), begin_ns,
                       [](const auto& one, std::int64_t time_ns) { return one.second < time_ns; });
  return span != plan.spans.end() && span->first <= end_ns;
}

Plan make_plan(const model::Traces& traces, const match::Matches& matches,
               const align::Alignment& alignment, const PlanOptions& options) {
  Plan plan;
  plan.is_part = options.is_part;
  plan.base_time_s = base_of(traces, alignment);
  plan.processes = order_processes(traces, plan.free_pid);
  plan.operations = matches.operations.size();
  if (plan.is_part) {
    keep_operations(traces, matches, alignment, plan);
  }
  const facts::Facts facts(traces, matches, alignment);
  add_additions(facts, options, plan);
  const auto by_operation = [](const auto& a, const auto& b) { return a.operation < b.operation; };
  for (ProcessPlan& process : plan.processes) {
    std::stable_sort(process.waits.begin(), process.waits.end(), by_operation);
    std::stable_sort(process.arrow_ends.begin(), process.arrow_ends.end(), by_operation);
    std::stable_sort(process.marks.begin(), process.marks.end(),
                     [](const Mark& a, const Mark& b) { return a.at_ns < b.at_ns; });
  }
  return plan;
}

}  // namespace ringside::merge
