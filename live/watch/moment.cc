// SPDX-License-Identifier: Apache-2.0
#include "live/watch/moment.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace ringside::live {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kDay_s = std::int64_t{24} * 3600;

// Takes what it reads off the front of the text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }

  bool take(char wanted) {
    const bool is_there = rest_.starts_with(wanted);
    rest_.remove_prefix(is_there ? 1 : 0);
    return is_there;
  }

  bool digits(std::size_t count, std::int64_t& value) {
    if (rest_.size() < count) {
      return false;
    }
    value = 0;
    for (const char digit : rest_.substr(0, count)) {
      if (digit < '0' || digit > '9') {
        return false;
      }
      value = 10 * value + (digit - '0');
    }
    rest_.remove_prefix(count);
    return true;
  }

  /// HH:MM:SS[.FRACTION], as nanoseconds of the day.
  bool time_of_day(std::int64_t& time_ns) {
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    std::int64_t seconds = 0;
    if (!digits(2, hours) || !take(':') || !digits(2, minutes) || !take(':') ||
        !digits(2, seconds) || hours > 23 || minutes > 59 || seconds > 59) {
      return false;
    }
    time_ns = ((hours * 60 + minutes) * 60 + seconds) * kSecond_ns;
    if (!take('.')) {
      return true;
    }
    std::int64_t digit = 0;
    std::int64_t unit_ns = kSecond_ns / 10;
    bool any = false;
    while (digits(1, digit)) {
      time_ns += digit * unit_ns;
      unit_ns /= 10;
      any = true;
    }
    return any;
  }

  bool zone(std::int64_t& offset_s) {
    offset_s = 0;
    if (take('Z') || take('z')) {
      return true;
    }
    const bool is_west = take('-');
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    if ((!is_west && !take('+')) || !digits(2, hours) || !take(':') || !digits(2, minutes) ||
        hours > 23 || minutes > 59) {
      return false;
    }
    offset_s = (hours * 60 + minutes) * 60 * (is_west ? -1 : 1);
    return true;
  }

 private:
  std::string_view rest_;
};

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
  parts.tm_hour = 0;
  parts.tm_min = 0;
  parts.tm_sec = 0;
  parts.tm_mday += days;
  parts.tm_isdst = -1;
  return std::mktime(&parts);
}

std::optional<std::int64_t> next_time_of_day(Reader reader, std::int64_t now_ns) {
  std::int64_t time_ns = 0;
  if (!reader.time_of_day(time_ns)) {
    return std::nullopt;
  }
  const bool is_utc = reader.take('Z') || reader.take('z');
  if (!reader.is_at_end()) {
    return std::nullopt;
  }
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

std::optional<std::int64_t> date_and_time(Reader reader) {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t time_ns = 0;
  std::int64_t offset_s = 0;
  if (!reader.digits(4, year) || !reader.take('-') || !reader.digits(2, month) ||
      !reader.take('-') || !reader.digits(2, day) ||
      !(reader.take('T') || reader.take('t') || reader.take(' ')) || !reader.time_of_day(time_ns) ||
      !reader.zone(offset_s) || !reader.is_at_end()) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  constexpr std::int64_t kFirstYear = 1970;
  constexpr std::int64_t kLastYear = 2200;  // nanoseconds since the epoch fit until 2262
  if (!date.ok() || year < kFirstYear || year > kLastYear) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * kDay_s - offset_s) * kSecond_ns + time_ns;
}

}  // namespace

std::optional<std::int64_t> parse_moment(std::string_view text, std::int64_t now_ns,
                                         std::string& error) {
  std::optional<std::int64_t> moment_ns;
  if (text.starts_with('+')) {
    moment_ns = from_now(text.substr(1), now_ns);
  } else {
    moment_ns = next_time_of_day(Reader(text), now_ns);
    if (!moment_ns) {
      moment_ns = date_and_time(Reader(text));
    }
  }
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
