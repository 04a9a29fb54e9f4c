// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/part_loader.h"

#include <string_view>
#include <utility>

#include "analyzer/load/json/canonical_line.h"
#include "analyzer/load/json/strict_json.h"
#include "analyzer/load/json/unneeded_line.h"
#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/trace/metadata_line.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

// An operation's line repeats facts of its communicator. Nothing else has them if the
// communicator's own line was lost, or was written before the rank was known.
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

// simdjson looks only at the args that are asked for. It has found the end of all others by
// brackets alone, and that may not be their end. Lines of other phases may be damaged.
Failure check_unread(std::string_view text, const Event& event) {
  const bool may_matter = event.phase == "M" || event.phase == "b" || event.phase == "e";
  if (event.arguments.empty() || !may_matter || is_json_object(text)) {
    return std::nullopt;
  }
  return failure_of(simdjson::TAPE_ERROR);
}

bool is_row_of_proxy(const Event& event) {
  return event.category == schema::kCategoryProxy || event.category == schema::kCategoryStep;
}

}  // namespace

PartLoader::PartLoader(Part& part, bool is_first)
    : part_(part), taker_{OperationReader(&part.names), RowReader(part)}, is_first_(is_first) {}

bool PartLoader::Taker::takes(const Event& event) {
  if (event.phase != "b") {
    return false;
  }
  is_row = is_row_of_proxy(event);
  if (is_row) {
    rows.begin();
  } else if (event.category == schema::kCategoryOperation) {
    operation.begin();
  } else {
    return false;
  }
  return true;
}

bool PartLoader::take(const Line& line) {
  ++part_.file.lines;
  if (is_first_ && part_.file.lines == 1) {
    part_.not_a_trace = load_first(line);
    return !part_.not_a_trace;
  }
  if (!line.has_newline && !closes_array(line)) {
    part_.file.torn = true;
    return false;
  }
  if (auto failure = load(line)) {
    taker_.rows.lose();
    ++part_.file.bad_lines;
    part_.problems.add_line({}, part_.file.lines, std::move(*failure));
  }
  return true;
}

// The first line: it decides whether the file is a trace.
Failure PartLoader::load_first(const Line& line) {
  if (line.text.starts_with(kPartialMagic.substr(0, 4))) {
    return "a partial that is compressed or comes through a pipe: name the file as it was written";
  }
  if (line.is_too_long) {
    return "not a Ringside trace: the first line is longer than 1 MiB";
  }
  if (!line.has_newline) {
    return "not a Ringside trace: the first line is not complete";
  }
  Event event;
  if (!parser_.parse(event_of_line(line), event) && event.phase == "M" &&
      event.name == schema::kLineTrace) {
    return read_process(parser_, event, part_.file.process);
  }
  if (event.phase == "M" && event.name == schema::kLineMerged) {
    return "a merged file, for viewers only: name the traces that `ringside merge` was given";
  }
  return "not a Ringside trace: the first line is not a ringside_trace event";
}

Failure PartLoader::load(const Line& line) {
  if (line.is_too_long) {
    return "longer than 1 MiB; the format allows 64 KiB";
  }
  const std::string_view text = event_of_line(line);
  Event event;
  if (!parse_canonical(text, event, taker_)) {
    if (is_unneeded(line.text)) {
      return std::nullopt;
    }
    if (text.empty()) {
      return closes_array(line) ? Failure() : "empty line";
    }
    if (auto failure = parser_.parse(text, event, taker_)) {
      return failure;
    }
    if (event.phase.empty()) {
      return failure_of(simdjson::NO_SUCH_FIELD, "ph");
    }
  }
  const bool is_row = is_row_of_proxy(event);
  if (is_row && event.phase == "e") {
    if (auto failure = check_unread(text, event)) {
      return failure;
    }
    taker_.rows.end(event);
    return std::nullopt;
  }
  if (event.arguments.empty() && !event.arguments_taken) {
    return std::nullopt;
  }
  if (event.phase == "M") {
    return is_needed_metadata(event.name) ? read_metadata(parser_, event, part_)
                                          : check_unread(text, event);
  }
  if (!event.arguments_taken) {
    if (!taker_.takes(event)) {
      return check_unread(text, event);
    }
    if (auto failure = parser_.visit_arguments(event, taker_)) {
      return failure;
    }
  }
  return is_row ? taker_.rows.finish(event) : add_operation();
}

Failure PartLoader::add_operation() {
  if (auto failure = taker_.operation.finish()) {
    return failure;
  }
  const OperationLine& line = taker_.operation.line();
  if (taker_.operation.is_operation()) {
    if (context_ == nullptr || context_number_ != line.context) {
      context_number_ = line.context;
      context_ = &part_.file.contexts[context_number_];
    }
    complete_context(line, *context_);
    part_.file.operations.push_back(line);
    part_.operation_lines.add(part_.file.lines);
  }
  return std::nullopt;
}

}  // namespace ringside::load
