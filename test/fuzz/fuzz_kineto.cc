// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a trace of PyTorch's profiler: whatever is read at once, its items are the same; and
// through columns, waits for the GPU, the join with a trace that has nothing, the graph and its
// parts, and the document; and by itself, as the trace of two ranks.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/kineto/kineto_items.h"
#include "analyzer/load/kineto/kineto_trace.h"
#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/match/kineto/profile_numbers.h"
#include "analyzer/match/kineto/profile_trace.h"
#include "analyzer/metrics/steps/graph_parts.h"
#include "analyzer/metrics/steps/rank_graph.h"
#include "analyzer/model/trace.h"
#include "analyzer/report/kineto/dependencies_report.h"
#include "analyzer/report/kineto/profile_join_report.h"
#include "test/unit/analyzer/analyse_all.h"

namespace {

using namespace ringside;

std::string items_of(const std::string& path, std::size_t chunk_bytes) {
  load::KinetoItems items(chunk_bytes, 4096);
  std::string text;
  if (items.open(path)) {
    return text;
  }
  for (load::KinetoItem item; items.next(item);) {
    text.append(item.is_event ? "event " : "member ").append(item.key).append(item.text);
    text += item.is_too_long ? " too long\n" : "\n";
  }
  return text + (items.error() ? "error" : "end");
}

// Whatever the times: a condensed graph leads somewhere, and a part with all chains lacks nothing.
void check_parts(const metrics::RankGraph& whole) {
  const metrics::RankGraph kept = metrics::condensed(whole);
  for (const metrics::PathNode& node : kept.nodes) {
    if (node.before != metrics::PathNode::kNone && node.before >= kept.nodes.size()) {
      std::fprintf(stderr, "a condensed graph leads nowhere\n");
      std::abort();
    }
  }
  metrics::Chains all;
  for (const std::uint32_t node : kept.whole_places) {
    all[node] = std::numeric_limits<std::int64_t>::min();
  }
  for (const metrics::PathNode& node :
       metrics::part_of(whole, metrics::nodes_of(whole, all)).nodes) {
    if (node.before == metrics::PathNode::kLeftOut) {
      std::fprintf(stderr, "a part with all chains lacks a node\n");
      std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int descriptor = memfd_create("kineto", 0);
  if (descriptor < 0 || write(descriptor, data, size) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  if (items_of(path, 7) != items_of(path, 4096)) {
    std::fprintf(stderr, "what is read at once changes the items\n");
    std::abort();
  }
  model::KinetoTrace trace;
  if (!load::read_kineto_trace(path, trace)) {
    report::DependencyChoice choice;
    choice.has_left_out = true;
    for (const std::optional<std::size_t> instance : {std::optional<std::size_t>(), {1}}) {
      choice.instance = instance;
      std::vector<std::vector<report::DependencyPart>> parts;
      parts.push_back(report::dependency_parts(trace, choice));
      report::render(
          report::dependencies_document(report::choose_parts(std::move(parts), instance), choice),
          "table");
    }
    model::Traces traces;
    traces.files.emplace_back();
    match::join_kineto(trace, 0, traces);
    check_parts(metrics::build_rank_graph(trace, {}, std::nullopt));
    std::vector<load::NcclKernel> kernels;
    load::KinetoFile().read_kernels(path, kernels);
    model::Traces alone;  // the profiles of two ranks, and no trace
    std::vector<match::KinetoFileJoin> joins;
    for (const std::int64_t rank : {0, 1}) {
      trace.rank = rank;
      joins.push_back(match::add_profile_trace(trace, alone));
    }
    match::number_profiled_calls(alone);
    report::profile_join_notes(joins, alone);
    analyse_all(alone, model::Problems());
  }
  close(descriptor);
  return 0;
}
