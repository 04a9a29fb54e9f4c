// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/json/event_parser.h"

#include <charconv>
#include <limits>
#include <system_error>

#include "analyzer/load/json/json_error.h"

namespace ringside::load {
namespace {

using Value = simdjson::ondemand::value;

simdjson::error_code take_arguments(simdjson::ondemand::value& value, std::string_view& arguments) {
  simdjson::ondemand::object object;
  if (const auto error = value.get_object().get(object)) {
    return error;
  }
  if (const auto error = object.raw_json().get(arguments)) {
    return error;
  }
  // simdjson finds the end by counting brackets of either kind, so both ends are checked here.
  constexpr std::string_view kBlanks = " \t\r";
  const char first = arguments[arguments.find_first_not_of(kBlanks, 1)];
  const char last = arguments[arguments.find_last_not_of(kBlanks)];
  const bool is_whole = (first == '"' || first == '}') && last == '}';
  return is_whole ? simdjson::SUCCESS : simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
}

}  // namespace

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

Failure failure_of(simdjson::error_code error, std::string_view key) {
  std::string reason =
      key.empty() ? std::string("not a JSON object") : '"' + std::string(key) + '"';
  if (key.empty()) {
    return reason + ": " + json_error_text(error);
  }
  if (error == simdjson::INCORRECT_TYPE || error == simdjson::NUMBER_OUT_OF_RANGE ||
      is_number_error(error)) {
    return reason + " does not have the type that the trace format says";
  }
  return error == simdjson::NO_SUCH_FIELD ? reason + " is missing"
                                          : reason + ": " + json_error_text(error);
}

Failure EventParser::start(std::string_view json, simdjson::ondemand::document& document,
                           simdjson::ondemand::object& object) {
  const simdjson::padded_string_view padded(json.data(), json.size(),
                                            json.size() + LineReader::kPadding);
  if (const auto error = lines_.iterate(padded).get(document)) {
    return failure_of(error);
  }
  if (const auto error = document.get_object().get(object)) {
    return failure_of(error);
  }
  return std::nullopt;
}

simdjson::error_code EventParser::take_member(std::string_view key,
                                              simdjson::ondemand::value& value, Event& event) {
  if (key == "ph") return take_view(value, event.phase);
  if (key == "cat") return take_view(value, event.category);
  if (key == "name") return take_view(value, event.name);
  if (key == "args") return take_arguments(value, event.arguments);
  if (key == "ts") event.ts_ns = nanoseconds(value.raw_json_token());
  return simdjson::SUCCESS;
}

Failure EventParser::parse(std::string_view json, Event& event) {
  struct None {
    static bool takes(const Event& /*event*/) { return false; }
    simdjson::error_code operator()(std::string_view /*key*/, Value& /*value*/) const {
      return simdjson::SUCCESS;
    }
  };
  None none;
  return parse(json, event, none);
}

}  // namespace ringside::load
