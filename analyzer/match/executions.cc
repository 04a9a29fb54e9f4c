// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/executions.h"

namespace ringside::match {

void Executions::read(const model::Traces& traces, const Matches& matches,
                      std::span<const std::uint32_t> operations) {
  first_.assign(1, 0);
  for (const std::uint32_t operation : operations) {
    first_.push_back(first_.back() + matches.operations[operation].part_count);
  }
  executions_.resize(first_.back());
  visit_rank_by_rank(matches, operations, [&](std::size_t i, std::size_t part) {
    const std::size_t place = matches.operations[operations[i]].first_part + part;
    executions_[first_[i] + part] = execution_of(traces, matches.parts[place]);
  });
}

}  // namespace ringside::match
