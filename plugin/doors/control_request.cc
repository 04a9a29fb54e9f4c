// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/control_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "plugin/record/clock.h"

namespace ringside::doors {
namespace {

using Json = nlohmann::ordered_json;
using Event = Json::parse_event_t;

// The library takes an integer beyond an int64 for an unsigned one.
std::optional<std::int64_t> integer_of(const Json& value) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kMost);
  return fits ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

}  // namespace

std::unique_ptr<ControlRequest> ControlRequest::parse(std::string_view line) {
  // The library takes a NUL for the end, and a byte order mark for nothing.
  if (line.find('\0') != std::string_view::npos || line.starts_with("\xEF\xBB\xBF")) {
    return nullptr;
  }
  bool is_flat = true;
  std::set<std::string> names;
  const auto look = [&](int depth, Event event, Json& value) {
    const auto* const text = value.get_ptr<const std::string*>();
    is_flat = is_flat && (depth == 0 || event == Event::key || event == Event::value) &&
              (text == nullptr || text->find('\0') == std::string::npos) &&
              (event != Event::key || names.insert(*text).second);
    return is_flat;
  };
  auto request = std::make_unique<ControlRequest>();
  request->object_ = Json::parse(line.begin(), line.end(), look, false);
  return is_flat && request->object_.is_object() ? std::move(request) : nullptr;
}

const Json* ControlRequest::find(const char* name) const {
  const auto found = object_.find(name);
  return found != object_.end() ? &*found : nullptr;
}

bool ControlRequest::has_version(int version) const {
  const Json* const given = find("version");
  return given != nullptr && integer_of(*given) == version;
}

std::string ControlRequest::verb() const {
  const Json* const given = find("verb");
  return given != nullptr && given->is_string() ? given->get<std::string>() : std::string();
}

void ControlRequest::refuse(std::string error) {
  if (error_.empty()) {
    error_ = std::move(error);
  }
}

void ControlRequest::allow(std::initializer_list<std::string_view> names) {
  for (const auto& [name, value] : object_.items()) {
    if (name != "version" && name != "verb" &&
        std::find(names.begin(), names.end(), name) == names.end()) {
      refuse("this verb has no " + name);
    }
  }
}

std::string ControlRequest::text(const char* name) {
  const Json* const given = find(name);
  if (given == nullptr) {
    return {};
  }
  if (!given->is_string() || given->get_ref<const std::string&>().empty()) {
    refuse(std::string(name) + " must be a text");
    return {};
  }
  return given->get<std::string>();
}

std::int64_t ControlRequest::integer(const char* name) {
  const Json* const given = find(name);
  if (given == nullptr) {
    return 0;
  }
  const std::int64_t value = integer_of(*given).value_or(0);
  if (value < 1) {
    refuse(std::string(name) + " must be an integer from 1 on");
  }
  return value;
}

std::int64_t ControlRequest::duration_ns() {
  constexpr double kShortest_s = 0.001;
  constexpr double kLongest_s = 30.0 * 24 * 3600;
  const Json* const given = find("seconds");
  if (given == nullptr) {
    return 0;
  }
  const double seconds = given->is_number() ? given->get<double>() : 0;
  if (!(seconds >= kShortest_s && seconds <= kLongest_s)) {
    refuse("seconds must be from 0.001 to 2592000");
    return 0;
  }
  return std::llround(seconds * 1e9);
}

std::int64_t ControlRequest::moment_ns() {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  constexpr std::int64_t kMostAhead_ns = kSecond_ns * 30 * 24 * 3600;
  const std::int64_t moment_ns = integer("at_realtime_ns");
  const auto now_ns = static_cast<std::int64_t>(record::clock_ns(CLOCK_REALTIME));
  if (moment_ns != 0 && (moment_ns <= now_ns || moment_ns - now_ns > kMostAhead_ns)) {
    refuse("at_realtime_ns has passed, or is more than 30 days ahead, by the clock of this host");
  }
  return moment_ns;
}

}  // namespace ringside::doors
