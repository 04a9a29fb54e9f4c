// SPDX-License-Identifier: Apache-2.0
#include "scenarios.h"

#include <map>
#include <stdexcept>

namespace ranks {

Scenario scenario_named(const std::string& name) {
  static const std::map<std::string, Scenario> scenarios{
      {"mix", run_mix},
      {"broadcasts", run_broadcasts},
      {"burst", run_burst},
      {"graph", run_graph},
      {"sweep", run_sweep},
      {"windows", run_windows},
      {"train",
       [](Rank& rank) {
         for (int i = 0; i < rank.options().iterations; ++i) run_train(rank);
       }},
  };
  const auto found = scenarios.find(name);
  if (found == scenarios.end()) throw std::invalid_argument("unknown scenario " + name);
  return found->second;
}

}  // namespace ranks
