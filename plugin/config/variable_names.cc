// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/variable_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "plugin/config/nearest_name.h"
#include "plugin/config/variables.h"

namespace ringside::config {
namespace {

constexpr std::string_view kPrefix = "RINGSIDE_";

constexpr std::array<std::string_view, 3> kOwn = {"RINGSIDE_LAUNCH", "RINGSIDE_HANG_DUMP",
                                                  "RINGSIDE_HANG_PID"};
constexpr std::array<std::string_view, 2> kOfTests = {"RINGSIDE_TEST_", "RINGSIDE_BENCH_"};

// Kubernetes sets such variables in each pod for a service whose name begins with "ringside".
bool is_of_kubernetes(std::string_view name) {
  return name.ends_with("_SERVICE_HOST") || name.ends_with("_PORT") ||
         name.find("_SERVICE_PORT") != std::string_view::npos ||
         name.find("_PORT_") != std::string_view::npos;
}

std::string_view nearest_to(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Variable& variable : variables()) {
    names.push_back(variable.name);
  }
  return nearest_name(name, names, kPrefix.size());
}

bool is_known(std::string_view name) {
  const auto& table = variables();
  return std::any_of(table.begin(), table.end(),
                     [&](const Variable& variable) { return variable.name == name; }) ||
         std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end() ||
         std::any_of(kOfTests.begin(), kOfTests.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         is_of_kubernetes(name);
}

std::string sentence_on(const std::string& name) {
  const std::string nearest(nearest_to(name));
  return name + " is not a variable of Ringside; " +
         (nearest.empty() ? "docs/environment.md has their names"
                          : "did you mean " + nearest + "?");
}

}  // namespace

std::vector<std::string> trouble_with_names(const std::vector<std::string>& names) {
  std::vector<std::string> sentences;
  for (const std::string& text : names) {
    // This bounds the time of the search for the nearest name.
    constexpr std::size_t kMostName = 100;
    const std::string name = text.substr(0, std::min(text.find('='), kMostName));
    if (name.starts_with(kPrefix) && !is_known(name)) {
      sentences.push_back(sentence_on(name));
    }
  }
  std::sort(sentences.begin(), sentences.end());
  sentences.erase(std::unique(sentences.begin(), sentences.end()), sentences.end());
  return sentences;
}

}  // namespace ringside::config
