// SPDX-License-Identifier: Apache-2.0
//
// A page of metrics: each family of metrics once, with its samples. Whatever texts labels have, the
// page is one that Prometheus takes, or a collector of OpenTelemetry.
#ifndef RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H
#define RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::live {

/// Prometheus' text format 0.0.4, OpenMetrics 1.0, or an ExportMetricsServiceRequest of the
/// OpenTelemetry protocol 1.x in JSON.
enum class MetricsForm : std::uint8_t { kPrometheus, kOpenMetrics, kOtlp };

/// name="value". The value may be anybody's: it is made printable, cut at 256 bytes, and escaped.
std::string label(std::string_view name, std::string_view value);

class MetricsPage {
 public:
  /// `now_ns` since the epoch, and `resource`, label() with commas between them, are of kOtlp only.
  explicit MetricsPage(MetricsForm form, std::uint64_t now_ns = 0, std::string_view resource = {})
      : form_(form), now_(std::to_string(now_ns)), resource_(resource) {}

  /// Begins a family, or goes on with it. `name` as OpenMetrics has it: a counter's is without
  /// "_total". A unit is the end of the name.
  void family(std::string_view name, std::string_view type, std::string_view help,
              std::string_view unit = {});
  // Samples of the family that was begun last. `labels`: label() with commas between them.
  void sample(std::string_view labels, double value);
  void sample(std::string_view labels, std::uint64_t value);
  /// The buckets of a histogram and their count. `counts` has the count of each bucket; the last
  /// one has no bound. `sum` is that of the values, if it has a meaning.
  void buckets(const std::string& labels, const std::vector<double>& bounds,
               const std::vector<std::uint64_t>& counts, std::optional<double> sum);

  std::string text() const;

 private:
  struct Family {
    std::string head;
    std::string samples;
  };
  void line(std::string_view end_of_name, std::string_view labels, std::string_view value);
  void point(std::string_view labels, std::string_view members);
  std::string otlp_head(std::string_view type, std::string_view help, std::string_view unit) const;

  MetricsForm form_;
  std::string now_;
  std::string resource_;
  std::vector<Family> families_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::size_t at_ = 0;  ///< in families_
  std::string family_;  ///< the name of the one there
  bool is_counter_ = false;
};

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H
