// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>

namespace ringside::report {

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};  // the longest double has 309 digits before the point
  char* const begin = buffer.data();
  char* const most = begin + buffer.size();
  const char* const end =
      decimals == kAllDecimals
          ? std::to_chars(begin, most, value).ptr
          : std::to_chars(begin, most, value, std::chars_format::fixed, decimals).ptr;
  const std::string_view text(begin, end);
  return std::string(
      text.substr(text.starts_with('-') && text.find_first_not_of("-0.") == text.npos ? 1 : 0));
}

std::string small_percent(double percent) {
  return percent > 0 && percent < 0.05 ? "<0.1" : std::isfinite(percent) ? fixed(percent, 1) : "?";
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                      "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  std::uint64_t divisor = 1;
  while (bytes / divisor >= 1024) {
    divisor *= 1024;
    ++unit;
  }
  const bool is_whole = bytes % divisor == 0;
  const double value = static_cast<double>(bytes) / static_cast<double>(divisor);
  return fixed(value, is_whole ? 0 : 1) + ' ' + std::string(kUnits[unit]);
}

std::string signed_bytes(double bytes) {
  constexpr double kMost = 18446744073709549568.0;  // the greatest double that has 64 bits
  return (bytes < 0 ? "-" : "") +
         human_bytes(static_cast<std::uint64_t>(std::min(std::abs(bytes), kMost)));
}

bool look_alike(const std::set<std::uint64_t>& sizes_bytes) {
  std::set<std::string> texts;
  return std::any_of(sizes_bytes.begin(), sizes_bytes.end(), [&](std::uint64_t bytes) {
    std::string text = human_bytes(bytes);
    if (const std::size_t decimals = text.find(".0 "); decimals != std::string::npos) {
      text.erase(decimals, 2);
    }
    return !texts.insert(text).second;
  });
}

std::string utc_time(std::int64_t time_s) {
  const auto seconds = static_cast<std::time_t>(time_s);
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0) {
    return std::to_string(time_s) + " s since the epoch";
  }
  return text.data();
}

std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) {
    return text.append(singular);
  }
  return plural.empty() ? text.append(singular) + 's' : text.append(plural);
}

std::string chance_text(double chance) {
  constexpr int kLeastExponent = -9;
  constexpr int kLeastPlain = -4;
  if (chance >= 1) {
    return "p = 1";
  }
  // One digit, rounded up: it is below that.
  int exponent = chance > 0 ? static_cast<int>(std::floor(std::log10(chance))) : kLeastExponent - 1;
  if (exponent < kLeastExponent) {
    return "p < 1e" + std::to_string(kLeastExponent);
  }
  int digit = static_cast<int>(chance / std::pow(10, exponent)) + 1;
  if (digit >= 10) {
    digit = 1;
    ++exponent;
  }
  return "p < " + (exponent < kLeastPlain
                       ? std::to_string(digit) + 'e' + std::to_string(exponent)
                       : fixed(digit * std::pow(10, exponent), std::max(0, -exponent)));
}

}  // namespace ringside::report
