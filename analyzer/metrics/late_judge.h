// SPDX-License-Identifier: Apache-2.0
//
// Finds the ranks and hosts that cost more than chance makes them cost.
#ifndef RINGSIDE_ANALYZER_METRICS_LATE_JUDGE_H
#define RINGSIDE_ANALYZER_METRICS_LATE_JUDGE_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/metrics/late_costs.h"

namespace ringside::metrics {

/// Sets `is_straggler` and `chance` of ranks and hosts, whose costs are known.
class LateJudge {
 public:
  explicit LateJudge(LateCosts& costs);

  void judge();

 private:
  using Among = ChargeBlocks::Among;
  using Manner = ChargeBlocks::Manner;

  bool is_enough(const Lateness& facts) const;
  double level_of(Among among, Manner manner, bool has_together) const;
  ExchangeResult test(std::uint32_t family, Among among, Manner manner, double level,
                      const std::vector<bool>& is_eligible) const;
  bool test_ranks(std::uint32_t family, Among among);
  bool note(const ExchangeResult& result, double level, Among among, Manner manner);
  bool test_together(std::uint32_t family, const ExchangeResult& alone,
                     const std::vector<bool>& is_eligible);
  bool test_capped(std::uint32_t family, const std::vector<bool>& is_eligible);
  bool test_roots(std::uint32_t family, std::vector<bool> is_eligible);
  std::vector<std::uint32_t> take_back_members();
  bool test_hosts(std::uint32_t family);

  LateCosts& costs_;
  std::vector<Suspect>& ranks_;
  std::vector<Suspect>& hosts_;
  std::vector<bool> is_found_;         // by rank: not compared with the others any more
  std::vector<bool> is_late_in_host_;  // by rank: beside the others of its host
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_LATE_JUDGE_H
