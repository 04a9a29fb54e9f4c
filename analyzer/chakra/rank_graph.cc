// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/rank_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/chakra/lane.h"

namespace ringside::chakra {
namespace {

class Builder {
 public:
  Builder(const facts::Facts& facts, std::vector<RankOperation>& operations)
      : facts_(facts), operations_(operations) {}

  Schedule build() {
    sort_by_call();
    std::int64_t first_us = operations_.empty() ? 0 : micros(operations_.front().start_ns);
    for (const RankOperation& one : operations_) {
      first_us = std::min(first_us, micros(one.start_ns));
    }
    Schedule schedule(first_us);
    for (std::uint32_t i = 0; i < operations_.size(); ++i) {
      add(schedule, i);
    }
    return schedule;
  }

 private:
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
    sorted.reserve(order.size());
    for (const auto& [call_ns, i] : order) {
      sorted.push_back(operations_[i]);
    }
    operations_.swap(sorted);
  }

  void add(Schedule& schedule, std::uint32_t index) {
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
    Lane* const stream =
        operation.stream == model::kNoName ? nullptr : &streams_[{part.file, operation.stream}];
    Lane& communicator = communicators_[facts_.matches().operations[one.matched].communicator];
    if (stream != nullptr) {
      stream->find_before(schedule, entry, piece.data);
    }
    communicator.find_before(schedule, entry, piece.data);
    const PieceIndex added = schedule.add(std::move(piece), entry.end_us);
    if (stream != nullptr) {
      stream->add(added, entry);
    }
    communicator.add(added, entry);
  }

  const facts::Facts& facts_;
  std::vector<RankOperation>& operations_;
  std::map<std::pair<std::uint32_t, model::NameId>, Lane> streams_;  // by file and address
  std::map<std::uint32_t, Lane> communicators_;
};

}  // namespace

Schedule graph_of(const facts::Facts& facts, std::vector<RankOperation>& operations) {
  return Builder(facts, operations).build();
}

}  // namespace ringside::chakra
