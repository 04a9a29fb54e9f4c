// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/account_rules.h"

#include <string>

#include "ringside/trace_schema.h"

namespace ringside::lint {

void check_account(const Event& event, Findings& findings) {
  if (event.phase != "M" || event.name != schema::kLineAccount || !event.arguments) {
    return;
  }
  simdjson::dom::object types;
  if ((*event.arguments)["by_type"].get_object().get(types) != simdjson::SUCCESS) {
    return;
  }
  for (const auto& type : types) {
    simdjson::dom::object counts;
    std::uint64_t produced = 0;
    std::uint64_t sum = 0;
    bool are_numbers = type.value.get_object().get(counts) == simdjson::SUCCESS;
    // One that holds nothing must not be walked: simdjson follows its NULL.
    if (are_numbers) {
      for (const auto& count : counts) {
        std::uint64_t value = 0;
        are_numbers = count.value.get_uint64().get(value) == simdjson::SUCCESS && are_numbers;
        (count.key == "produced" ? produced : sum) += value;
      }
    }
    if (!are_numbers) {
      findings.add(event.line, Rule::kAccountSum,
                   std::string(type.key) + " is not an object of integers");
    } else if (produced != sum) {
      findings.add(event.line, Rule::kAccountSum,
                   std::string(type.key) + ": produced is " + std::to_string(produced) +
                       ", all else adds up to " + std::to_string(sum));
    }
  }
}

bool has_lost_lines(const Event& event) {
  simdjson::dom::object types;
  if ((*event.arguments)["by_type"].get_object().get(types) != simdjson::SUCCESS) {
    return false;
  }
  for (const auto& type : types) {
    simdjson::dom::object counts;
    if (type.value.get_object().get(counts) != simdjson::SUCCESS) {
      continue;
    }
    for (const char* reason : {"dropped_write", "dropped_memory", "dropped_kill"}) {
      if (integer_at(counts, reason).value_or(0) > 0) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace ringside::lint
