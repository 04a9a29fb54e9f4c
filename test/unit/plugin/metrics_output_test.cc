// SPDX-License-Identifier: Apache-2.0
//
// The metrics as a file, and by HTTP.
#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/control/metrics_file.h"
#include "plugin/control/metrics_server.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using control::ListenAddress;
using control::MetricsFile;
using control::MetricsServer;

namespace {

// What comes back for a request; empty if nobody is there.
std::string asked(const std::string& address, const std::string& request) {
  const auto parsed = control::parse_listen_address(address);
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
  using control::parse_listen_address;
  CHECK(parse_listen_address("9401")->port == 9401);
  CHECK(parse_listen_address("9401")->host == "127.0.0.1");
  CHECK(parse_listen_address("0.0.0.0:0")->host == "0.0.0.0");
  for (const char* wrong : {"", ":", "x", "70000", "-1", "9401x", "host:9401", "1.2.3.4:", ":9401",
                            "[::1]:9401", "1.2.3.4:5:6"}) {
    INFO(wrong);
    CHECK_FALSE(parse_listen_address(wrong));
  }
}

TEST_CASE("a file of metrics is replaced, readable for others, and removed at the end") {
  const Directory directory;
  const std::string place = directory.file("");
  MetricsFile file(place, "ringside.x", 15);
  CHECK(file.is_due(0));
  CHECK_FALSE(file.is_due(14'999'999'999));
  CHECK(file.is_due(15'000'000'000));
  REQUIRE(file.write("one\n") == 0);
  REQUIRE(file.write("two\n") == 0);
  CHECK(content(directory.file("ringside.x.prom")) == "two\n");
  struct stat found {};
  REQUIRE(stat(file.path().c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0644);
  CHECK(access((file.path() + ".tmp").c_str(), F_OK) != 0);
  file.remove();
  CHECK(access(file.path().c_str(), F_OK) != 0);

  MetricsFile nowhere(directory.file("missing"), "x", 15);
  CHECK(nowhere.write("one\n") == ENOENT);
  MetricsFile none("", "x", 15);
  CHECK_FALSE(none.is_due(0));
}

TEST_CASE("metrics by HTTP") {
  MetricsServer server;
  bool busy = false;
  const auto text = [&](exporting::MetricsForm form) -> std::optional<std::string> {
    if (busy) {
      return std::nullopt;
    }
    return form == exporting::MetricsForm::kOpenMetrics ? "open\n" : "plain\n";
  };
  if (!server.start(ListenAddress{}, text)) {
    WARN("not tested: " << server.why());
    return;
  }
  const std::string plain = asked(server.address(), "GET /metrics");
  CHECK(plain.starts_with("HTTP/1.1 200"));
  CHECK(plain.ends_with("\r\n\r\nplain\n"));
  CHECK(plain.find("text/plain; version=0.0.4") != std::string::npos);
  CHECK(asked(server.address(),
              "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\nX:")
            .ends_with("open\n"));
  CHECK(asked(server.address(), "GET /").starts_with("HTTP/1.1 404"));
  CHECK(asked(server.address(), "DELETE /metrics").starts_with("HTTP/1.1 405"));

  // Another process with the same setting.
  MetricsServer second;
  const auto taken = control::parse_listen_address(server.address());
  REQUIRE(second.start(*taken, text));
  CHECK(second.address() != server.address());
  CHECK(asked(second.address(), "GET /metrics").ends_with("plain\n"));
  second.stop();
  CHECK(asked(second.address(), "GET /metrics").empty());

  busy = true;
  CHECK(asked(server.address(), "GET /metrics").starts_with("HTTP/1.1 503"));
}

TEST_CASE("an address that is not ours cannot be listened at") {
  MetricsServer server;
  CHECK_FALSE(server.start(ListenAddress{"192.0.2.1", 1}, {}));
  CHECK_FALSE(server.why().empty());
}
