// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/segments.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace/machine_line.h"
#include "analyzer/load/trace/part.h"
#include "analyzer/load/trace_loader.h"

namespace ringside::load {
namespace {

bool is_part(const model::TraceFile& file) {
  return !file.process.dump && !file.process.run_id.empty() &&
         (file.process.segment > 1 || file.next_segment);
}

void join_contexts(const model::TraceFile& next, model::TraceFile& whole) {
  for (const auto& [number, newer] : next.contexts) {
    model::Context& known = whole.contexts[number];
    known.operations += newer.operations;
    take_if_known(known.comm, newer.comm);
    take_if_known(known.rank, newer.rank);
    take_if_known(known.nranks, newer.nranks);
    take_if_known(known.created_ns, newer.created_ns);
    take_if_known(known.finalized_ns, newer.finalized_ns);
    if (!newer.name.empty()) {
      known.name = newer.name;
    }
    if (!newer.gpu_pci.empty()) {
      known.gpu_pci = newer.gpu_pci;
      known.gpu_uuid = newer.gpu_uuid;
    }
  }
}

void append(model::TraceFile&& next, model::TraceFile& whole) {
  join_contexts(next, whole);
  whole.operations.append(std::move(next.operations));
  whole.proxies.insert(whole.proxies.end(), next.proxies.begin(), next.proxies.end());
  whole.steps.insert(whole.steps.end(), next.steps.begin(), next.steps.end());
  append_machines(std::move(next.machines), whole.machines);
  whole.clocks.insert(whole.clocks.end(), next.clocks.begin(), next.clocks.end());
  take_if_known(whole.last_ns, next.last_ns);
  for (const auto& [number, window] : next.windows) {
    whole.windows[number] = window;
  }
  for (const auto& [number, mark] : next.marks) {
    take_mark(number, mark, whole);
  }
  if (next.account.produced > 0) {
    whole.account = std::move(next.account);  // it counts from the start of the process
  }
  std::uint64_t written = 0;
  if (whole.operations_written && next.operations_written &&
      !__builtin_add_overflow(*whole.operations_written, *next.operations_written, &written)) {
    whole.operations_written = written;
  } else {
    whole.operations_written.reset();
  }
  const std::uint64_t awaited = whole.process.segment + whole.segments + whole.segments_missing;
  whole.segments_missing += next.process.segment - awaited;
  ++whole.segments;
  whole.later_paths.push_back(std::move(next.path));
  whole.next_segment = next.next_segment;
  whole.closed = next.closed;
  whole.recovered = next.recovered;
  whole.silent_ns = next.silent_ns;
  take_if_known(whole.marks_lost, next.marks_lost);
  take_if_known(whole.ranges_lost, next.ranges_lost);
  whole.torn = whole.torn || next.torn;
  whole.size_bytes += next.size_bytes;
  whole.lines += next.lines;
  whole.bad_lines += next.bad_lines;
}

// By run and number. A second file of the same number is not a part: it repeats one.
using Runs = std::map<std::string, std::map<std::uint64_t, std::size_t>>;

}  // namespace

void join_segments(std::vector<LoadedTrace>& loaded) {
  Runs runs;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    for (const model::TraceFile& file : loaded[i].traces.files) {
      if (is_part(file)) {
        runs[file.process.run_id].emplace(file.process.segment, i);
      }
    }
  }
  for (const auto& [run_id, parts] : runs) {
    model::Traces& whole = loaded[parts.begin()->second].traces;
    for (auto part = std::next(parts.begin()); part != parts.end(); ++part) {
      model::Traces& next = loaded[part->second].traces;
      std::vector<model::NameId> names;
      for (model::NameId id = 0; id < next.names.size(); ++id) {
        names.push_back(whole.names.id(next.names.text(id)));
      }
      model::TraceFile& file = next.files.front();
      for (auto& [number, mark] : file.marks) {
        mark.rename(names);
      }
      whole.files.front().operations.append(std::move(file.operations), names);
      file.operations = {};
      append(std::move(file), whole.files.front());
      next = {};
    }
  }
}

void join_segments(model::Traces& traces) {
  Runs runs;
  std::vector<bool> is_joined(traces.files.size(), false);
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    if (is_part(file)) {
      runs[file.process.run_id].emplace(file.process.segment, i);
    }
  }
  for (const auto& [run_id, parts] : runs) {
    model::TraceFile& whole = traces.files[parts.begin()->second];
    for (auto part = std::next(parts.begin()); part != parts.end(); ++part) {
      append(std::move(traces.files[part->second]), whole);
      is_joined[part->second] = true;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    if (!is_joined[i]) {
      if (kept != i) {
        traces.files[kept] = std::move(traces.files[i]);
      }
      ++kept;
    }
  }
  traces.files.erase(traces.files.begin() + static_cast<std::ptrdiff_t>(kept), traces.files.end());
}

}  // namespace ringside::load
