// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/points/step_points.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace ringside::align {
namespace {

// More do not make the clocks better known, and each costs memory.
constexpr std::uint64_t kMostSteps = 2'000'000;

// An operation whose steps are looked for, as a file has it.
struct SteppedOperation {
  std::uint64_t id = 0;       // Operation::id
  std::uint32_t matched = 0;  // its index
  std::uint32_t rank = 0;
};

// The steps of a file that are looked for.
struct StepsOfFile {
  std::uint32_t host = 0;
  std::int64_t since_zero_ns = 0;
  std::vector<SteppedOperation> operations;
};

// By file; a file without any is not there.
using WantedSteps = std::map<std::uint32_t, StepsOfFile>;

// One end of a chunk's way.
struct StepEnd {
  std::uint32_t matched = 0;
  std::uint32_t source = 0;  // ranks
  std::uint32_t destination = 0;
  std::uint32_t host = 0;
  std::uint32_t place = 0;  // in the order of the file
  std::uint16_t channel = 0;
  bool receives = false;
  double time_ns = 0;

  auto way() const { return std::tie(matched, source, destination, channel); }
};

// A chunk that went from one host to another.
struct Chunk {
  std::uint32_t source = 0;  // hosts
  std::uint32_t destination = 0;
  double start_ns = 0;
  double end_ns = 0;
};

// The files whose steps can bound clocks.
WantedSteps files_with_steps(const model::Traces& traces, const match::Matches& matches,
                             const HostClocks& clocks, std::int64_t zero_ns) {
  WantedSteps wanted;
  for (const match::Communicator& communicator : matches.communicators) {
    for (const match::Member& member : communicator.members) {
      if (member.is_lossless && traces.files[member.file].steps.size() > 0) {
        wanted[member.file] = {
            clocks.host_of_file[member.file], clocks.since_epoch_ns[member.file] - zero_ns, {}};
      }
    }
  }
  return wanted;
}

// One of so many operations is taken, since there may be many millions of steps.
std::uint64_t stride_of_steps(const model::Traces& traces) {
  std::uint64_t steps = 0;
  for (const model::TraceFile& file : traces.files) {
    steps += file.steps.size();
  }
  return steps / kMostSteps + 1;
}

// Adds those operations that have trusted numbers and are taken.
void add_stepped(const model::Traces& traces, const match::Matches& matches, WantedSteps& wanted) {
  const std::uint64_t stride = stride_of_steps(traces);
  for (std::size_t i = 0; i < matches.operations.size(); i += stride) {
    const match::MatchedOperation& matched = matches.operations[i];
    if (matched.way == match::Way::kOrder || matched.is_aligned || matched.occurrence != 0) {
      continue;
    }
    const auto parts = match::parts_of(matches, matched);
    const match::Part first = parts.front();
    if (traces.files[first.file].operations.call(first.operation).graph) {
      continue;
    }
    for (const match::Part& part : parts) {
      const auto file = wanted.find(part.file);
      const auto rank = matches.communicators[matched.communicator].members[part.member].rank;
      if (file != wanted.end() && rank) {
        file->second.operations.push_back({traces.files[part.file].operations.id(part.operation),
                                           static_cast<std::uint32_t>(i), *rank});
      }
    }
  }
}

// Adds the ends of the steps that are wanted, which it sorts.
void add_ends(const std::deque<model::Step>& steps, StepsOfFile&& wanted,
              std::vector<StepEnd>& ends) {
  auto& [host, since_zero_ns, operations] = wanted;
  std::sort(operations.begin(), operations.end(),
            [](const SteppedOperation& a, const SteppedOperation& b) { return a.id < b.id; });
  std::uint32_t place = 0;
  for (const model::Step& step : steps) {
    ++place;
    const auto found = std::lower_bound(
        operations.begin(), operations.end(), step.operation,
        [](const SteppedOperation& one, std::uint64_t operation) { return one.id < operation; });
    if (found == operations.end() || found->id != step.operation || !step.peer) {
      continue;
    }
    StepEnd& end = ends.emplace_back();
    end.matched = found->matched;
    end.source = step.is_send ? found->rank : *step.peer;
    end.destination = step.is_send ? *step.peer : found->rank;
    end.host = host;
    end.place = place;
    end.channel = step.channel;
    end.receives = !step.is_send;
    // One that never ended keeps its place among the others.
    const auto time_ns = step.is_send ? std::optional(step.start_ns) : step.end_ns;
    end.time_ns = time_ns ? host_time_ns(since_zero_ns, *time_ns) : kNoEnd;
  }
}

// The k-th chunk that a rank sends to another on a channel is the k-th that the other receives
// there, if both have as many.
std::vector<Chunk> join_ends(std::vector<StepEnd> ends) {
  std::sort(ends.begin(), ends.end(), [](const StepEnd& a, const StepEnd& b) {
    return std::tuple_cat(a.way(), std::tie(a.receives, a.host, a.place)) <
           std::tuple_cat(b.way(), std::tie(b.receives, b.host, b.place));
  });
  std::vector<Chunk> chunks;
  for (std::size_t first = 0; first < ends.size();) {
    std::size_t last = first;
    std::size_t sends = 0;
    while (last < ends.size() && ends[last].way() == ends[first].way()) {
      sends += ends[last].receives ? 0 : 1;
      ++last;
    }
    const std::size_t count = (last - first) / 2;
    for (std::size_t k = 0; sends == count && last - first == 2 * count && k < count; ++k) {
      const StepEnd& send = ends[first + k];
      const StepEnd& receive = ends[first + sends + k];
      if (send.host != receive.host && receive.time_ns < kNoEnd) {
        chunks.push_back({send.host, receive.host, send.time_ns, receive.time_ns});
      }
    }
    first = last;
  }
  return chunks;
}

void add_chunks(std::vector<Chunk> chunks, SyncPoints& made) {
  const auto hosts = [](const Chunk& chunk) { return std::tie(chunk.source, chunk.destination); };
  std::sort(chunks.begin(), chunks.end(), [&](const Chunk& a, const Chunk& b) {
    return std::tuple_cat(hosts(a), std::tie(a.start_ns, a.end_ns)) <
           std::tuple_cat(hosts(b), std::tie(b.start_ns, b.end_ns));
  });
  std::uint32_t series = made.series.empty() ? 0 : made.series.back();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = chunks[i];
    series += i == 0 || hosts(chunk) != hosts(chunks[i - 1]) ? 1 : 0;
    made.touches.push_back({made.points, chunk.source, PointKind::kStep, chunk.start_ns, kNoEnd});
    made.touches.push_back(
        {made.points, chunk.destination, PointKind::kStep, kNoStart, chunk.end_ns});
    made.series.push_back(series);
    ++made.points;
  }
}

}  // namespace

void add_step_points(const model::Traces& traces, const match::Matches& matches,
                     const HostClocks& clocks, SyncPoints& made) {
  WantedSteps wanted = files_with_steps(traces, matches, clocks, made.zero_ns);
  if (wanted.empty()) {
    return;
  }
  add_stepped(traces, matches, wanted);
  std::vector<StepEnd> ends;
  for (auto& [file, of_file] : wanted) {
    add_ends(traces.files[file].steps, std::move(of_file), ends);
  }
  add_chunks(join_ends(std::move(ends)), made);
}

}  // namespace ringside::align
