// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, the same on every machine and in every locale.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_NUMBERS_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_NUMBERS_H

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace ringside::report {

/// As many decimals as the number has, and an exponent where it needs one.
inline constexpr int kAllDecimals = -1;
/// With exactly that many decimals, never an exponent. What becomes 0 has no sign.
std::string fixed(double value, int decimals);

/// "512 B", "64 KiB", "1.5 MiB": powers of 1024, one decimal where the number is not whole.
std::string human_bytes(std::uint64_t bytes);
/// The same, of a number that may be below 0: "-64 KiB".
std::string signed_bytes(double bytes);

/// "2026-10-02 12:34:56 UTC" of seconds since the epoch.
std::string utc_time(std::int64_t time_s);

/// True if human_bytes() shows two of these sizes alike but for their decimals ("64.0 KiB", "64
/// KiB").
bool look_alike(const std::set<std::uint64_t>& sizes_bytes);

/// "71.2" of percent; a small one is not 0 ("<0.1"), and one that is not finite is "?".
std::string small_percent(double percent);

/// 0 of nothing.
inline double percent_of(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// The text as a sentence begins.
std::string capitalised(std::string text);

/// "p < 1e-9": the probability that chance does that is below it.
std::string chance_text(double chance);

/// "1 file", "2 files".
std::string counted(std::uint64_t count, std::string_view singular, std::string_view plural = {});

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_NUMBERS_H
