// SPDX-License-Identifier: Apache-2.0
//
// Evaluates --from and --to for marks and ranges of the application.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/match/selection.h"

namespace ringside::match {
namespace {

using Moments = std::vector<std::pair<std::int64_t, std::int64_t>>;  // from and to, sorted by from

Moments moments_of(const model::Traces& traces, const model::TraceFile& file,
                   std::string_view name) {
  Moments found;
  for (const auto& [number, mark] : file.marks) {
    if (traces.names.text(mark.name) == name) {
      const std::int64_t open_ns =
          mark.is_range ? std::numeric_limits<std::int64_t>::max() : mark.start_ns;
      found.emplace_back(mark.start_ns, mark.end_ns.value_or(open_ns));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string find_moment(const model::Traces& traces, const CommonClock& clock,
                        const NamedMoment& named, bool wants_end,
                        std::optional<std::int64_t>& found_ns) {
  std::size_t most = 0;
  bool is_found = false;
  for (std::uint32_t i = 0; i < traces.files.size(); ++i) {
    const Moments moments = moments_of(traces, traces.files[i], named.name);
    most = std::max(most, moments.size());
    if (moments.size() < named.number) {
      continue;
    }
    is_found = true;
    const auto& [from_ns, to_ns] = moments[named.number - 1];
    const std::int64_t time_ns = wants_end ? to_ns : from_ns;
    if (time_ns == std::numeric_limits<std::int64_t>::max()) {
      continue;  // a range without an end gives no time
    }
    const std::int64_t common_ns = clock.to_common_ns(i, time_ns);
    found_ns = std::min(found_ns.value_or(common_ns), common_ns);
  }
  if (is_found) {
    return {};
  }
  if (most == 0 && named.is_numbered) {  // the number may be a part of the name: "ProfilerStep#20"
    const NamedMoment whole{named.name + '#' + std::to_string(named.number)};
    if (find_moment(traces, clock, whole, wants_end, found_ns).empty()) {
      return {};
    }
  }
  return most == 0 ? "no trace has a mark or range named '" + named.name + "'"
                   : "no process has more than " + std::to_string(most) +
                         " marks or ranges named '" + named.name + "'";
}

}  // namespace

std::optional<NamedMoment> parse_moment(std::string_view text) {
  constexpr std::string_view kStart = "mark:";
  if (!text.starts_with(kStart) || text.size() == kStart.size()) {
    return std::nullopt;
  }
  NamedMoment moment;
  moment.name = text.substr(kStart.size());
  const std::size_t sign = moment.name.rfind('#');
  if (sign == std::string::npos || sign == 0) {
    return moment;
  }
  const char* const end = moment.name.data() + moment.name.size();
  std::uint64_t number = 0;
  const auto [at, error] = std::from_chars(moment.name.data() + sign + 1, end, number);
  if (error == std::errc() && at == end && number > 0) {
    moment.number = number;
    moment.is_numbered = true;
    moment.name.resize(sign);
  }
  return moment;
}

std::string find_moments(const model::Traces& traces, const CommonClock& clock,
                         Selection& selection) {
  std::string trouble;
  if (!selection.from_mark.name.empty()) {
    trouble = find_moment(traces, clock, selection.from_mark, false, selection.from_ns);
  }
  if (trouble.empty() && !selection.to_mark.name.empty()) {
    trouble = find_moment(traces, clock, selection.to_mark, true, selection.to_ns);
  }
  const bool are_exchanged =
      (selection.from_s && selection.to_s && *selection.from_s > *selection.to_s) ||
      (selection.from_ns && selection.to_ns && *selection.from_ns > *selection.to_ns);
  return trouble.empty() && are_exchanged ? "--from is later than --to: exchange them" : trouble;
}

}  // namespace ringside::match
