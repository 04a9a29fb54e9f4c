// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/variable_names.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "plugin/config/variables.h"

namespace ringside::control {
namespace {

constexpr std::string_view kPrefix = "RINGSIDE_";

constexpr std::array<std::string_view, 3> kOwn = {"RINGSIDE_LAUNCH", "RINGSIDE_HANG_DUMP",
                                                  "RINGSIDE_HANG_PID"};
constexpr std::array<std::string_view, 2> kOfTests = {"RINGSIDE_TEST_", "RINGSIDE_BENCH_"};

constexpr char kExporter[] =
    "has no effect any more: `ringside exporter` serves the metrics of all processes of a host";
constexpr std::array<std::pair<std::string_view, const char*>, 3> kRetired = {
    {{"RINGSIDE_METRICS_DIR", kExporter},
     {"RINGSIDE_METRICS_LISTEN", kExporter},
     {"RINGSIDE_METRICS_SECONDS", kExporter}}};

// Kubernetes sets such variables in each pod for a service whose name begins with "ringside".
bool is_of_kubernetes(std::string_view name) {
  return name.ends_with("_SERVICE_HOST") || name.ends_with("_PORT") ||
         name.find("_SERVICE_PORT") != std::string_view::npos ||
         name.find("_PORT_") != std::string_view::npos;
}

// Letters to insert, delete, replace, or swap with their neighbour to get from one name to the
// other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::vector<std::size_t> next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_same = a[i - 1] == b[j - 1];
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (is_same ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    std::swap(before, row);
    std::swap(row, next);
  }
  return row[b.size()];
}

std::string nearest_to(std::string_view name) {
  std::string_view nearest;
  std::size_t least = (name.size() - kPrefix.size()) / 3 + 2;
  for (const Variable& variable : variables()) {
    if (const std::size_t apart = distance(name, variable.name); apart < least) {
      least = apart;
      nearest = variable.name;
    }
  }
  return std::string(nearest);
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
  for (const auto& [retired, what] : kRetired) {
    if (name == retired) {
      return name + " " + what;
    }
  }
  const std::string nearest = nearest_to(name);
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

}  // namespace ringside::control
