// SPDX-License-Identifier: Apache-2.0
//
// Metrics by HTTP.
#include "live/metrics_server.h"

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "test/unit/catch.h"

using namespace ringside;
using live::ListenAddress;
using live::MetricsForm;
using live::MetricsServer;
using live::parse_listen_address;

namespace {

// The reply to a request; empty if nobody is there.
std::string asked(const std::string& address, const std::string& request) {
  const auto parsed = live::parse_listen_address(address);
  REQUIRE(parsed);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(parsed->port);
  inet_pton(AF_INET, parsed->host.c_str(), &to.sin_addr);
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(connection >= 0);
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const std::string sent = request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    CHECK(send(connection, sent.data(), sent.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(sent.size()));
    char piece[4096];
    for (ssize_t got = 0; (got = recv(connection, piece, sizeof piece, 0)) > 0;) {
      answer.append(piece, static_cast<std::size_t>(got));
    }
  }
  close(connection);
  return answer;
}

}  // namespace

TEST_CASE("addresses to listen at") {
  CHECK(parse_listen_address("9401")->port == 9401);
  CHECK(parse_listen_address("9401")->host == "127.0.0.1");
  CHECK(parse_listen_address("0.0.0.0:0")->host == "0.0.0.0");
  for (const char* wrong : {"", ":", "x", "70000", "-1", "9401x", "host:9401", "1.2.3.4:", ":9401",
                            "[::1]:9401", "1.2.3.4:5:6"}) {
    INFO(wrong);
    CHECK_FALSE(parse_listen_address(wrong));
  }
}

TEST_CASE("metrics by HTTP") {
  MetricsServer server;
  std::atomic<bool> is_slow = false;
  const auto text = [&](MetricsForm form) -> std::string {
    if (form == MetricsForm::kOpenMetrics && is_slow) {
      while (is_slow) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    return form == MetricsForm::kOpenMetrics ? "open\n" : "plain\n";
  };
  if (!server.start(ListenAddress{"127.0.0.1", 0}, text)) {
    WARN("not tested: " << server.why());
    return;
  }
  const std::string plain = asked(server.address(), "GET /metrics");
  CHECK(plain.starts_with("HTTP/1.1 200"));
  CHECK(plain.ends_with("\r\n\r\nplain\n"));
  CHECK(plain.find("text/plain; version=0.0.4") != std::string::npos);
  const std::string open_request =
      "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\nX:";
  CHECK(asked(server.address(), open_request).ends_with("open\n"));
  CHECK(asked(server.address(), "GET /").starts_with("HTTP/1.1 404"));
  CHECK(asked(server.address(), "DELETE /metrics").starts_with("HTTP/1.1 405"));

  // One that takes long keeps no other waiting.
  is_slow = true;
  std::thread slow([&] { CHECK(asked(server.address(), open_request).ends_with("open\n")); });
  CHECK(asked(server.address(), "GET /metrics").ends_with("plain\n"));
  is_slow = false;
  slow.join();

  MetricsServer second;
  CHECK_FALSE(second.start(*parse_listen_address(server.address()), text));
  CHECK(second.why() == "Address already in use");
  const std::string address = server.address();
  server.stop();
  CHECK(asked(address, "GET /metrics").empty());
}

TEST_CASE("an address that is not ours cannot be listened at") {
  MetricsServer server;
  CHECK_FALSE(server.start(ListenAddress{"192.0.2.1", 1}, {}));
  CHECK_FALSE(server.why().empty());
}
