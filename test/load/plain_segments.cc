// SPDX-License-Identifier: Apache-2.0
#include "test/load/plain_segments.h"

#include <algorithm>
#include <optional>

#include "test/load/plain_machine.h"

namespace ringside::plain {
namespace {

using model::TraceFile;

bool is_segment(const TraceFile& file) {
  return !file.process.dump && !file.process.run_id.empty() &&
         (file.process.segment > 1 || file.next_segment);
}

bool is_next(const TraceFile& file, const TraceFile& before) {
  return is_segment(file) && file.process.run_id == before.process.run_id &&
         file.process.segment > before.process.segment;
}

// The segment that follows, if there is any: of two with the same number the first.
std::optional<std::size_t> find_next(const std::vector<TraceFile>& files, const TraceFile& before) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (is_next(files[i], before) &&
        (!found || files[i].process.segment < files[*found].process.segment)) {
      found = i;
    }
  }
  return found;
}

template <typename List>
void append(const List& next, List& whole) {
  whole.insert(whole.end(), next.begin(), next.end());
}

void join(const TraceFile& next, std::uint64_t missing, TraceFile& whole) {
  for (const model::Operation& operation : next.operations) {
    whole.operations.push_back(operation);
  }
  append(next.proxies, whole.proxies);
  append(next.steps, whole.steps);
  append(next.clocks, whole.clocks);
  for (const auto& [ts_ns, machine] : next.machines) {
    join_machine(machine, whole.machines[ts_ns]);
  }
  for (const auto& [number, context] : next.contexts) {
    model::Context& known = whole.contexts[number];
    known.operations += context.operations;
    if (context.comm) known.comm = context.comm;
    if (!context.name.empty()) known.name = context.name;
    if (context.rank) known.rank = context.rank;
    if (context.nranks) known.nranks = context.nranks;
    if (context.created_ns) known.created_ns = context.created_ns;
    if (context.finalized_ns) known.finalized_ns = context.finalized_ns;
  }
  for (const auto& [number, window] : next.windows) {
    whole.windows[number] = window;
  }
  for (const auto& [number, mark] : next.marks) {
    if (mark.end_ns || !whole.marks[number].end_ns) whole.marks[number] = mark;
  }
  if (next.account.produced > 0) whole.account = next.account;
  if (next.last_ns) whole.last_ns = next.last_ns;
  // Every segment counts its own operations. If one has no count, or the sum does not fit, the
  // number of all is not known.
  const std::uint64_t before = whole.operations_written.value_or(0);
  const std::uint64_t sum = before + next.operations_written.value_or(0);
  if (whole.operations_written && next.operations_written && sum >= before) {
    whole.operations_written = sum;
  } else {
    whole.operations_written.reset();
  }
  whole.segments += 1;
  whole.segments_missing += missing;
  whole.next_segment = next.next_segment;
  whole.closed = next.closed;
  whole.recovered = next.recovered;
  whole.silent_ns = next.silent_ns;
  if (next.marks_lost) whole.marks_lost = next.marks_lost;
  if (next.ranges_lost) whole.ranges_lost = next.ranges_lost;
  whole.torn = whole.torn || next.torn;
  whole.size_bytes += next.size_bytes;
  whole.lines += next.lines;
  whole.bad_lines += next.bad_lines;
}

}  // namespace

void join_segments(std::vector<TraceFile>& files) {
  // A run's place is that of its oldest segment; all others of it are taken away, but for those
  // that have a number that came before.
  std::vector<std::string> done;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool has_older = std::any_of(files.begin(), files.end(), [&](const TraceFile& other) {
      return is_segment(other) && is_next(files[i], other);
    });
    if (!is_segment(files[i]) || has_older ||
        std::find(done.begin(), done.end(), files[i].process.run_id) != done.end()) {
      continue;
    }
    done.push_back(files[i].process.run_id);
    TraceFile last = files[i];
    while (const auto next = find_next(files, last)) {
      const std::uint64_t missing = files[*next].process.segment - last.process.segment - 1;
      last.process = files[*next].process;
      join(files[*next], missing, files[i]);
      files.erase(files.begin() + static_cast<std::ptrdiff_t>(*next));
      i -= *next < i ? 1 : 0;
    }
  }
}

}  // namespace ringside::plain
