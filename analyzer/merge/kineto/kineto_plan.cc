// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/kineto/kineto_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analyzer/load/kineto/kineto.h"
#include "analyzer/merge/line.h"
#include "analyzer/metrics/bandwidth.h"
#include "analyzer/model/kineto/nccl_kernel.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::merge {
namespace {

// An operation on the epoch of its host's clock.
struct Execution {
  std::size_t index = 0;  // of Operations
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_taken = false;
};

class Linker {
 public:
  Linker(const model::Traces& traces, const model::TraceFile& file) : traces_(traces), file_(file) {
    const std::int64_t base_ns = file.process.base_time_s * 1'000'000'000;
    for (std::size_t i = 0; i < file.operations.size(); ++i) {
      const model::Operation operation = file.operations[i];
      Execution one;
      one.index = i;
      if (!model::tells_execution(operation.times_from) || !operation.start_ns ||
          !operation.end_ns || *operation.end_ns <= *operation.start_ns ||
          __builtin_add_overflow(*operation.start_ns, base_ns, &one.start_ns) ||
          __builtin_add_overflow(*operation.end_ns, base_ns, &one.end_ns)) {
        continue;
      }
      executions_.push_back(one);
      longest_ns_ = std::max(longest_ns_, one.end_ns - one.start_ns);
    }
    std::sort(executions_.begin(), executions_.end(),
              [](const Execution& a, const Execution& b) { return a.start_ns < b.start_ns; });
  }

  /// Indices of operations.
  std::vector<std::size_t> operations_of(const load::NcclKernel& kernel) {
    std::vector<Execution*> fitting;
    // None that began earlier than this can be under way.
    auto at = std::lower_bound(
        executions_.begin(), executions_.end(), kernel.start_ns - longest_ns_,
        [](const Execution& one, std::int64_t time_ns) { return one.start_ns < time_ns; });
    for (; at != executions_.end() && at->start_ns < kernel.end_ns; ++at) {
      if (!at->is_taken && fits(kernel, *at)) {
        fitting.push_back(&*at);
      }
    }
    if (kernel.func != "SendRecv" && fitting.size() > 1) {
      fitting = {*std::max_element(fitting.begin(), fitting.end(),
                                   [&](const Execution* a, const Execution* b) {
                                     return common_ns(kernel, *a) < common_ns(kernel, *b);
                                   })};
    }
    std::vector<std::size_t> found;
    for (Execution* one : fitting) {
      one->is_taken = true;
      found.push_back(one->index);
    }
    return found;
  }

 private:
  static std::int64_t common_ns(const load::NcclKernel& kernel, const Execution& one) {
    return std::min(kernel.end_ns, one.end_ns) - std::max(kernel.start_ns, one.start_ns);
  }

  bool fits(const load::NcclKernel& kernel, const Execution& one) const {
    const std::int64_t shorter_ns =
        std::min(kernel.end_ns - kernel.start_ns, one.end_ns - one.start_ns);
    const std::int64_t shared_ns = common_ns(kernel, one);
    if (shared_ns <= 0 || shared_ns < shorter_ns / 2) {
      return false;
    }
    const model::Operation operation = file_.operations[one.index];
    const std::string_view func = traces_.names.text(operation.func);
    if (kernel.func == "SendRecv") {
      return operation.kind == model::Kind::kPointToPoint;
    }
    return (func == kernel.func || kernel.func == model::kAnyFunction) &&
           (!kernel.bytes || !operation.bytes || *kernel.bytes == *operation.bytes);
  }

  const model::Traces& traces_;
  const model::TraceFile& file_;
  std::vector<Execution> executions_;
  std::int64_t longest_ns_ = 0;
};

// Returns what the kernel's arguments say of its first operation.
std::string arguments_of(const model::Traces& traces, const model::TraceFile& file,
                         const std::vector<std::size_t>& operations) {
  const model::Operation first = file.operations[operations.front()];
  std::string text = "\"ringside_op\":" + std::to_string(first.id);
  if (operations.size() > 1) {
    text += ",\"ringside_operations\":" + std::to_string(operations.size());
  }
  const auto context = file.contexts.find(first.context);
  std::optional<std::uint32_t> nranks;
  if (context != file.contexts.end()) {
    nranks = context->second.nranks;
    if (!context->second.name.empty() || context->second.comm) {
      text += ",\"ringside_communicator\":";
      append_quoted(context->second.name.empty() ? *context->second.comm : context->second.name,
                    text);
    }
  }
  if (first.seq) {
    text += ",\"ringside_seq\":" + std::to_string(*first.seq);
  }
  if (!first.bytes || operations.size() > 1) {
    return text;
  }
  text += ",\"ringside_bytes\":" + std::to_string(*first.bytes);
  const double time_ns = static_cast<double>(*first.end_ns) - static_cast<double>(*first.start_ns);
  const metrics::Bandwidth bandwidth =
      metrics::bandwidth(traces.names.text(first.func), *first.bytes, nranks.value_or(1), time_ns);
  if (nranks && bandwidth.algbw_gb_s) {
    text += ",\"ringside_algbw_gb_s\":" + report::fixed(*bandwidth.algbw_gb_s, 3);
  }
  if (nranks && bandwidth.busbw_gb_s) {
    text += ",\"ringside_busbw_gb_s\":" + report::fixed(*bandwidth.busbw_gb_s, 3);
  }
  return text;
}

void link(const model::Traces& traces, const align::Alignment& alignment,
          const std::vector<load::NcclKernel>& kernels, KinetoPlan& planned, Plan& plan) {
  ProcessPlan& process = plan.processes[planned.process];
  const model::TraceFile& file = traces.files[process.file];
  const std::int64_t base_ns = file.process.base_time_s * 1'000'000'000;
  Linker linker(traces, file);
  for (const load::NcclKernel& kernel : kernels) {
    ++planned.kernels;
    const std::vector<std::size_t> operations = linker.operations_of(kernel);
    if (operations.empty()) {
      continue;
    }
    ++planned.linked;
    KinetoLink& made = planned.links[kernel.event];
    made.arguments = arguments_of(traces, file, operations);
    if (!process.has_lines) {
      continue;
    }
    made.arrow = ++plan.arrows;
    const std::int64_t kernel_ns = alignment.to_common_ns(process.file, kernel.start_ns - base_ns);
    for (const std::size_t index : operations) {
      const model::Operation operation = file.operations[index];
      // Not before the kernel's start, which it leads from.
      const std::int64_t at_ns =
          std::max(alignment.to_common_ns(process.file, *operation.start_ns), kernel_ns);
      process.arrow_ends.push_back({operation.id, at_ns, made.arrow, planned.process, false, true});
    }
  }
}

}  // namespace

void add_kineto(const model::Traces& traces, const align::Alignment& alignment,
                const std::vector<match::KinetoFileJoin>& profiles, Plan& plan,
                model::Problems& problems) {
  for (const match::KinetoFileJoin& profile : profiles) {
    const auto process = std::find_if(plan.processes.begin(), plan.processes.end(),
                                      [&](const auto& one) { return one.file == profile.file; });
    load::KinetoFile kineto;
    std::vector<load::NcclKernel> kernels;
    if (const auto error = kineto.read_kernels(profile.path, kernels)) {
      problems.add_file(profile.path, *error);
      continue;
    }
    if (process == plan.processes.end()) {
      continue;
    }
    KinetoPlan planned;
    planned.path = profile.path;
    planned.process = static_cast<std::uint32_t>(process - plan.processes.begin());
    planned.base_ns = kineto.base_ns();
    process->has_lines = !profile.is_alone;
    link(traces, alignment, kernels, planned, plan);
    plan.kineto.push_back(std::move(planned));
  }
  for (ProcessPlan& process : plan.processes) {
    std::stable_sort(
        process.arrow_ends.begin(), process.arrow_ends.end(),
        [](const ArrowEnd& a, const ArrowEnd& b) { return a.operation < b.operation; });
  }
}

}  // namespace ringside::merge
