// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/partial/partial_writer.h"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/load/partial/partial_machine.h"
#include "analyzer/load/partial/partial_rows.h"
#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/model/parallel.h"

namespace ringside::load {
namespace {

std::size_t blocks_of(std::size_t rows) {
  return (rows + kBlockRows - 1) / kBlockRows;
}

void write_operations(const model::Operations& operations, std::size_t begin, std::size_t end,
                      std::string& bytes) {
  const model::Operations part = operations.slice(begin, end);
  append_number(part.size(), bytes);
  write_table(part.shapes(), bytes, [](ColumnWriter& writer, const model::Operation& shape) {
    visit_shape(writer, shape);
  });
  part.append_packed(bytes);
}

template <typename Row>
void write_rows(const std::deque<Row>& rows, std::size_t begin, std::size_t end,
                std::string& bytes) {
  ColumnWriter writer;
  for (std::size_t i = begin; i < end; ++i) {
    writer.begin_row();
    visit(writer, rows[i]);
  }
  writer.append_to(bytes);
}

const auto kWriteEntry = [](ColumnWriter& writer, const auto& entry) {
  writer(entry.first, entry.second);
};

const auto kVisitEntry = [](ColumnWriter& writer, const auto& entry) {
  writer(entry.first);
  visit(writer, entry.second);
};

void write_trace(const LoadedTrace& loaded, std::string& bytes) {
  const std::span files(loaded.traces.files);
  write_table(files, bytes, [](ColumnWriter& writer, const model::TraceFile& file) {
    visit(writer, file, {file.operations.size(), file.proxies.size(), file.steps.size()});
  });
  for (const model::TraceFile& file : files) {
    write_table(file.contexts, bytes, kVisitEntry);
    write_table(file.windows, bytes, kVisitEntry);
    write_table(file.marks, bytes, kVisitEntry);
    write_table(file.clocks, bytes, [](ColumnWriter& writer, const model::ClockReading& reading) {
      visit(writer, reading);
    });
    write_machines(file.machines, bytes);
    write_table(file.process.nccl_environment, bytes, kWriteEntry);
    write_table(file.account.dropped, bytes, kWriteEntry);
    std::vector<std::string> names;
    for (model::NameId id = 0; id < loaded.traces.names.size(); ++id) {
      names.emplace_back(loaded.traces.names.text(id));
    }
    write_table(names, bytes, [](ColumnWriter& writer, const std::string& name) { writer(name); });
  }
  const model::Problems& problems = loaded.problems;
  for (const auto* const list : {&problems.lines(), &problems.files()}) {
    write_table(*list, bytes, [](ColumnWriter& writer, const model::Problem& problem) {
      writer(problem.path, problem.line, problem.reason);
    });
  }
  append_number(problems.bad_lines() - problems.lines().size(), bytes);
}

std::size_t section_count(const LoadedTrace& loaded) {
  std::size_t sections = 1;
  for (const model::TraceFile& file : loaded.traces.files) {
    sections += blocks_of(file.operations.size()) + blocks_of(file.proxies.size()) +
                blocks_of(file.steps.size());
  }
  return sections;
}

// The first is empty if a trace has more names and marks than a section can hold.
std::string encode_section(const LoadedTrace& loaded, std::size_t section) {
  std::string bytes;
  if (section == 0) {
    write_trace(loaded, bytes);
    if (bytes.size() > kMostSection_bytes) {
      return {};
    }
    return make_section(SectionKind::kTrace, bytes);
  }
  const model::TraceFile& file = loaded.traces.files.front();
  std::size_t block = section - 1;
  const auto is_in = [&block](std::size_t rows) {
    const bool is_here = block < blocks_of(rows);
    block -= is_here ? 0 : blocks_of(rows);
    return is_here;
  };
  const auto end = [&block](std::size_t rows) { return std::min(rows, (block + 1) * kBlockRows); };
  if (is_in(file.operations.size())) {
    write_operations(file.operations, block * kBlockRows, end(file.operations.size()), bytes);
    return make_section(SectionKind::kOperations, bytes);
  }
  if (is_in(file.proxies.size())) {
    write_rows(file.proxies, block * kBlockRows, end(file.proxies.size()), bytes);
    return make_section(SectionKind::kProxies, bytes);
  }
  write_rows(file.steps, block * kBlockRows, end(file.steps.size()), bytes);
  return make_section(SectionKind::kSteps, bytes);
}

}  // namespace

std::vector<std::string> encode_traces(const std::vector<LoadedTrace>& loaded) {
  std::vector<std::pair<std::size_t, std::size_t>> sections;
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    for (std::size_t section = 0; section < section_count(loaded[i]); ++section) {
      sections.emplace_back(i, section);
    }
  }
  std::vector<std::string> encoded(sections.size());
  in_parallel(
      sections.size(), 0, [] { return 0; },
      [&](std::size_t i, int) {
        encoded[i] = encode_section(loaded[sections[i].first], sections[i].second);
      });
  std::vector<std::string> traces(loaded.size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto [trace, section] = sections[i];
    if (section == 0 || !traces[trace].empty()) {
      traces[trace] += encoded[i];
    }
    encoded[i] = {};
  }
  return traces;
}

std::string partial_end(std::uint64_t traces) {
  std::string bytes;
  append_number(traces, bytes);
  return make_section(SectionKind::kEnd, bytes);
}

}  // namespace ringside::load
