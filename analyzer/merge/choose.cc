// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "analyzer/facts/facts.h"
#include "analyzer/match/selection.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/saturating.h"

namespace ringside::merge {
namespace {

std::int64_t time_taken_ns(const facts::OperationFacts& facts) {
  return facts.basis == facts::Basis::kExecution && !facts.is_impossible
             ? subtract_saturating(facts.last_end_ns, facts.first_arrival_ns)
             : -1;
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> span_of(
    const model::Traces& traces, const match::Matches& matches, const align::Alignment& alignment,
    const match::MatchedOperation& operation) {
  std::optional<std::pair<std::int64_t, std::int64_t>> span;
  for (const match::Part& part : match::parts_of(matches, operation)) {
    const model::Operation one = match::operation_of(traces, part);
    for (const auto& time_ns : {one.enqueue_start_ns, one.start_ns, one.end_ns}) {
      if (time_ns) {
        const std::int64_t common_ns = alignment.to_common_ns(part.file, *time_ns);
        span = span ? std::pair(std::min(span->first, common_ns), std::max(span->second, common_ns))
                    : std::pair(common_ns, common_ns);
      }
    }
  }
  return span;
}

void keep_slowest(const model::Traces& traces, const align::Alignment& alignment, std::size_t count,
                  match::Matches& matches) {
  if (matches.operations.size() <= count) {
    return;
  }
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  order.reserve(matches.operations.size());
  const facts::Facts facts(traces, matches, alignment);
  for (std::size_t i = 0; i < matches.operations.size(); ++i) {
    order.emplace_back(-time_taken_ns(facts.operations()[i]), i);
  }
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(order.begin(), end, order.end());
  order.erase(end, order.end());
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  std::size_t kept = 0;
  for (const auto& [negative_ns, i] : order) {
    matches.operations[kept++] = matches.operations[i];
  }
  matches.operations.resize(kept);
}

bool keep_around(const model::Traces& traces, const align::Alignment& alignment,
                 const std::string& text, std::int64_t margin_ns, match::Matches& matches) {
  const std::size_t last = text.rfind(':');
  const std::size_t middle =
      last == std::string::npos || last == 0 ? std::string::npos : text.rfind(':', last - 1);
  if (middle == std::string::npos) {
    return false;
  }
  match::Selection selection;
  selection.communicators.push_back(text.substr(0, middle));
  const std::string function = text.substr(middle + 1, last - middle - 1);
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + last + 1, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return false;
  }
  std::optional<std::pair<std::int64_t, std::int64_t>> around;
  for (const match::MatchedOperation& operation : matches.operations) {
    if (operation.number == number && match::function_name(traces, operation) == function &&
        match::is_chosen(selection, matches.communicators[operation.communicator])) {
      around = span_of(traces, matches, alignment, operation);
      break;
    }
  }
  if (!around) {
    return false;
  }
  const std::int64_t from_ns = subtract_saturating(around->first, margin_ns);
  const std::int64_t to_ns = add_saturating(around->second, margin_ns);
  std::erase_if(matches.operations, [&](const match::MatchedOperation& operation) {
    const auto span = span_of(traces, matches, alignment, operation);
    return !span || span->second < from_ns || span->first > to_ns;
  });
  return true;
}

}  // namespace ringside::merge
