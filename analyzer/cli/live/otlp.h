// SPDX-License-Identifier: Apache-2.0
//
// This finds where metrics go by the OpenTelemetry protocol (OTLP over HTTP, in JSON): from the
// option, and the variables of OpenTelemetry's "Environment Variable Specification".
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_OTLP_H
#define RINGSIDE_ANALYZER_CLI_LIVE_OTLP_H

#include <chrono>
#include <string>

#include "live/hosts/running_command.h"

namespace ringside::cli {

struct OtlpTarget {
  live::HostCommand command;  ///< curl, which posts its input
  std::chrono::milliseconds timeout{10000};
  std::chrono::milliseconds interval{60000};
  std::string resource;      ///< what sends: labels as live::MetricsPage has them
  bool is_disabled = false;  ///< by OTEL_SDK_DISABLED
};

/// `asked`: a URL, to which /v1/metrics is added if it does not end so, or "env". Sets `error` to
/// what is wrong with it or with a variable.
OtlpTarget otlp_target(const std::string& asked, std::string& error);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_OTLP_H
