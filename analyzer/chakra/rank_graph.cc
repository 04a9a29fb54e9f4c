// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/rank_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/chakra/lane.h"
#include "analyzer/chakra/profile_graph.h"

namespace ringside::chakra {
namespace {

using Step = ProfileGraph::Step;
using Kind = ProfileGraph::Kind;

class Builder {
 public:
  Builder(const facts::Facts& facts, std::vector<RankOperation>& operations, const Profile* profile)
      : facts_(facts), operations_(operations), profile_(profile) {}

  RankGraph build() {
    sort_by_call();
    std::vector<std::optional<std::uint32_t>> kernels = find_kernels();
    Schedule schedule(first_us());
    std::vector<Step> steps;
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      steps.push_back({called_ns_[i], Kind::kOperation, i});
    }
    if (profile_ != nullptr) {
      graph_.emplace(*profile_, facts_.traces().files[profile_->file].process, facts_.alignment(),
                     enqueued(), schedule);
      graph_->find_steps(*profile_->kernels, steps);
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& one, const Step& other) {
      return std::tie(one.at_ns, one.kind) < std::tie(other.at_ns, other.kind);
    });
    for (const Step& step : steps) {
      if (step.kind == Kind::kOperation) {
        add(schedule, step.index, kernels[step.index]);
      } else {
        graph_->take(step);
      }
    }
    return {std::move(schedule), std::move(kernels)};
  }

 private:
  std::vector<std::optional<std::uint32_t>> find_kernels() const {
    std::vector<std::optional<std::uint32_t>> kernels(operations_.size());
    for (std::size_t i = 0; i < operations_.size() && profile_ != nullptr; ++i) {
      const match::Part part = facts_.matches().parts[operations_[i].part];
      const auto& pairs = profile_->kernels->pairs;
      const auto pair = std::lower_bound(pairs.begin(), pairs.end(), part.operation,
                                         [](const match::KernelPair& one, std::size_t operation) {
                                           return one.operation < operation;
                                         });
      if (part.file == profile_->file && pair != pairs.end() && pair->operation == part.operation) {
        kernels[i] = static_cast<std::uint32_t>(pair->activity);
      }
    }
    return kernels;
  }

  // A replay of a CUDA graph was called when the graph was captured.
  void sort_by_call() {
    std::vector<std::pair<std::int64_t, std::uint32_t>> order;
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      const match::Part part = facts_.matches().parts[operations_[i].part];
      const model::Execution execution = match::execution_of(facts_.traces(), part);
      const bool has_call = execution.enqueue_start_ns && !execution.graph;
      order.emplace_back(
          has_call ? facts_.alignment().to_common_ns(part.file, *execution.enqueue_start_ns)
                   : operations_[i].start_ns,
          i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    std::vector<RankOperation> sorted;
    for (const auto& [call_ns, i] : order) {
      sorted.push_back(operations_[i]);
      called_ns_.push_back(call_ns);
    }
    operations_.swap(sorted);
  }

  // When an operation was enqueued within the profile, if it was.
  std::optional<ProfileGraph::Enqueue> enqueue_of(const match::Part& part,
                                                  const model::Operation& operation) const {
    if (profile_ == nullptr || part.file != profile_->file || !operation.enqueue_start_ns ||
        operation.graph) {
      return std::nullopt;
    }
    return ProfileGraph::Enqueue{
        operation.tid,
        match::since_epoch(facts_.traces().files[part.file].process, *operation.enqueue_start_ns)};
  }

  std::vector<ProfileGraph::Enqueue> enqueued() const {
    std::vector<ProfileGraph::Enqueue> found;
    for (const RankOperation& one : operations_) {
      const match::Part part = facts_.matches().parts[one.part];
      if (const auto enqueue = enqueue_of(part, match::operation_of(facts_.traces(), part))) {
        found.push_back(*enqueue);
      }
    }
    return found;
  }

  std::int64_t first_us() const {
    std::optional<std::int64_t> first;
    const auto take = [&](std::int64_t at_ns) {
      first = std::min(first.value_or(micros(at_ns)), micros(at_ns));
    };
    for (const RankOperation& one : operations_) {
      take(one.start_ns);
    }
    if (profile_ != nullptr && !profile_->trace->operators.empty()) {
      const std::int64_t base_ns =
          facts_.traces().files[profile_->file].process.base_time_s * 1'000'000'000;
      take(facts_.alignment().to_common_ns(
          profile_->file,
          subtract_saturating(profile_->trace->operators.front().start_ns, base_ns)));
    }
    return first.value_or(0);
  }

  void add(Schedule& schedule, std::uint32_t index, std::optional<std::uint32_t> kernel) {
    const RankOperation& one = operations_[index];
    const match::Part part = facts_.matches().parts[one.part];
    const model::Operation operation = match::operation_of(facts_.traces(), part);
    LaneEntry entry;
    entry.group = operation.group;
    entry.is_point_to_point = operation.kind == model::Kind::kPointToPoint;
    entry.start_us = micros(one.start_ns);
    entry.end_us = micros(one.end_ns);
    Piece piece;
    piece.source = Piece::Source::kOperation;
    piece.of = index;
    piece.is_timed = one.has_execution;
    piece.start_us = entry.start_us;
    piece.duration_us = one.has_execution ? entry.end_us - micros(one.there_ns) : 0;
    if (const auto enqueue = enqueue_of(part, operation)) {
      piece.control = graph_->operator_at(enqueue->thread, enqueue->at_ns);
    }
    if (piece.control) {
      piece.data.push_back(*piece.control);
    }
    Lane* const stream = kernel ? &graph_->lane_of(*kernel)
                         : operation.stream == model::kNoName
                             ? nullptr
                             : &streams_[{part.file, operation.stream}];
    Lane& communicator = communicators_[facts_.matches().operations[one.matched].communicator];
    if (stream != nullptr) {
      stream->find_before(schedule, entry, piece.data);
    }
    communicator.find_before(schedule, entry, piece.data);
    if (kernel) {
      graph_->take_event_waits(*kernel, piece.data);
    }
    const PieceIndex added = schedule.add(std::move(piece), entry.end_us);
    if (stream != nullptr) {
      stream->add(added, entry);
    }
    communicator.add(added, entry);
    if (kernel) {
      graph_->set_piece(*kernel, added);
    }
  }

  const facts::Facts& facts_;
  std::vector<RankOperation>& operations_;
  const Profile* profile_;
  std::vector<std::int64_t> called_ns_;  // by operation
  std::optional<ProfileGraph> graph_;
  std::map<std::pair<std::uint32_t, model::NameId>, Lane> streams_;  // by file and address
  std::map<std::uint32_t, Lane> communicators_;
};

}  // namespace

RankGraph graph_of(const facts::Facts& facts, std::vector<RankOperation>& operations,
                   const Profile* profile) {
  return Builder(facts, operations, profile).build();
}

}  // namespace ringside::chakra
