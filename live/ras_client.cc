// SPDX-License-Identifier: Apache-2.0
//
// The protocol is that of NCCL 2.29.7's src/ras/client.cc: a line each way for the version and the
// format, then the answer up to the end of the connection.
#include "live/ras_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

// All processes of a host listen at the same address, and a connection may be given to one that is
// stopped. So one that does not greet in this time is left, and the next try may reach another.
constexpr auto kGreeting = std::chrono::seconds(2);
constexpr std::size_t kMostRasBytes = std::size_t{256} << 20;

class RasSocket {
 public:
  explicit RasSocket(const addrinfo& address)
      : number_(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    if (number_ < 0 ||
        (::connect(number_, address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS)) {
      error_ = std::strerror(errno);
    }
  }
  ~RasSocket() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  RasSocket(const RasSocket&) = delete;
  RasSocket& operator=(const RasSocket&) = delete;

  const std::string& error() const { return error_; }

  bool send(std::string_view text, Clock::time_point until) {
    while (!text.empty() && wait(POLLOUT, until)) {
      const ssize_t sent = ::send(number_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        error_ = std::strerror(errno);
      }
      text.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    return error_.empty();
  }

  /// Reads a line, with its end, or up to the end of the connection.
  bool receive(bool is_line, std::string& text, Clock::time_point until) {
    text.clear();
    char part[1 << 16];
    while (wait(POLLIN, until)) {
      const ssize_t got = ::recv(number_, part, is_line ? 1 : sizeof(part), 0);
      if (got > 0) {
        text.append(part, static_cast<std::size_t>(got));
        if (is_line && text.back() == '\n') {
          return true;
        }
        if (text.size() > kMostRasBytes) {
          error_ = "its answer is larger than 256 MiB";
        }
      } else if (got == 0) {
        error_ = is_line ? "closed the connection: no RAS service, or one that is ending" : "";
        return !is_line;
      } else if (errno != EAGAIN && errno != EINTR) {
        error_ = std::strerror(errno);
      }
    }
    return false;
  }

 private:
  bool wait(short events, Clock::time_point until) {
    while (error_.empty()) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      pollfd one{number_, events, 0};
      const int ready = left > 0 ? ::poll(&one, 1, static_cast<int>(left)) : 0;
      if (ready > 0) {
        return true;
      }
      if (ready == 0) {
        error_ = "no answer in time";
      } else if (errno != EINTR) {
        error_ = std::strerror(errno);
      }
    }
    return false;
  }

  int number_;
  std::string error_;
};

// Returns true if there is an answer or no further try makes sense.
bool ask(const addrinfo& address, Clock::time_point until, RasAnswer& answer) {
  RasSocket socket(address);
  const auto greeted = std::min<Clock::time_point>(until, Clock::now() + kGreeting);
  std::string line;
  if (socket.send("CLIENT PROTOCOL 2\n", greeted) && socket.receive(true, line, greeted)) {
    if (!line.starts_with("SERVER PROTOCOL ")) {
      answer.error = "is no RAS service of NCCL";
      return true;
    }
    // NCCL before 2.28 has text only, and says that it does not know the command.
    if (socket.send("SET FORMAT json\n", until) && socket.receive(true, line, until) &&
        socket.send("STATUS\n", until) && socket.receive(false, answer.text, until) &&
        !answer.text.empty()) {
      answer.error.clear();
      return true;
    }
  }
  answer.text.clear();
  answer.error = socket.error().empty() ? "gave an empty answer" : socket.error();
  return answer.error != "no answer in time";
}

}  // namespace

RasAnswer ask_ras(const std::string& address, std::chrono::milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  RasAnswer answer;
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (colon == std::string::npos || host.empty() || colon + 1 == address.size()) {
    answer.error = "the address is not HOST:PORT";
    return answer;
  }
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error =
          ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found)) {
    answer.error = std::string("cannot be found: ") + ::gai_strerror(error);
    return answer;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  bool is_worth_a_try = true;
  while (answer.text.empty() && is_worth_a_try) {
    is_worth_a_try = false;
    for (const addrinfo* one = found; one != nullptr && answer.text.empty(); one = one->ai_next) {
      is_worth_a_try = !ask(*one, until, answer) || is_worth_a_try;
    }
    is_worth_a_try = is_worth_a_try && Clock::now() < until;
  }
  return answer;
}

}  // namespace ringside::live
