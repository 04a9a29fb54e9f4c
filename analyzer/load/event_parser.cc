// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/event_parser.h"

namespace ringside::load {
namespace {

simdjson::error_code take_arguments(simdjson::ondemand::value& value, std::string_view& arguments) {
  simdjson::ondemand::object object;
  if (const auto error = value.get_object().get(object)) {
    return error;
  }
  return object.raw_json().get(arguments);
}

}  // namespace

Failure failure_of(simdjson::error_code error, std::string_view key) {
  std::string reason =
      key.empty() ? std::string("not a JSON object") : '"' + std::string(key) + '"';
  if (key.empty()) {
    return reason + ": " + simdjson::error_message(error);
  }
  switch (error) {
    case simdjson::INCORRECT_TYPE:
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE:
      return reason + " does not have the type that the trace format says";
    case simdjson::NO_SUCH_FIELD:
      return reason + " is missing";
    default:
      return reason + ": " + simdjson::error_message(error);
  }
}

Failure EventParser::parse(std::string_view json, Event& event) {
  event = {};
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  const simdjson::padded_string_view padded(json.data(), json.size(),
                                            json.size() + LineReader::kPadding);
  if (const auto error = lines_.iterate(padded).get(document)) {
    return failure_of(error);
  }
  if (const auto error = document.get_object().get(object)) {
    return failure_of(error);
  }
  for (auto field : object) {
    std::string_view key;
    simdjson::ondemand::value value;
    if (const auto error = field.unescaped_key().get(key)) {
      return failure_of(error);
    }
    if (const auto error = field.value().get(value)) {
      return failure_of(error);
    }
    simdjson::error_code error = simdjson::SUCCESS;
    if (key == "ph") {
      error = value.get_string().get(event.phase);
    } else if (key == "cat") {
      error = value.get_string().get(event.category);
    } else if (key == "name") {
      error = value.get_string().get(event.name);
    } else if (key == "args") {
      error = take_arguments(value, event.arguments);
    }
    if (error != simdjson::SUCCESS) {
      return failure_of(error, key);
    }
  }
  if (document.current_location().error() == simdjson::SUCCESS) {
    return "more than one JSON object on the line";
  }
  return std::nullopt;
}

}  // namespace ringside::load
