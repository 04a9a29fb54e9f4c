// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/machine_rules.h"

#include <algorithm>
#include <string>

#include "plugin/topology/machine.h"
#include "ringside/trace_schema.h"

namespace ringside::lint {
namespace {

template <typename Names>
void check_name(const Event& event, const simdjson::dom::object& object, std::string_view key,
                const Names& names, Findings& findings) {
  const std::string_view name = text_at(object, key);
  if (has(object, key) &&
      (name.empty() || std::find(names.begin(), names.end(), name) == names.end())) {
    findings.add(event.line, Rule::kMetadataKeys,
                 "args." + std::string(key) + " is none of its names");
  }
}

// A number is a count, and one above 2^53 is "0x...".
void check_count(const Event& event, std::string_view key, const simdjson::dom::element& value,
                 Findings& findings) {
  std::int64_t number = 0;
  std::string_view text;
  if (value.get(number) == simdjson::SUCCESS
          ? number < 0
          : value.get(text) != simdjson::SUCCESS || !text.starts_with("0x")) {
    findings.add(event.line, Rule::kMetadataKeys, std::string(key) + " is not a count");
  }
}

void check_links(const Event& event, Findings& findings) {
  simdjson::dom::array links;
  if ((*event.arguments)["links"].get(links) != simdjson::SUCCESS) {
    findings.add(event.line, Rule::kMetadataKeys, "args.links is not an array");
    return;
  }
  for (const simdjson::dom::element element : links) {
    simdjson::dom::object link;
    if (element.get(link) != simdjson::SUCCESS || !has(link, "link")) {
      findings.add(event.line, Rule::kMetadataKeys, "a link without its number");
      continue;
    }
    check_name(event, link, "remote", topology::kRemoteNames, findings);
    for (const std::string_view counter : topology::kLinkCounterNames) {
      if (has(link, counter)) {
        check_count(event, counter, link[counter].value_unsafe(), findings);
      }
    }
  }
}

}  // namespace

void check_machine(const Event& event, Findings& findings) {
  if (event.name == schema::kLineTopology) {
    check_name(event, *event.arguments, "state", topology::kStateNames, findings);
  } else if (event.name == schema::kLineGpu) {
    check_links(event, findings);
  } else if (event.name == schema::kLinePort) {
    simdjson::dom::object counters;
    if ((*event.arguments)["counters"].get(counters) != simdjson::SUCCESS) {
      findings.add(event.line, Rule::kMetadataKeys, "args.counters is not an object");
      return;
    }
    for (const auto& field : counters) {
      check_count(event, field.key, field.value, findings);
    }
  }
}

}  // namespace ringside::lint
