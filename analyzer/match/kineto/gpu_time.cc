// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/gpu_time.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "analyzer/model/kineto/nccl_kernel.h"

namespace ringside::match {
namespace {

bool communicates(std::string_view name) {
  return !model::nccl_function_of_kernel(name).empty() || model::other_kernel(name) != nullptr;
}

struct Edge {
  std::int64_t at_ns = 0;
  bool is_communication = false;
  bool is_start = false;
};

}  // namespace

GpuTime find_gpu_time(const model::KinetoTrace& trace) {
  std::vector<bool> of_name(trace.names.size());
  for (model::NameId name = 0; name < of_name.size(); ++name) {
    of_name[name] = communicates(trace.names.text(name));
  }
  std::vector<Edge> edges;
  for (const model::GpuActivity& one : trace.activities) {
    if (one.kind == model::GpuWork::kKernel && one.end_ns > one.start_ns) {
      edges.push_back({one.start_ns, of_name[one.name], true});
      edges.push_back({one.end_ns, of_name[one.name], false});
    }
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  GpuTime time;
  std::array<std::int64_t, 2> running{};  // kernels that compute, and that communicate
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::int64_t passed_ns = i == 0 ? 0 : edges[i].at_ns - edges[i - 1].at_ns;
    time.span_ns += passed_ns;
    time.computing_ns += running[0] > 0 ? passed_ns : 0;
    time.communicating_ns += running[1] > 0 ? passed_ns : 0;
    time.both_ns += running[0] > 0 && running[1] > 0 ? passed_ns : 0;
    running.at(edges[i].is_communication ? 1 : 0) += edges[i].is_start ? 1 : -1;
  }
  return time;
}

}  // namespace ringside::match
