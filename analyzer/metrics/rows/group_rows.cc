// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/group_rows.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace ringside::metrics {
namespace {

// "group of 2 AllGather, 1 AllReduce".
std::string text_of(const std::map<std::string_view, std::size_t>& functions) {
  std::string text = "group of ";
  for (const auto& [function, count] : functions) {
    text += (text.ends_with("of ") ? "" : ", ") + std::to_string(count) + ' ';
    text += function;
  }
  return text;
}

void add_to(std::optional<double>& sum, const std::optional<double>& value) {
  sum = sum && value ? std::optional(*sum + *value) : std::nullopt;
}

}  // namespace

void GroupRows::add(const std::vector<std::uint32_t>& operations, const std::string& by,
                    std::map<RowKey, RowSums>& sums) {
  const match::Matches& matches = facts_.matches();
  const model::Traces& traces = facts_.traces();
  const match::MatchedOperation& first = matches.operations[operations.front()];
  const match::Communicator& communicator = matches.communicators[first.communicator];
  const bool is_alone = !communicator.why_alone.empty() && communicator.nranks_inferred;
  const std::uint32_t ranks = is_alone ? 1 : communicator.nranks;
  std::map<std::string_view, std::size_t> functions;
  std::uint64_t bytes = 0;
  std::optional<model::TimesFrom> ran_by;
  std::optional<double> algbw = 0;
  std::optional<double> busbw = 0;
  std::optional<double> nominal = 0;
  bool is_inferred = false;
  for (const std::uint32_t index : operations) {
    const std::string_view function = function_of(traces, matches.operations[index]);
    ++functions[function];
    std::optional<std::uint64_t> own_bytes;
    for (const match::Part& part : match::parts_of(matches, matches.operations[index])) {
      const model::Execution one = match::execution_of(traces, part);
      own_bytes = own_bytes ? own_bytes : one.bytes;
      if (facts::ran_to_its_end(one)) {
        ran_by = model::weaker_of(ran_by.value_or(one.times_from), one.times_from);
      }
    }
    if (__builtin_add_overflow(bytes, own_bytes.value_or(0), &bytes)) {
      bytes = std::numeric_limits<std::uint64_t>::max();
    }
    const Bandwidth own = own_bytes ? bandwidth(function, *own_bytes, ranks, 1) : Bandwidth{};
    add_to(algbw, own.algbw_gb_s);
    add_to(busbw, own.busbw_gb_s);
    add_to(nominal, own.nominal_gb_s);
    is_inferred = is_inferred || busbw_depends_on_ranks(function);
  }
  if (!ran_by) {
    return;
  }
  RowSums& collected =
      sums[{first.communicator, true, by, text_of(functions), bytes, {}, {}, {}, *ran_by}];
  Row& row = collected.row;
  const facts::OperationFacts together = facts_.of_group(operations, rows_);
  const auto seen = static_cast<std::uint32_t>(rows_.size());
  row.ranks_seen = row.count == 0 ? seen : std::min(row.ranks_seen, seen);
  row.ranks = communicator.nranks;
  row.ranks_inferred = communicator.nranks_inferred;
  row.busbw_inferred = row.algbw_inferred = row.ranks_inferred && is_inferred;
  row.is_group = true;
  ++row.count;
  ++row.count_scaled;
  collected.of_group = {algbw, busbw, nominal};
  if (together.is_impossible) {
    ++row.excluded;
    return;
  }
  collected.times.add(together, rows_);
  row.on_some_ranks += together.ranks_timed < row.ranks ? 1 : 0;
}

}  // namespace ringside::metrics
