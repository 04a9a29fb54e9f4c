// SPDX-License-Identifier: Apache-2.0
//
// Metrics by HTTP.
#include "live/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "test/unit/catch.h"

using namespace ringside;
using live::ListenAddress;
using live::MetricsForm;
using live::MetricsServer;
using live::parse_listen_address;

namespace {

// A socket, and whether it is connected.
std::pair<int, bool> connected(const std::string& address) {
  const auto parsed = live::parse_listen_address(address);
  REQUIRE(parsed);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(parsed->port);
  inet_pton(AF_INET, parsed->host.c_str(), &to.sin_addr);
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(connection >= 0);
  return {connection, connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0};
}

// The reply to a request; empty if nobody is there.
std::string asked(const std::string& address, const std::string& request) {
  const auto [connection, is_connected] = connected(address);
  std::string answer;
  if (is_connected) {
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

TEST_CASE("connections that do not finish give way to new ones, and those that wait do not") {
  MetricsServer server;
  std::atomic<bool> is_slow = true;
  std::atomic<bool> has_begun = false;
  const auto text = [&](MetricsForm form) -> std::string {
    while (form == MetricsForm::kOpenMetrics && is_slow) {
      has_begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return "text\n";
  };
  if (!server.start(ListenAddress{"127.0.0.1", 0}, text)) {
    WARN("not tested: " << server.why());
    return;
  }
  std::thread slow([&] {
    CHECK(asked(server.address(),
                "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\nX:")
              .ends_with("text\n"));
  });
  while (!has_begun) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::vector<int> halves;
  const auto add_half = [&] {
    const auto [half, is_connected] = connected(server.address());
    REQUIRE(is_connected);
    constexpr std::string_view kHalf = "GET /metrics HTTP/1.1\r\nX: ";
    REQUIRE(send(half, kHalf.data(), kHalf.size(), MSG_NOSIGNAL) > 0);
    halves.push_back(half);
  };
  const auto is_open = [](int half) {
    char byte = 0;
    return recv(half, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  };
  for (std::size_t i = 0; i + 1 < MetricsServer::kMostConnections; ++i) {
    add_half();
  }
  CHECK(asked(server.address(), "GET /metrics").ends_with("text\n"));
  char byte = 0;
  CHECK(recv(halves[0], &byte, 1, 0) <= 0);  // the oldest has made room, and no other
  CHECK(is_open(halves[1]));
  for (int i = 0; i < 20; ++i) {
    add_half();
  }
  CHECK(asked(server.address(), "GET /metrics").ends_with("text\n"));
  CHECK(is_open(halves.back()));
  is_slow = false;
  slow.join();  // it has got its answer
  for (const int half : halves) {
    close(half);
  }
}

TEST_CASE("an address that is not ours cannot be listened at") {
  MetricsServer server;
  CHECK_FALSE(server.start(ListenAddress{"192.0.2.1", 1}, {}));
  CHECK_FALSE(server.why().empty());
}
