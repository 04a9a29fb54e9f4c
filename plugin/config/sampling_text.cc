// SPDX-License-Identifier: Apache-2.0
//
// Parses RINGSIDE_SAMPLE.
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "plugin/config/config.h"

namespace ringside::control {
namespace {

constexpr std::uint64_t kMostOf = 1'000'000;
constexpr std::int64_t kMostPeriod_ns = 24LL * 3600 * 1'000'000'000;

// Parses a number, followed by a unit.
std::optional<std::pair<std::uint64_t, std::string_view>> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc{}) {
    return std::nullopt;
  }
  return std::pair(number, text.substr(static_cast<std::size_t>(end.ptr - text.data())));
}

// Parses "1/16", and returns 16.
std::optional<std::uint64_t> one_of(std::string_view text) {
  if (!text.starts_with("1/")) {
    return std::nullopt;
  }
  const auto of = number_of(text.substr(2));
  return of && of->second.empty() && of->first >= 1 && of->first <= kMostOf
             ? std::optional(of->first)
             : std::nullopt;
}

std::optional<std::int64_t> duration_ns(std::string_view text) {
  const auto number = number_of(text);
  if (!number) {
    return std::nullopt;
  }
  const auto& [value, unit] = *number;
  const std::int64_t unit_ns = unit == "ms"  ? 1'000'000
                               : unit == "s" ? 1'000'000'000
                               : unit == "m" ? 60'000'000'000
                               : unit == "h" ? 3'600'000'000'000
                                             : 0;
  if (unit_ns == 0 || value == 0 || value > static_cast<std::uint64_t>(kMostPeriod_ns / unit_ns)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value) * unit_ns;
}

std::optional<std::uint64_t> size_bytes(std::string_view text) {
  const auto number = number_of(text);
  if (!number) {
    return std::nullopt;
  }
  const auto& [value, unit] = *number;
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (shift < 0 || value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return value << shift;
}

// Parses one condition. Returns false if it is not valid.
bool take(std::string_view what, std::string_view value, assemble::Sampling& sampling) {
  if (what == "coll" || what == "p2p") {
    const auto of = one_of(value);
    (what == "coll" ? sampling.coll_of : sampling.p2p_of) = of.value_or(1);
    return of.has_value();
  }
  if (what == "min") {
    const auto bytes = size_bytes(value);
    sampling.min_bytes = bytes.value_or(0);
    return bytes.has_value();
  }
  const std::size_t slash = value.find('/');
  if (what != "window" || slash == std::string_view::npos) {
    return false;
  }
  const auto window_ns = duration_ns(value.substr(0, slash));
  const auto period_ns = duration_ns(value.substr(slash + 1));
  if (!window_ns || !period_ns || *window_ns > *period_ns) {
    return false;
  }
  sampling.window_ns = *window_ns;
  sampling.period_ns = *period_ns;
  return true;
}

}  // namespace

std::optional<assemble::Sampling> parse_sampling(std::string_view text) {
  assemble::Sampling sampling;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos ||
        !take(item.substr(0, colon), item.substr(colon + 1), sampling)) {
      return std::nullopt;
    }
    text.remove_prefix(item.size());
    if (text.size() == 1) {
      return std::nullopt;  // the text ends with a comma
    }
    text.remove_prefix(text.empty() ? 0 : 1);
  }
  return sampling;
}

}  // namespace ringside::control
