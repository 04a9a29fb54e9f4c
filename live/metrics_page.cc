// SPDX-License-Identifier: Apache-2.0
#include "live/metrics_page.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ringside::live {

bool MetricsPage::begin(std::string_view name) {
  const auto [place, is_new] = places_.try_emplace(std::string(name), families_.size());
  if (is_new) {
    families_.emplace_back();
  }
  at_ = place->second;
  return is_new;
}

void MetricsPage::add(std::string_view text) {
  constexpr std::string_view kHelp = "# HELP ";
  bool has_family = false;
  bool is_new = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (line.starts_with(kHelp)) {
      const std::string_view rest = line.substr(kHelp.size());
      is_new = begin(rest.substr(0, rest.find_first_of(" \n")));
      has_family = true;
    }
    const bool is_end = line.starts_with("# EOF") || !line.ends_with('\n');
    if (!has_family || is_end || (line.starts_with('#') && !is_new)) {
      continue;
    }
    (line.starts_with('#') ? families_[at_].head : families_[at_].samples) += line;
  }
}

void MetricsPage::family(std::string_view name, std::string_view type, std::string_view help) {
  sample_ = std::string(name) + (type == "counter" ? "_total" : "");
  const std::string named = form_ == MetricsForm::kOpenMetrics ? std::string(name) : sample_;
  if (begin(named)) {
    families_[at_].head = "# HELP " + named + " " + std::string(help) + "\n# TYPE " + named + " " +
                          std::string(type) + "\n";
  }
}

void MetricsPage::sample(std::string_view labels, double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string& samples = families_[at_].samples;
  samples += sample_;
  if (!labels.empty()) {
    samples.append("{").append(labels).append("}");
  }
  samples.append(" ").append(digits.data(), end.ptr).append("\n");
}

std::string MetricsPage::text() const {
  std::string made;
  for (const Family& family : families_) {
    made += family.head;
    made += family.samples;
  }
  return form_ == MetricsForm::kOpenMetrics ? made + "# EOF\n" : made;
}

}  // namespace ringside::live
