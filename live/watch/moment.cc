// SPDX-License-Identifier: Apache-2.0
#include "live/watch/moment.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <regex>

namespace ringside::live {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kDay_s = std::int64_t{24} * 3600;

std::optional<std::int64_t> from_now(std::string_view text, std::int64_t now_ns) {
  double seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr double kMost_s = 1e8;  // the caller has a bound of its own
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() ||
      !(seconds >= 0 && seconds <= kMost_s)) {
    return std::nullopt;
  }
  return now_ns + std::llround(seconds * 1e9);
}

// The local midnight before this time, or the one after it.
std::int64_t midnight_s(std::int64_t now_s, int days) {
  const auto now = static_cast<std::time_t>(now_s);
  std::tm parts{};
  localtime_r(&now, &parts);
  parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
  parts.tm_mday += days;
  parts.tm_isdst = -1;
  return std::mktime(&parts);
}

std::int64_t next_time_of_day(std::int64_t time_ns, bool is_utc, std::int64_t now_ns) {
  const std::int64_t now_s = now_ns / kSecond_ns;
  std::int64_t moment_ns = 0;
  for (int day = 0; day < 2; ++day) {
    const std::int64_t begin_s =
        is_utc ? now_s - now_s % kDay_s + day * kDay_s : midnight_s(now_s, day);
    moment_ns = begin_s * kSecond_ns + time_ns;
    if (moment_ns > now_ns) {
      break;
    }
  }
  // Later today was meant, or just after midnight; else it has passed.
  return moment_ns - now_ns <= kDay_s / 2 * kSecond_ns ? moment_ns
                                                       : moment_ns - kDay_s * kSecond_ns;
}

std::optional<std::int64_t> by_the_clock(const std::string& text, std::int64_t now_ns) {
  static const std::regex pattern(
      R"((?:(\d{4})-(\d\d)-(\d\d)[Tt ])?([01]\d|2[0-3]):([0-5]\d):([0-5]\d))"
      R"((?:\.(\d{1,18}))?(?:([Zz])|([+-])([01]\d|2[0-3]):([0-5]\d))?)");
  constexpr int kYear = 1, kMonth = 2, kDay = 3, kHours = 4, kMinutes = 5, kSeconds = 6;
  constexpr int kFraction = 7, kUtc = 8, kSign = 9, kZoneHours = 10, kZoneMinutes = 11;
  std::smatch parts;
  if (!std::regex_match(text, parts, pattern)) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t part) { return std::atoll(parts[part].str().c_str()); };
  const auto fraction = (parts[kFraction].str() + "000000000").substr(0, 9);
  const std::int64_t time_ns =
      ((number(kHours) * 60 + number(kMinutes)) * 60 + number(kSeconds)) * kSecond_ns +
      std::atoll(fraction.c_str());
  const bool has_zone = parts[kUtc].matched || parts[kSign].matched;
  if (!parts[kYear].matched) {
    return parts[kSign].matched
               ? std::nullopt
               : std::optional(next_time_of_day(time_ns, parts[kUtc].matched, now_ns));
  }
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(number(kYear))),
                                         std::chrono::month(static_cast<unsigned>(number(kMonth))),
                                         std::chrono::day(static_cast<unsigned>(number(kDay))));
  constexpr std::int64_t kFirstYear = 1970;
  constexpr std::int64_t kLastYear = 2200;  // nanoseconds since the epoch fit until 2262
  if (!has_zone || !date.ok() || number(kYear) < kFirstYear || number(kYear) > kLastYear) {
    return std::nullopt;
  }
  const std::int64_t offset_s = (number(kZoneHours) * 60 + number(kZoneMinutes)) * 60;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * kDay_s - (parts[kSign] == "-" ? -offset_s : offset_s)) * kSecond_ns + time_ns;
}

}  // namespace

std::optional<std::int64_t> parse_moment(std::string_view text, std::int64_t now_ns,
                                         std::string& error) {
  const auto moment_ns = text.starts_with('+') ? from_now(text.substr(1), now_ns)
                                               : by_the_clock(std::string(text), now_ns);
  constexpr std::int64_t kMostAhead_ns = 30 * kDay_s * kSecond_ns;
  if (!moment_ns) {
    error =
        "must be +SECONDS, HH:MM:SS, or a date and time with a zone such as "
        "2026-10-02T12:34:56Z";
  } else if (*moment_ns <= now_ns) {
    error = "has passed";
  } else if (*moment_ns - now_ns > kMostAhead_ns) {
    error = "is more than 30 days ahead";
  } else {
    return moment_ns;
  }
  return std::nullopt;
}

std::string moment_text(std::int64_t moment_ns) {
  constexpr std::int64_t kMilli_ns = 1'000'000;
  const auto moment_s = static_cast<std::time_t>(moment_ns / kSecond_ns);
  std::tm parts{};
  std::array<char, 64> text{};
  if (moment_ns < 0 || gmtime_r(&moment_s, &parts) == nullptr) {
    return std::to_string(moment_ns) + " ns since the epoch";
  }
  const std::size_t end = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + end, text.size() - end, ".%03dZ",
                static_cast<int>(moment_ns % kSecond_ns / kMilli_ns));
  return text.data();
}

}  // namespace ringside::live
