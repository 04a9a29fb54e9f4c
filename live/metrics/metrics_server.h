// SPDX-License-Identifier: Apache-2.0
//
// Metrics by HTTP. GNU libmicrohttpd, which is loaded when a server starts, answers each connection
// on a thread of its own, so that one that takes long keeps no other waiting. If too many are open,
// the one that has kept the server waiting for longest is ended.
#ifndef RINGSIDE_ANALYZER_LIVE_METRICS_SERVER_H
#define RINGSIDE_ANALYZER_LIVE_METRICS_SERVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "live/metrics/metrics_page.h"

namespace ringside::live {

struct ListenAddress {
  std::string host = "127.0.0.1";  ///< IPv4, in numbers
  std::uint16_t port = 0;          ///< 0: any that is free
};

/// "[HOST:]PORT"; nothing if it is anything else.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

class MetricsServer {
 public:
  /// Called on a thread of the server's for each request of /metrics, several at a time.
  using Text = std::function<std::string(MetricsForm)>;

  /// Connections at a time.
  static constexpr std::size_t kMostConnections = 256;

  MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();

  /// False, and why() says why, if it cannot be served.
  bool start(const ListenAddress& address, Text text);
  /// Waits for requests under way.
  void stop();

  /// "127.0.0.1:9401"
  const std::string& address() const { return address_; }
  const std::string& why() const { return why_; }

 private:
  struct Served;

  bool listen_at(const ListenAddress& address);

  void* daemon_ = nullptr;
  int socket_ = -1;
  std::unique_ptr<Served> served_;
  std::string address_;
  std::string why_;
};

}  // namespace ringside::live

#endif  // RINGSIDE_ANALYZER_LIVE_METRICS_SERVER_H
