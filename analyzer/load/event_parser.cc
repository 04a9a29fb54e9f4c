// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/event_parser.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace ringside::load {
namespace {

simdjson::error_code take_arguments(simdjson::ondemand::value& value, std::string_view& arguments) {
  simdjson::ondemand::object object;
  if (const auto error = value.get_object().get(object)) {
    return error;
  }
  if (const auto error = object.raw_json().get(arguments)) {
    return error;
  }
  // Its end was found by counting brackets of either kind, without one that follows the first.
  constexpr std::string_view kBlanks = " \t\r";
  const char first = arguments[arguments.find_first_not_of(kBlanks, 1)];
  const char last = arguments[arguments.find_last_not_of(kBlanks)];
  const bool is_whole = (first == '"' || first == '}') && last == '}';
  return is_whole ? simdjson::SUCCESS : simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
}

// Of microseconds with three decimals, without a detour over floating point; nothing if the text is
// anything else.
std::optional<std::int64_t> nanoseconds(std::string_view number) {
  number = number.substr(0, number.find_last_not_of(" \t\r") + 1);  // up to the next token
  constexpr std::size_t kDecimals = 4;                              // with the point
  if (number.size() <= kDecimals || number[number.size() - kDecimals] != '.') {
    return std::nullopt;
  }
  // Without signs: these take none.
  std::uint64_t whole_us = 0;
  std::uint64_t part_ns = 0;
  const char* const point = number.data() + number.size() - kDecimals;
  const char* const end = number.data() + number.size();
  const auto [whole_end, whole_error] = std::from_chars(number.data(), point, whole_us);
  const auto [part_end, part_error] = std::from_chars(point + 1, end, part_ns);
  constexpr std::uint64_t kMost_us = std::numeric_limits<std::int64_t>::max() / 2000;
  if (whole_error != std::errc() || part_error != std::errc() || whole_end != point ||
      part_end != end || whole_us > kMost_us) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(whole_us * 1000 + part_ns);
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
    if (is_misplaced(value)) {
      return failure_of(simdjson::TAPE_ERROR, key);
    }
    simdjson::error_code error = simdjson::SUCCESS;
    if (key == "ph") {
      error = value.get_string().get(event.phase);
    } else if (key == "cat") {
      error = value.get_string().get(event.category);
    } else if (key == "name") {
      error = value.get_string().get(event.name);
    } else if (key == "ts") {
      event.ts_ns = nanoseconds(value.raw_json_token());
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
