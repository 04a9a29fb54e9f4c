// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/step_points.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ringside::align {
namespace {

// More do not make the clocks better known, and each costs memory.
constexpr std::uint64_t kMostSteps = 2'000'000;

// One end of a chunk's way.
struct End {
  std::uint32_t matched = 0;  // index into Matches::operations
  std::uint32_t source = 0;   // ranks
  std::uint32_t destination = 0;
  std::uint32_t host = 0;
  std::uint32_t place = 0;  // in the order of the file
  std::uint16_t channel = 0;
  bool receives = false;
  double time_ns = 0;

  auto way() const { return std::tie(matched, source, destination, channel); }
};

struct Chunk {
  std::uint32_t source = 0;  // hosts
  std::uint32_t destination = 0;
  double start_ns = 0;
  double end_ns = 0;
};

class StepCollector {
 public:
  StepCollector(const model::Traces& traces, const match::Matches& matches,
                const HostClocks& clocks, SyncPoints& made)
      : traces_(traces), matches_(matches), clocks_(clocks), made_(made) {}

  void collect() {
    std::uint64_t steps = 0;
    for (const model::TraceFile& file : traces_.files) {
      steps += file.steps.size();
    }
    if (steps == 0) {
      return;
    }
    choose_operations(steps / kMostSteps + 1);
    for (std::uint32_t file = 0; file < traces_.files.size(); ++file) {
      add_file(file);
    }
    join_ends();
    make_points();
  }

 private:
  struct Chosen {
    std::uint64_t operation = 0;  // Operation::id
    std::uint32_t matched = 0;
    std::uint32_t rank = 0;
  };

  // The same operations on all ranks.
  void choose_operations(std::uint64_t stride) {
    chosen_.resize(traces_.files.size());
    for (std::size_t i = 0; i < matches_.operations.size(); i += stride) {
      const match::MatchedOperation& matched = matches_.operations[i];
      const auto& members = matches_.communicators[matched.communicator].members;
      const bool is_counted =
          matched.way != match::Way::kOrder && !matched.is_aligned && matched.occurrence == 0;
      const auto& first = match::parts_of(matches_, matched).front();
      if (!is_counted || match::operation_of(traces_, first).graph) {
        continue;
      }
      for (const match::Part& part : match::parts_of(matches_, matched)) {
        const match::Member& member = members[part.member];
        if (!traces_.files[part.file].steps.empty() && member.rank && member.is_lossless) {
          chosen_[part.file].push_back({traces_.files[part.file].operations.id(part.operation),
                                        static_cast<std::uint32_t>(i), *member.rank});
        }
      }
    }
    for (auto& of_file : chosen_) {
      std::sort(of_file.begin(), of_file.end(),
                [](const Chosen& a, const Chosen& b) { return a.operation < b.operation; });
    }
  }

  void add_file(std::uint32_t index) {
    const auto& chosen = chosen_[index];
    std::uint32_t place = 0;
    for (const model::Step& step : traces_.files[index].steps) {
      ++place;
      const auto found = std::lower_bound(
          chosen.begin(), chosen.end(), step.operation,
          [](const Chosen& one, std::uint64_t operation) { return one.operation < operation; });
      if (found == chosen.end() || found->operation != step.operation || !step.peer) {
        continue;
      }
      // One that never ended keeps its place among the others.
      const double end_ns = step.end_ns ? relative(index, *step.end_ns) : kNoEnd;
      ends_.push_back({found->matched, step.is_send ? found->rank : *step.peer,
                       step.is_send ? *step.peer : found->rank, clocks_.host_of_file[index], place,
                       step.channel, !step.is_send,
                       step.is_send ? relative(index, step.start_ns) : end_ns});
    }
  }

  double relative(std::uint32_t file, std::int64_t time_ns) const {
    return host_time_ns(clocks_, made_.zero_ns, file, time_ns);
  }

  void join_ends() {
    std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
      return std::tuple_cat(a.way(), std::tie(a.receives, a.host, a.place)) <
             std::tuple_cat(b.way(), std::tie(b.receives, b.host, b.place));
    });
    for (std::size_t first = 0; first < ends_.size();) {
      std::size_t last = first;
      std::size_t sends = 0;
      while (last < ends_.size() && ends_[last].way() == ends_[first].way()) {
        sends += ends_[last].receives ? 0 : 1;
        ++last;
      }
      const std::size_t count = (last - first) / 2;
      for (std::size_t k = 0; sends == count && last - first == 2 * count && k < count; ++k) {
        const End& send = ends_[first + k];
        const End& receive = ends_[first + sends + k];
        if (send.host != receive.host && receive.time_ns < kNoEnd) {
          chunks_.push_back({send.host, receive.host, send.time_ns, receive.time_ns});
        }
      }
      first = last;
    }
    ends_ = {};
  }

  void make_points() {
    const auto hosts = [](const Chunk& chunk) { return std::tie(chunk.source, chunk.destination); };
    std::sort(chunks_.begin(), chunks_.end(), [&](const Chunk& a, const Chunk& b) {
      return std::tuple_cat(hosts(a), std::tie(a.start_ns)) <
             std::tuple_cat(hosts(b), std::tie(b.start_ns));
    });
    std::uint32_t series = made_.series.empty() ? 0 : made_.series.back();
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const Chunk& chunk = chunks_[i];
      series += i == 0 || hosts(chunk) != hosts(chunks_[i - 1]) ? 1 : 0;
      made_.touches.push_back(
          {made_.points, chunk.source, PointKind::kStep, chunk.start_ns, kNoEnd});
      made_.touches.push_back(
          {made_.points, chunk.destination, PointKind::kStep, kNoStart, chunk.end_ns});
      made_.series.push_back(series);
      ++made_.points;
    }
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const HostClocks& clocks_;
  SyncPoints& made_;
  std::vector<std::vector<Chosen>> chosen_;  // by file
  std::vector<End> ends_;
  std::vector<Chunk> chunks_;
};

}  // namespace

void add_step_points(const model::Traces& traces, const match::Matches& matches,
                     const HostClocks& clocks, SyncPoints& made) {
  StepCollector(traces, matches, clocks, made).collect();
}

}  // namespace ringside::align
