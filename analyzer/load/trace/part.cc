// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/part.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace/machine_line.h"

namespace ringside::load {
namespace {

void append_named(model::TraceFile& next, const model::NameTable& next_names,
                  model::NameTable& names, model::TraceFile& file) {
  std::vector<model::NameId> ids;
  for (model::NameId id = 0; id < next_names.size(); ++id) {
    ids.push_back(names.id(next_names.text(id)));
  }
  file.operations.append(std::move(next.operations), ids);
  for (auto& [number, mark] : next.marks) {
    mark.rename(ids);
    take_mark(number, mark, file);
  }
}

// Takes out the operations that the whole has already. Returns how many these are, and adds a
// problem for each of the first of them.
std::uint64_t drop_repeated(Part& next, OperationIds& known,
                            std::vector<model::Problem>& problems) {
  std::vector<bool> is_repeated;  // empty as long as none is
  std::uint64_t repeated = 0;
  const model::Operations& all = next.file.operations;
  LineNumbers::Reader lines(next.operation_lines);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t line = lines.next();
    if (known.add(all.id(i))) {
      continue;
    }
    is_repeated.resize(all.size());
    is_repeated[i] = true;
    if (repeated++ < model::Problems::kLinesKept) {
      problems.push_back({{},
                          line,
                          "operation " + std::to_string(all.id(i)) +
                              " is there already; this line of it is left out"});
    }
  }
  if (repeated > 0) {
    model::Operations kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_repeated[i]) {
        --next.file.contexts[all.context(i)].operations;
      } else {
        kept.push_back(all[i]);
      }
    }
    next.file.operations = std::move(kept);
  }
  return repeated;
}

void append_rows(Part& next, Part& whole) {
  if (next.ends_row_before) {
    if (whole.open_row == OpenRow::kStep) {
      whole.file.steps.back().end_ns = next.row_before_end_ns;
    } else if (whole.open_row == OpenRow::kProxy) {
      whole.file.proxies.back().end_ns = next.row_before_end_ns;
    }
  }
  if (next.has_rows) {
    whole.open_row = next.open_row;
  }
  model::TraceFile& file = whole.file;
  file.proxies.insert(file.proxies.end(), next.file.proxies.begin(), next.file.proxies.end());
  file.steps.insert(file.steps.end(), next.file.steps.begin(), next.file.steps.end());
}

// A communicator's own line replaces all earlier facts but the count. Operations only add facts.
void append_contexts(Part& next, model::TraceFile& file) {
  for (auto& [number, newer] : next.file.contexts) {
    model::Context& known = file.contexts[number];
    newer.operations += known.operations;
    if (!next.described_contexts.contains(number)) {
      if (known.comm) newer.comm = std::move(known.comm);
      newer.name = std::move(known.name);
      take_if_known(newer.rank, known.rank);
      take_if_known(newer.nranks, known.nranks);
      newer.created_ns = known.created_ns;
      newer.finalized_ns = known.finalized_ns;
      newer.gpu_pci = std::move(known.gpu_pci);
      newer.gpu_uuid = std::move(known.gpu_uuid);
    }
    known = std::move(newer);
  }
}

void append_metadata(Part& next, model::TraceFile& file) {
  append_contexts(next, file);
  for (const auto& [number, newer] : next.file.windows) {
    model::Window& window = file.windows[number];
    if (next.started_windows.contains(number)) {
      window.start_ns = newer.start_ns;
    }
    window.end_ns = newer.end_ns;
  }
  append_machines(std::move(next.file.machines), file.machines);
  file.clocks.insert(file.clocks.end(), next.file.clocks.begin(), next.file.clocks.end());
  if (next.has_account) {
    file.account = std::move(next.file.account);
    file.last_ns = next.file.last_ns;
  } else {
    take_if_known(file.last_ns, next.file.last_ns);
  }
  take_if_known(file.operations_written, next.file.operations_written);
  take_if_known(file.next_segment, next.file.next_segment);
  take_if_known(file.silent_ns, next.file.silent_ns);
  take_if_known(file.marks_lost, next.file.marks_lost);
  take_if_known(file.ranges_lost, next.file.ranges_lost);
  file.closed = file.closed || next.file.closed;
  if (next.has_recovered) {
    file.recovered = next.file.recovered;
  }
}

}  // namespace

void append_part(Part&& next, const std::string& path, model::NameTable& names, Part& whole,
                 model::Problems& problems) {
  model::TraceFile& file = whole.file;
  std::vector<model::Problem> lines = next.problems.lines();
  const std::uint64_t repeated = drop_repeated(next, whole.operation_ids, lines);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& one, const auto& other) { return one.line < other.line; });
  append_named(next.file, next.names, names, file);
  append_rows(next, whole);
  append_metadata(next, file);
  for (const model::Problem& problem : lines) {
    problems.add_line(path, file.lines + problem.line, problem.reason);
  }
  problems.count_lines(next.problems.bad_lines() + repeated - lines.size());
  file.torn = file.torn || next.file.torn;
  file.size_bytes += next.file.size_bytes;
  file.lines += next.file.lines;
  file.bad_lines += next.file.bad_lines + repeated;
}

}  // namespace ringside::load
