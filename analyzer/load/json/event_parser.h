// SPDX-License-Identifier: Apache-2.0
//
// Splits the JSON object of one line into what decides how to read it, and its args.
#ifndef RINGSIDE_ANALYZER_LOAD_JSON_EVENT_PARSER_H
#define RINGSIDE_ANALYZER_LOAD_JSON_EVENT_PARSER_H

#include <optional>
#include <simdjson.h>
#include <string>
#include <string_view>

#include "analyzer/load/json/json_value.h"
#include "analyzer/load/source/line_reader.h"

namespace ringside::load {

static_assert(LineReader::kPadding >= simdjson::SIMDJSON_PADDING);

/// Views are valid until the next parse().
struct Event {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::optional<std::int64_t> ts_ns;
  std::string_view arguments;    // raw JSON of args, empty if there are none
  bool arguments_taken = false;  // they were given to the taker while the line was parsed
};

/// Why something cannot be read; nothing if it can.
using Failure = std::optional<std::string>;

class EventParser {
 public:
  /// `json` is followed by LineReader::kPadding bytes that may be read.
  Failure parse(std::string_view json, Event& event);

  /// The same, but asks taker.takes(event) when it comes to the args. If that is true, the taker
  /// gets their members at once, as visit_arguments gives them, which spares a second pass. The
  /// members before args are known then; ts and name may still follow.
  template <typename Taker>
  Failure parse(std::string_view json, Event& event, Taker& taker);

  /// Calls visit(key, value) for each member of the args of an event from parse(). It returns a
  /// simdjson::error_code; the first that is not SUCCESS ends the visit and is told with its key.
  template <typename Visit>
  Failure visit_arguments(const Event& event, Visit&& visit);

 private:
  static simdjson::error_code take_member(std::string_view key, simdjson::ondemand::value& value,
                                          Event& event);
  Failure start(std::string_view json, simdjson::ondemand::document& document,
                simdjson::ondemand::object& object);

  simdjson::ondemand::parser lines_;
  simdjson::ondemand::parser arguments_;
};

/// True if a member has no value, or one that is neither a container nor followed by "," or "}".
/// simdjson skips a value that is not asked for by its brackets alone. It would take the text that
/// follows for a part of the value and say nothing.
inline bool is_misplaced(simdjson::ondemand::value& value) {
  constexpr std::string_view kNoValue = ",:]}";
  const std::string_view token = value.raw_json_token();  // up to the next that is not a blank
  if (token.front() == '{' || token.front() == '[') {
    return false;
  }
  const char next = token.data()[token.size()];
  return kNoValue.find(token.front()) != std::string_view::npos || (next != ',' && next != '}');
}

/// Calls visit(key, value) for each member of an object. It returns a simdjson::error_code; the
/// first that is not SUCCESS ends the visit. `key` is that of its member; "args" if that cannot be
/// read.
template <typename Visit>
simdjson::error_code visit_members(simdjson::ondemand::object& object, std::string_view& key,
                                   Visit& visit) {
  for (auto field : object) {
    std::string_view own;
    simdjson::ondemand::value value;
    if (const auto error = take_key(field, own)) {
      key = "args";
      return error;
    }
    key = own;
    if (const auto error = field.value().get(value)) {
      return error;
    }
    if (is_misplaced(value)) {
      return simdjson::TAPE_ERROR;
    }
    if (const auto error = visit(key, value)) {
      return error;
    }
  }
  return simdjson::SUCCESS;
}

/// The same for a value that has to be an object.
template <typename Visit>
simdjson::error_code visit_object(simdjson::ondemand::value& value, Visit&& visit) {
  simdjson::ondemand::object object;
  std::string_view key;
  const auto error = value.get_object().get(object);
  return error ? error : visit_members(object, key, visit);
}

/// Converts microseconds with three decimals, without a detour over floating point. Returns nothing
/// if the text is anything else. Blanks may follow.
std::optional<std::int64_t> nanoseconds(std::string_view number);

/// Makes simdjson's error a reason.
Failure failure_of(simdjson::error_code error, std::string_view key = {});

template <typename Visit>
Failure EventParser::visit_arguments(const Event& event, Visit&& visit) {
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  const simdjson::padded_string_view json(event.arguments.data(), event.arguments.size(),
                                          event.arguments.size() + LineReader::kPadding);
  if (const auto error = arguments_.iterate(json).get(document)) {
    return failure_of(error, "args");
  }
  if (const auto error = document.get_object().get(object)) {
    return failure_of(error, "args");
  }
  std::string_view key = "args";
  const auto error = visit_members(object, key, visit);
  return error ? failure_of(error, key) : Failure();
}

template <typename Taker>
Failure EventParser::parse(std::string_view json, Event& event, Taker& taker) {
  event = {};
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (auto failure = start(json, document, object)) {
    return failure;
  }
  for (auto field : object) {
    std::string_view key;
    simdjson::ondemand::value value;
    if (const auto error = take_key(field, key)) {
      return failure_of(error);
    }
    if (const auto error = field.value().get(value)) {
      return failure_of(error);
    }
    if (is_misplaced(value)) {
      return failure_of(simdjson::TAPE_ERROR, key);
    }
    if (key == "args" && (event.arguments_taken || !event.arguments.empty())) {
      return "\"args\" is there twice";
    }
    if (event.arguments_taken && (key == "ph" || key == "cat")) {
      return parse(json, event);  // what it was taken for may not be what it is
    }
    if (key == "args" && taker.takes(event)) {
      event.arguments_taken = true;
      simdjson::ondemand::object arguments;
      if (const auto error = value.get_object().get(arguments)) {
        return failure_of(error, key);
      }
      if (const auto error = visit_members(arguments, key, taker)) {
        return failure_of(error, key);
      }
    } else if (const auto error = take_member(key, value, event)) {
      return failure_of(error, key);
    }
  }
  if (document.current_location().error() == simdjson::SUCCESS) {
    return "more than one JSON object on the line";
  }
  return std::nullopt;
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_JSON_EVENT_PARSER_H
