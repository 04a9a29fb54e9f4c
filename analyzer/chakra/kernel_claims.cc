// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/kernel_claims.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analyzer/match/communicators.h"
#include "analyzer/model/nccl_kernel.h"

namespace ringside::chakra {
namespace {

struct Call {
  std::int64_t at_ns = 0;  // since the epoch, by the host's clock
  bool is_kernel = false;
  std::uint32_t index = 0;  // of activities, or of operations
};

bool runs(std::string_view kernel, std::string_view function) {
  return kernel == "SendRecv"
             ? function == "Send" || function == "Recv" || function == "AlltoAll" ||
                   function == "Gather" || function == "Scatter"
             : kernel == function;
}

}  // namespace

KernelClaims find_kernel_claims(const facts::Facts& facts, const Profile& profile,
                                const std::vector<RankOperation>& operations) {
  const model::Traces& traces = facts.traces();
  const model::KinetoTrace& trace = *profile.trace;
  const model::TraceFile& file = traces.files[profile.file];
  KernelClaims claims;
  claims.of_operation.resize(operations.size());
  claims.is_claimed.resize(trace.activities.size());

  std::map<std::int64_t, std::vector<Call>> threads;
  std::unordered_map<std::int64_t, const model::KinetoCall*> launches;
  for (const model::KinetoCall& call : trace.runtime) {
    launches.try_emplace(call.correlation, &call);
  }
  for (std::uint32_t i = 0; i < trace.activities.size(); ++i) {
    const auto launch = launches.find(trace.activities[i].correlation);
    const std::string_view name = trace.names.text(trace.activities[i].name);
    if (launch != launches.end() && !model::nccl_function_of_kernel(name).empty()) {
      threads[launch->second->thread].push_back({launch->second->start_ns, true, i});
    }
  }
  std::vector<model::Operation> seen(operations.size());
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const match::Part part = facts.matches().parts[operations[i].part];
    seen[i] = match::operation_of(traces, part);
    if (part.file == profile.file && seen[i].enqueue_start_ns && !seen[i].graph) {
      threads[std::int64_t{seen[i].tid}].push_back(
          {match::since_epoch(file.process, *seen[i].enqueue_start_ns), false, i});
    }
  }
  for (auto& [thread, calls] : threads) {
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
      return std::tuple(a.at_ns, a.is_kernel, a.index) < std::tuple(b.at_ns, b.is_kernel, b.index);
    });
    std::vector<std::uint32_t> pending;
    for (const Call& call : calls) {
      if (!call.is_kernel) {
        if (!pending.empty() &&
            (!seen[call.index].group || seen[pending.back()].group != seen[call.index].group)) {
          pending.clear();
        }
        pending.push_back(call.index);
        continue;
      }
      const std::string_view kernel =
          model::nccl_function_of_kernel(trace.names.text(trace.activities[call.index].name));
      std::optional<std::uint32_t> context;
      std::erase_if(pending, [&](std::uint32_t i) {
        const bool fits = runs(kernel, traces.names.text(seen[i].func)) &&
                          (!context || *context == seen[i].context);
        if (fits) {
          context = seen[i].context;
          claims.of_operation[i] = call.index;
          claims.is_claimed[call.index] = true;
        }
        return fits;
      });
    }
  }
  return claims;
}

}  // namespace ringside::chakra
