// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace_loader.h"

#include <utility>

#include "analyzer/load/event_parser.h"
#include "analyzer/load/metadata_line.h"
#include "analyzer/load/operation_line.h"
#include "analyzer/load/row_lines.h"
#include "analyzer/load/segments.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

// What the operation says of its communicator is what there is if the communicator's own line was
// lost, or was written before the rank was known.
void complete_context(const OperationLine& line, model::Context& context) {
  ++context.operations;
  if (!context.comm) {
    context.comm = line.comm;
  }
  if (!context.rank) {
    context.rank = line.rank;
  }
  if (!context.nranks) {
    context.nranks = line.nranks;
  }
}

class FileLoader {
 public:
  FileLoader(model::NameTable& names, model::TraceFile& file)
      : names_(names), file_(file), rows_(file) {}

  // The first line: it decides whether the file is a trace.
  Failure load_first(const Line& line) {
    if (line.is_too_long) {
      return "not a Ringside trace: the first line is longer than 1 MiB";
    }
    Event event;
    if (!parser_.parse(event_of_line(line), event) && event.phase == "M" &&
        event.name == schema::kLineTrace) {
      return read_process(parser_, event, file_.process);
    }
    return "not a Ringside trace: the first line is not a ringside_trace event";
  }

  Failure load(const Line& line) {
    if (line.is_too_long) {
      return "longer than 1 MiB; the format allows 64 KiB";
    }
    const std::string_view text = event_of_line(line);
    if (text.empty()) {
      return closes_array(line) ? Failure() : "empty line";
    }
    Event event;
    if (auto failure = parser_.parse(text, event)) {
      return failure;
    }
    const bool is_row =
        event.category == schema::kCategoryProxy || event.category == schema::kCategoryStep;
    if (is_row && event.phase == "e") {
      rows_.end(event);
      return std::nullopt;
    }
    if (event.arguments.empty()) {
      return std::nullopt;
    }
    if (is_row && event.phase == "b") {
      return rows_.begin(parser_, event);
    }
    if (event.phase == "M") {
      return read_metadata(parser_, event, file_);
    }
    if (event.phase == "b" && event.category == schema::kCategoryOperation) {
      return load_operation(event);
    }
    return std::nullopt;
  }

 private:
  Failure load_operation(const Event& event) {
    OperationLine line;
    if (auto failure = read_operation(parser_, event, names_, line)) {
      return failure;
    }
    if (line.is_operation) {
      complete_context(line, file_.contexts[line.operation.context]);
      file_.operations.push_back(line.operation);
    }
    return std::nullopt;
  }

  EventParser parser_;
  model::NameTable& names_;
  model::TraceFile& file_;
  RowReader rows_;
};

}  // namespace

void load_trace(const std::string& path, model::Traces& traces, model::Problems& problems) {
  LineReader reader;
  if (auto error = reader.open(path)) {
    problems.add_file(path, "cannot be opened: " + *error);
    return;
  }
  model::TraceFile file;
  file.path = path;
  FileLoader loader(traces.names, file);
  Line line;
  while (reader.next(line)) {
    ++file.lines;
    if (line.number == 1) {
      if (auto failure = loader.load_first(line)) {
        problems.add_file(path, *failure);
        return;
      }
      continue;
    }
    if (!line.has_newline && !closes_array(line)) {
      file.torn = true;
      break;
    }
    if (auto failure = loader.load(line)) {
      ++file.bad_lines;
      problems.add_line(path, line.number, std::move(*failure));
    }
  }
  if (reader.error()) {
    problems.add_file(path, "cannot be read to its end: " + *reader.error());
  } else if (file.lines == 0) {
    problems.add_file(path, "empty: nothing has been written to it yet");
  }
  if (file.lines > 0) {
    file.size_bytes = reader.bytes_read();
    traces.files.push_back(std::move(file));
  }
}

model::Traces load_traces(const std::vector<std::string>& paths, model::Problems& problems) {
  model::Traces traces;
  for (const std::string& path : paths) {
    load_trace(path, traces, problems);
  }
  join_segments(traces);
  return traces;
}

}  // namespace ringside::load
