// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/graph_parts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/metrics/steps/rank_graph.h"
#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

// A process that has two steps. In each it runs so many operators, each of which launches a kernel,
// then an operation of NCCL, and waits for that.
class Process {
 public:
  explicit Process(int operators) {
    for (int step = 0; step < 2; ++step) {
      const std::int64_t begin_ns = now_ns_;
      for (int i = 0; i < operators; ++i) {
        call(trace_.operators, "aten::mm", 10'000);
        launch("gemm", 7, 4'000);
      }
      launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 50'000);
      GraphOperation operation;
      operation.operation = static_cast<std::size_t>(step);
      operation.activity = trace_.activities.size() - 1;
      operations_.push_back(operation);
      const std::int64_t over_ns = trace_.activities.back().end_ns;
      call(trace_.runtime, "cudaStreamSynchronize", over_ns - now_ns_ + 1'000);
      now_ns_ = over_ns + 1'000;
      model::KinetoCall& range = trace_.annotations.emplace_back();
      range.start_ns = begin_ns;
      range.end_ns = now_ns_;
      range.thread = kThread;
      range.name = trace_.names.id("ProfilerStep#" + std::to_string(step));
    }
  }

  RankGraph graph(const ChooseLabelled& choose_labelled = nullptr) const {
    return build_rank_graph(trace_, operations_, std::nullopt, choose_labelled);
  }

 private:
  static constexpr std::int64_t kThread = 5;

  model::KinetoCall& call(std::vector<model::KinetoCall>& calls, std::string_view name,
                          std::int64_t length_ns) {
    model::KinetoCall& made = calls.emplace_back();
    made.start_ns = now_ns_;
    made.end_ns = now_ns_ + length_ns;
    made.thread = kThread;
    made.name = trace_.names.id(name);
    made.correlation = ++correlation_;
    return made;
  }

  void launch(std::string_view kernel, std::int64_t stream, std::int64_t length_ns) {
    now_ns_ += 1'000;
    call(trace_.runtime, "cudaLaunchKernel", 2'000);
    now_ns_ += 3'000;
    model::GpuActivity& made = trace_.activities.emplace_back();
    made.start_ns = now_ns_;
    made.end_ns = now_ns_ + length_ns;
    made.stream = stream;
    made.name = trace_.names.id(kernel);
    made.correlation = correlation_;
    now_ns_ += 6'000;
  }

  model::KinetoTrace trace_;
  std::vector<GraphOperation> operations_;
  std::int64_t now_ns_ = 1'000'000;
  std::int64_t correlation_ = 0;
};

TEST_CASE("what is kept of a profile does not grow with its operators") {
  const RankGraph small = Process(10).graph();
  const RankGraph large = Process(1000).graph();
  CHECK(large.nodes.size() > 80 * small.nodes.size());
  const RankGraph kept = condensed(large);
  CHECK(kept.is_condensed());
  CHECK(kept.nodes.size() == condensed(small).nodes.size());
  CHECK(kept.nodes.size() <= 4 * (2 + large.steps.size()));
  CHECK(kept.names.size() == 1 + 2);  // no name, and those of the steps
  CHECK(kept.labels.size() == 1);
}

TEST_CASE("ways through a condensed graph are those of the whole one") {
  const RankGraph whole = Process(20).graph();
  const RankGraph kept = condensed(whole);
  REQUIRE(kept.of_operation.size() == 2);
  REQUIRE(kept.steps.size() == whole.steps.size());
  for (std::size_t i = 0; i < whole.steps.size(); ++i) {
    std::uint32_t at = kept.steps[i].node;
    CHECK(kept.whole_places[at] == whole.steps[i].node);
    // From each node that is kept the whole graph leads to the next one, and as far back in time.
    while (at != PathNode::kNone) {
      REQUIRE(at < kept.whole_places.size());
      std::uint32_t next = kept.nodes[at].before;
      std::int64_t earliest_ns = kept.nodes[at].ready_ns;
      std::uint32_t there = whole.nodes[kept.whole_places[at]].before;
      if (next != PathNode::kNone && next >= kept.whole_places.size()) {
        earliest_ns = kept.nodes[next].start_ns;
        next = kept.nodes[next].before;
      }
      const std::uint32_t stop =
          next == PathNode::kNone ? PathNode::kNone : kept.whole_places[next];
      std::int64_t seen_ns = kept.nodes[at].ready_ns;
      for (; there != stop; there = whole.nodes[there].before) {
        REQUIRE(there != PathNode::kNone);
        seen_ns = std::min({seen_ns, whole.nodes[there].start_ns, whole.nodes[there].ready_ns});
      }
      CHECK(seen_ns == earliest_ns);
      at = next;
    }
  }
}

TEST_CASE("a part has the chains that are needed, as far back as that") {
  const Process process(20);
  const RankGraph whole = process.graph();
  const std::uint32_t from = whole.node_of(1);
  const std::int64_t until_ns = whole.nodes[from].start_ns - 100'000;
  std::vector<bool> is_in;
  RankGraph labelled = process.graph([&](const RankGraph& made) {
    is_in = nodes_of(made, {{from, until_ns}});
    return is_in;
  });
  const RankGraph part = part_of(labelled, is_in);
  CHECK(part.nodes.size() < whole.nodes.size() / 2);
  std::uint32_t there = from;
  std::uint32_t here = part.node_of(1);
  std::size_t passed = 0;
  while (whole.nodes[there].start_ns > until_ns) {
    REQUIRE(here < part.nodes.size());
    const PathNode& one = whole.nodes[there];
    const PathNode& other = part.nodes[here];
    CHECK(one.start_ns == other.start_ns);
    CHECK(one.ready_ns == other.ready_ns);
    CHECK(one.margin_ns == other.margin_ns);
    CHECK(whole.names.text(whole.label_of(one).name) == part.names.text(part.label_of(other).name));
    CHECK(whole.names.text(whole.label_of(one).where) ==
          part.names.text(part.label_of(other).where));
    there = one.before;
    here = other.before;
    ++passed;
  }
  CHECK(passed > 5);
  // Further back it says that something was left out, and not that nothing was needed.
  while (here < part.nodes.size()) {
    here = part.nodes[here].before;
  }
  CHECK(here == PathNode::kLeftOut);
}

}  // namespace
}  // namespace ringside::metrics
