// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/metrics_page.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "analyzer/model/printable.h"

namespace ringside::live {
namespace {

constexpr std::size_t kMostLabel_bytes = 256;

std::string number(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// label() has escaped a value as JSON does.
std::string otlp_attributes(std::string_view labels) {
  std::string text = "[";
  while (!labels.empty()) {
    const std::size_t begin = labels.find('"') + 1;
    std::size_t end = begin;
    while (labels[end] != '"') {
      end += labels[end] == '\\' ? 2 : 1;
    }
    text.append(text.size() > 1 ? "," : "").append(R"({"key":")");
    text.append(labels.substr(0, begin - 2)).append(R"(","value":{"stringValue":")");
    text.append(labels.substr(begin, end - begin)).append("\"}}");
    labels.remove_prefix(std::min(end + 2, labels.size()));  // with the comma
  }
  return text + ']';
}

// Their names in OpenTelemetry are those of UCUM.
std::string_view otlp_unit(std::string_view unit) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kUnits = {
      {{"seconds", "s"}, {"bytes", "By"}, {"bytes_per_second", "By/s"}}};
  const auto* const found =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& one) { return one[0] == unit; });
  return found == kUnits.end() ? "1" : (*found)[1];
}

template <typename T, typename Text>
std::string json_array(const std::vector<T>& values, const Text& text) {
  std::string made = "[";
  for (const T& value : values) {
    made.append(made.size() > 1 ? "," : "").append(text(value));
  }
  return made + ']';
}

std::string quoted(std::uint64_t number) {
  return '"' + std::to_string(number) + '"';  // as JSON of protobuf has 64 bits
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
  if (form_ == MetricsForm::kOtlp) {
    families_.emplace_back().head = otlp_head(type, help, unit);
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

std::string MetricsPage::otlp_head(std::string_view type, std::string_view help,
                                   std::string_view unit) const {
  constexpr const char* kCumulative = "2";
  std::string head = R"({"name":")" + family_ + R"(","description":")" + std::string(help);
  head.append(R"(","unit":")").append(otlp_unit(unit)).append("\",");
  const std::string total = std::string(R"("aggregationTemporality":)") + kCumulative + ',';
  head += is_counter_           ? R"("sum":{"isMonotonic":true,)" + total
          : type == "histogram" ? R"("histogram":{)" + total
                                : R"("gauge":{)";
  return head + R"("dataPoints":[)";
}

void MetricsPage::point(std::string_view labels, std::string_view members) {
  std::string& samples = families_[at_].samples;
  samples.append(samples.empty() ? "" : ",").append(R"({"timeUnixNano":")").append(now_);
  samples.append(R"(","attributes":)").append(otlp_attributes(labels));
  samples.append(",").append(members).append("}");
}

void MetricsPage::sample(std::string_view labels, double value) {
  if (form_ == MetricsForm::kOtlp) {
    return point(labels, R"("asDouble":)" + number(value));
  }
  line(is_counter_ ? "_total" : "", labels, number(value));
}

void MetricsPage::sample(std::string_view labels, std::uint64_t value) {
  if (form_ == MetricsForm::kOtlp) {
    return point(labels, R"("asInt":)" + quoted(value));
  }
  line(is_counter_ ? "_total" : "", labels, std::to_string(value));
}

void MetricsPage::buckets(const std::string& labels, const std::vector<double>& bounds,
                          const std::vector<std::uint64_t>& counts, std::optional<double> sum) {
  if (form_ == MetricsForm::kOtlp) {
    const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    return point(labels, R"("count":)" + quoted(all) + R"(,"explicitBounds":)" +
                             json_array(bounds, number) + R"(,"bucketCounts":)" +
                             json_array(counts, quoted) + (sum ? R"(,"sum":)" + number(*sum) : ""));
  }
  std::uint64_t below = 0;  // the text has the count of all values up to a bound
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    line("_bucket", labels + ',' + label("le", i < bounds.size() ? number(bounds[i]) : "+Inf"),
         std::to_string(below));
  }
  line("_count", labels, std::to_string(below));
  if (sum) {
    line("_sum", labels, number(*sum));
  }
}

std::string MetricsPage::text() const {
  std::string made;
  if (form_ == MetricsForm::kOtlp) {
    made = R"({"resourceMetrics":[{"resource":{"attributes":)" + otlp_attributes(resource_) +
           R"(},"scopeMetrics":[{"scope":{"name":"ringside","version":")" RINGSIDE_VERSION
           R"("},"metrics":)";
    return made +
           json_array(families_, [](const Family& of) { return of.head + of.samples + "]}}"; }) +
           "}]}]}";
  }
  for (const Family& family : families_) {
    made += family.head;
    made += family.samples;
  }
  return form_ == MetricsForm::kOpenMetrics ? made + "# EOF\n" : made;
}

}  // namespace ringside::live
