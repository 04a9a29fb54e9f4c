// SPDX-License-Identifier: Apache-2.0
//
// RINGSIDE_METRICS_LISTEN: the live metrics by HTTP. GNU libmicrohttpd, which is loaded when this
// is asked for, serves it on a thread of its own; NCCL's threads never meet it.
#ifndef RINGSIDE_PLUGIN_CONTROL_METRICS_SERVER_H
#define RINGSIDE_PLUGIN_CONTROL_METRICS_SERVER_H

#include <functional>
#include <optional>
#include <string>

#include "plugin/control/listen_address.h"
#include "plugin/export/metrics_text.h"

namespace ringside::control {

class MetricsServer {
 public:
  /// A port that is in use is passed over for the next one, so that the processes of a host can
  /// have the same setting.
  static constexpr int kMostPorts = 64;

  /// Called on the server's thread; nothing if there is no answer in time.
  using Text = std::function<std::optional<std::string>(exporting::MetricsForm)>;

  MetricsServer() = default;
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer() { stop(); }

  /// False, and why() says why, if it cannot be served.
  bool start(const ListenAddress& address, Text text);
  /// Waits for requests under way.
  void stop();
  /// The child of a fork lets the port go. Async-signal-safe.
  static void close_in_child() noexcept;

  /// "127.0.0.1:9400"
  const std::string& address() const { return address_; }
  const std::string& why() const { return why_; }

 private:
  bool listen_at(const ListenAddress& address);

  void* daemon_ = nullptr;
  int socket_ = -1;
  Text text_;
  std::string address_;
  std::string why_;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONTROL_METRICS_SERVER_H
