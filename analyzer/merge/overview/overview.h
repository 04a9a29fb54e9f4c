// SPDX-License-Identifier: Apache-2.0
//
// The whole job in a small file: a row for each rank and communicator, in which stretches of time
// are slices, named for what the rank mostly did.
#ifndef RINGSIDE_ANALYZER_MERGE_OVERVIEW_OVERVIEW_H
#define RINGSIDE_ANALYZER_MERGE_OVERVIEW_OVERVIEW_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "analyzer/align/alignment.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

/// The work of one rank in one communicator in a stretch of time.
struct OverviewStretch {
  std::uint64_t operations = 0;              // that began in it
  std::int64_t operations_ns = 0;            // their times, added up
  std::int64_t busy_ns = 0;                  // in which one or more ran
  model::NameId in_flight = model::kNoName;  // the function of one that never ended
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = 0;
  std::map<std::uint32_t, std::int64_t> waiting_ns;  // by whom it waited for

  std::int64_t all_waiting_ns() const {
    std::int64_t sum_ns = 0;
    for (const auto& [last, ns] : waiting_ns) {
      sum_ns += ns;
    }
    return sum_ns;
  }
  void add(const OverviewStretch& other) {
    operations += other.operations;
    operations_ns += other.operations_ns;
    busy_ns += other.busy_ns;
    first_ns = std::min(first_ns, other.first_ns);
    last_ns = std::max(last_ns, other.last_ns);
    in_flight = in_flight == model::kNoName ? other.in_flight : in_flight;
    for (const auto& [last, ns] : other.waiting_ns) {
      waiting_ns[last] += ns;
    }
  }
};

class Overview {
 public:
  Overview(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan);

  /// Appends the lines of a process, by its index in the plan, each with ",\n". Returns how many.
  std::uint64_t append(std::size_t process, std::string& output) const;

 private:
  using Stretches = std::map<std::int64_t, OverviewStretch>;  // by number, from 0
  std::map<std::uint32_t, Stretches> stretches_of(const ProcessPlan& process) const;  // by context
  std::string name_of(const OverviewStretch& stretch) const;

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const Plan& plan_;
  std::int64_t begin_ns_ = 0;    // of the first operation
  std::int64_t stretch_ns_ = 1;  // length of each
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_OVERVIEW_OVERVIEW_H
