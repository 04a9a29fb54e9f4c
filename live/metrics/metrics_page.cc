// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/metrics_page.h"

#include <array>
#include <charconv>

#include "analyzer/model/printable.h"

namespace ringside::live {
namespace {

constexpr std::size_t kMostLabel_bytes = 256;

std::string number(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

std::string label(std::string_view name, std::string_view value) {
  std::string plain = model::printable(value);
  if (plain.size() > kMostLabel_bytes) {
    std::size_t end = kMostLabel_bytes;
    while ((static_cast<unsigned char>(plain[end]) & 0xC0U) == 0x80U) {
      --end;  // not within a letter of UTF-8
    }
    plain.resize(end);
  }
  std::string text(name);
  text += "=\"";
  for (const char letter : plain) {
    text.append(letter == '"' || letter == '\\' ? "\\" : "").append(1, letter);
  }
  return text + '"';
}

void MetricsPage::family(std::string_view name, std::string_view type, std::string_view help,
                         std::string_view unit) {
  const auto [place, is_new] = places_.try_emplace(std::string(name), families_.size());
  at_ = place->second;
  family_ = name;
  is_counter_ = type == "counter";
  if (!is_new) {
    return;
  }
  // OpenMetrics gives the type for the name without "_total", Prometheus for the name with it.
  const std::string named =
      family_ + (is_counter_ && form_ == MetricsForm::kPrometheus ? "_total" : "");
  std::string& head = families_.emplace_back().head;
  head.append("# HELP ").append(named).append(" ").append(help);
  head.append("\n# TYPE ").append(named).append(" ").append(type).append("\n");
  if (form_ == MetricsForm::kOpenMetrics && !unit.empty()) {
    head.append("# UNIT ").append(named).append(" ").append(unit).append("\n");
  }
}

void MetricsPage::line(std::string_view end_of_name, std::string_view labels,
                       std::string_view value) {
  std::string& samples = families_[at_].samples;
  samples.append(family_).append(end_of_name);
  if (!labels.empty()) {
    samples.append("{").append(labels).append("}");
  }
  samples.append(" ").append(value).append("\n");
}

void MetricsPage::sample(std::string_view labels, double value) {
  line(is_counter_ ? "_total" : "", labels, number(value));
}

void MetricsPage::sample(std::string_view labels, std::uint64_t value) {
  line(is_counter_ ? "_total" : "", labels, std::to_string(value));
}

void MetricsPage::buckets(const std::string& labels, const std::vector<double>& bounds,
                          const std::vector<std::uint64_t>& counts) {
  std::uint64_t below = 0;  // the text has the count of all values up to a bound
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    line("_bucket", labels + ',' + label("le", i < bounds.size() ? number(bounds[i]) : "+Inf"),
         std::to_string(below));
  }
  line("_count", labels, std::to_string(below));
}

void MetricsPage::sum(std::string_view labels, double value) {
  line("_sum", labels, number(value));
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
