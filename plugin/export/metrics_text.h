// SPDX-License-Identifier: Apache-2.0
//
// The live metrics of one process as text, in Prometheus' own form or as OpenMetrics 1.0. `ringside
// exporter` joins the texts of a host's processes. docs/live-metrics.md lists the metrics and must
// change together with this code.
#ifndef RINGSIDE_PLUGIN_EXPORT_METRICS_TEXT_H
#define RINGSIDE_PLUGIN_EXPORT_METRICS_TEXT_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugin/assemble/in_flight.h"
#include "plugin/assemble/rows.h"
#include "plugin/export/account.h"
#include "plugin/export/live_metrics.h"
#include "plugin/export/process_facts.h"

namespace ringside::exporting {

enum class MetricsForm : std::uint8_t { kPrometheus, kOpenMetrics };

/// Facts of the process that the text has beside the sums.
struct MetricsFacts {
  ProcessFacts process;
  Account account;
  std::map<std::uint32_t, assemble::InFlightTotal> in_flight;  ///< by context
  std::vector<assemble::InFlight> oldest;  ///< the first operation in flight of each communicator
  std::int64_t now_ns = 0;
  double realtime_s = 0;
  double drain_cpu_s = 0;
  std::uint64_t trace_bytes = 0;
  std::uint64_t ring_bytes = 0;
  bool recording = false;
};

/// Makes the text. `communicators` is keyed by context, as Assembler::communicators().
std::string metrics_text(MetricsForm form, const LiveMetrics& metrics,
                         const std::vector<assemble::Communicator>& communicators,
                         const MetricsFacts& facts);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_METRICS_TEXT_H
