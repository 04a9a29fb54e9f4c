// SPDX-License-Identifier: Apache-2.0
//
// A page of metrics: each family of metrics once, with its samples. Whatever texts labels have, the
// page is one that Prometheus takes.
#ifndef RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H
#define RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::live {

/// Prometheus' text format 0.0.4, or OpenMetrics 1.0.
enum class MetricsForm : std::uint8_t { kPrometheus, kOpenMetrics };

/// name="value". The value may be anybody's: it is made printable, cut at 256 bytes, and escaped.
std::string label(std::string_view name, std::string_view value);

class MetricsPage {
 public:
  explicit MetricsPage(MetricsForm form) : form_(form) {}

  /// Begins a family, or goes on with it. `name` as OpenMetrics has it: a counter's is without
  /// "_total". A unit is the end of the name.
  void family(std::string_view name, std::string_view type, std::string_view help,
              std::string_view unit = {});
  // Samples of the family that was begun last. `labels`: label() with commas between them.
  void sample(std::string_view labels, double value);
  void sample(std::string_view labels, std::uint64_t value);
  /// The buckets of a histogram and their count. `counts` has the count of each bucket; the last
  /// one has no bound.
  void buckets(const std::string& labels, const std::vector<double>& bounds,
               const std::vector<std::uint64_t>& counts);
  void sum(std::string_view labels, double value);

  std::string text() const;

 private:
  struct Family {
    std::string head;
    std::string samples;
  };
  void line(std::string_view end_of_name, std::string_view labels, std::string_view value);

  MetricsForm form_;
  std::vector<Family> families_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::size_t at_ = 0;  ///< in families_
  std::string family_;  ///< the name of the one there
  bool is_counter_ = false;
};

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H
