// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/graphs_by_file.h"

#include <utility>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

// A profile of a process, with steps of these names from this moment on, each a second long. The
// process has two operations: one at two seconds and one at twelve.
ProcessGraph profile(std::uint32_t file, std::int64_t begin_ns,
                     const std::vector<std::string>& steps) {
  ProcessGraph made;
  made.file = file;
  for (std::size_t i = 0; i < 2; ++i) {
    PathNode& node = made.graph.nodes.emplace_back();
    node.start_ns = i == 0 ? 2'000'000'000 : 12'000'000'000;
    made.graph.of_operation.emplace_back(i, static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepRoot& step = made.graph.steps.emplace_back();
    step.name = made.graph.names.id(steps[i]);
    step.start_ns = begin_ns + static_cast<std::int64_t>(i) * 1'000'000'000;
    step.end_ns = step.start_ns + 1'000'000'000;
    step.node = 0;
  }
  return made;
}

template <typename... Profiles>
std::vector<ProcessGraph> list_of(Profiles&&... profiles) {
  std::vector<ProcessGraph> graphs;
  (graphs.push_back(std::forward<Profiles>(profiles)), ...);
  return graphs;
}

}  // namespace

TEST_CASE("an operation is in the profile of its process that was under way") {
  const std::vector<ProcessGraph> graphs =
      list_of(profile(3, 11'000'000'000, {"ProfilerStep#0", "ProfilerStep#1"}),
              profile(3, 1'000'000'000, {"ProfilerStep#0", "ProfilerStep#1"}), profile(4, 0, {}));
  const GraphsByFile by_file(graphs);
  CHECK(by_file.of(3) == std::vector<std::uint32_t>{1, 0});
  CHECK(by_file.at(3, 0) == 1U);
  CHECK(by_file.at(3, 1) == 0U);
  CHECK(by_file.at(4, 1) == 2U);
  CHECK_FALSE(by_file.at(5, 0));
}

TEST_CASE("steps of one name are counted over all profiles of a process") {
  std::vector<ProcessGraph> graphs =
      list_of(profile(3, 11'000'000'000, {"train", "other"}),
              profile(3, 1'000'000'000, {"train", "train"}), profile(4, 1'000'000'000, {"train"}));
  graphs[1].graph.steps[1].occurrence = 1;
  number_steps(graphs);
  CHECK(graphs[1].graph.steps[0].occurrence == 0);
  CHECK(graphs[1].graph.steps[1].occurrence == 1);
  CHECK(graphs[0].graph.steps[0].occurrence == 2);
  CHECK(graphs[0].graph.steps[1].occurrence == 0);
  CHECK(graphs[2].graph.steps[0].occurrence == 0);
}

}  // namespace ringside::metrics
