// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_FLOW_RULES_H
#define RINGSIDE_ANALYZER_LINT_FLOW_RULES_H

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks the arrows: each bind_id has exactly one flow_out and one flow_in.
class FlowRules {
 public:
  void take(const Event& event, Findings& findings);
  void finish(bool is_closed, Findings& findings);

 private:
  struct Flow {
    std::uint64_t out_line = 0;  // 0: none
    std::uint64_t in_line = 0;
  };

  static void take_end(std::uint64_t line, std::uint64_t& known, const char* what,
                       Findings& findings);

  std::map<std::string, Flow, std::less<>> flows_;
};

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_FLOW_RULES_H
