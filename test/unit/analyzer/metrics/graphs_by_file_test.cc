// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/steps/graphs_by_file.h"

#include <utility>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

// A profile of a process from this moment on, with steps of these names, each a second long. The
// process has two operations: one at two seconds and one at twelve.
ProcessGraph profile(std::uint32_t file, std::int64_t begin_ns,
                     const std::vector<std::string>& steps) {
  ProcessGraph made;
  made.file = file;
  made.graph.begin_ns = begin_ns;
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
  CHECK(by_file.at(3, 0, 1'900'000'000) == 1U);
  CHECK(by_file.at(3, 1, 11'900'000'000) == 0U);
  CHECK(by_file.at(3, 0, std::nullopt) == 1U);
  CHECK(by_file.at(3, 1, std::nullopt) == 0U);
  CHECK(by_file.at(4, 1, std::nullopt) == 2U);
  CHECK_FALSE(by_file.at(5, 0, std::nullopt));
}

TEST_CASE("at the border of two profiles an operation is in the one that has its call") {
  std::vector<ProcessGraph> graphs = list_of(profile(3, 1'000'000'000, {"ProfilerStep#0"}),
                                             profile(3, 11'000'000'000, {"ProfilerStep#1"}));
  // The second operation runs in the second profile, and was called in the first.
  CHECK(GraphsByFile(graphs).at(3, 1, 10'900'000'000) == 0U);
  // Its kernel is in the second one only.
  graphs[0].graph.of_operation.pop_back();
  CHECK(GraphsByFile(graphs).at(3, 1, 10'900'000'000) == 1U);
  // The recording of the second one began before its first step did.
  graphs[1].graph.steps[0].start_ns = 12'500'000'000;
  CHECK(GraphsByFile(graphs).at(3, 1, 11'900'000'000) == 1U);
}

// Traces of five processes whose clocks show the same.
model::Traces traces() {
  model::Traces made;
  made.files.resize(5);
  return made;
}

void number_steps(std::vector<ProcessGraph>& graphs) {
  const model::Traces all = traces();
  number_steps(all, match::realtime_clock(all), graphs);
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

TEST_CASE("a process that was not profiled all the time has the steps of others at that time") {
  std::vector<ProcessGraph> graphs = list_of(
      profile(1, 1'000'000'000, {"train", "train"}), profile(1, 11'000'000'000, {"train", "train"}),
      profile(2, 11'100'000'000, {"train", "train"}), profile(3, 1'900'000'000, {"train"}));
  for (std::size_t i = 0; i < 3; ++i) {
    graphs[i].graph.steps[1].occurrence = 1;
  }
  number_steps(graphs);
  CHECK(graphs[2].graph.steps[0].occurrence == 2);
  CHECK(graphs[2].graph.steps[1].occurrence == 3);
  CHECK(graphs[3].graph.steps[0].occurrence == 1);
}

TEST_CASE("a recording without ranges is a step only where no profile has any") {
  std::vector<ProcessGraph> graphs =
      list_of(profile(1, 1'000'000'000, {"ProfilerStep#0"}), profile(2, 1'000'000'000, {""}));
  number_steps(graphs);
  CHECK(graphs[0].graph.steps.size() == 1);
  CHECK(graphs[1].graph.steps.empty());
  std::vector<ProcessGraph> alone = list_of(profile(1, 0, {""}), profile(2, 0, {""}));
  number_steps(alone);
  CHECK(alone[0].graph.steps.size() == 1);
  CHECK(alone[1].graph.steps.size() == 1);
}

}  // namespace ringside::metrics
