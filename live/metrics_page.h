// SPDX-License-Identifier: Apache-2.0
//
// Texts of metrics of several processes as one: each family of metrics once, with the samples of
// all.
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

class MetricsPage {
 public:
  explicit MetricsPage(MetricsForm form) : form_(form) {}

  /// A whole text of one process, in the page's form. Lines before its first family are left out.
  void add(std::string_view text);
  /// Begins a family, or goes on with it. `name` as OpenMetrics has it: a counter's is without
  /// "_total".
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// A sample of the family that was begun last. `labels` as they stand between the braces.
  void sample(std::string_view labels, double value);

  std::string text() const;

 private:
  struct Family {
    std::string head;
    std::string samples;
  };
  /// By the name that its HELP has. True: it is new.
  bool begin(std::string_view name);

  MetricsForm form_;
  std::vector<Family> families_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::size_t at_ = 0;  ///< in families_
  std::string sample_;  ///< the name of the samples of a family begun by family()
};

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_METRICS_PAGE_H
