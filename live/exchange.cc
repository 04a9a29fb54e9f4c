// SPDX-License-Identifier: Apache-2.0
#include "live/exchange.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "launch/ring_holder.h"
#include "plugin/journal/journal_format.h"

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTryAgain = std::chrono::milliseconds(20);

class Connection {
 public:
  explicit Connection(Exchange& exchange) : exchange_(exchange), rest_(exchange.request + '\n') {
    exchange_.silence = Silence::kTimeout;
    exchange_.reason = "has not answered in time; it may be stopped, or writing a large dump";
    connect();
  }
  ~Connection() { disconnect(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_over() const { return is_over_; }
  /// So many connections wait there that ours was not taken; nothing will tell when it can be.
  bool waits_in_line() const { return waits_in_line_; }
  pollfd wait() const {
    return {waits_in_line_ ? -1 : socket_, static_cast<short>(rest_.empty() ? POLLIN : POLLOUT), 0};
  }

  void connect();
  void go_on() { rest_.empty() ? receive() : send(); }

 private:
  void disconnect() {
    if (socket_ >= 0) {
      close(std::exchange(socket_, -1));
    }
  }
  void end(Silence silence, std::string reason) {
    exchange_.silence = silence;
    exchange_.reason = std::move(reason);
    is_over_ = true;
    disconnect();
  }
  void end_as_dead();
  void fail(int error);
  void check_owner(uid_t owner);
  void send();
  void receive();

  Exchange& exchange_;
  std::string rest_;  ///< of the request
  int socket_ = -1;
  bool is_over_ = false;
  bool waits_in_line_ = false;
};

void Connection::end_as_dead() {
  end(Silence::kDead, "its process has died; `ringside recover " + exchange_.endpoint.path +
                          "` makes a whole trace of what it left");
}

void Connection::fail(int error) {
  using launch::RingHolder;
  const RingHolder::State holder = error == ECONNREFUSED || error == ENOENT
                                       ? launch::holder_of(exchange_.endpoint.path).state
                                       : RingHolder::State::kNotKnown;
  if (holder == RingHolder::State::kDead) {
    return end_as_dead();
  }
  switch (error) {
    case ECONNREFUSED:
      end(Silence::kNoSocket, holder == RingHolder::State::kLives
                                  ? "is ending, and serves nobody any more"
                                  : "nobody listens there any more");
      return;
    case ENOENT:
      end(Silence::kNoSocket,
          "has no control socket: RINGSIDE_CONTROL=off, or it is just starting or ending");
      return;
    case EACCES:
    case EPERM:
      end(Silence::kForbidden, "is another user's: ask as that user, or as root");
      return;
    case EPIPE:
    case ECONNRESET:
      end(Silence::kTrouble, "has closed the connection: it is ending, or serves too many");
      return;
    default:
      end(Silence::kTrouble, std::strerror(error));
  }
}

void Connection::connect() {
  waits_in_line_ = false;
  disconnect();
  // A child may still have its socket open, so that it can be connected to.
  if (launch::holder_of(exchange_.endpoint.path).state == launch::RingHolder::State::kDead) {
    return end_as_dead();
  }
  // Any path fits when it is taken from the directory's descriptor.
  const int directory =
      open(exchange_.endpoint.path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat about {};
  if (directory < 0 || fstat(directory, &about) != 0) {
    return fail(errno);
  }
  const std::string name =
      "/proc/self/fd/" + std::to_string(directory) + '/' + journal::kControlName;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), std::min(name.size(), sizeof address.sun_path - 1));
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int done =
      socket_ < 0 ? -1
                  : ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  close(directory);
  if (done == 0) {
    return check_owner(about.st_uid);
  }
  if (socket_ >= 0 && error == EAGAIN) {
    waits_in_line_ = true;
    return;
  }
  fail(error);
}

// Anybody may make a directory with a socket in a place that all users share, and give it a name as
// processes of others have it. What answers is its owner's process, or it is not asked.
void Connection::check_owner(uid_t owner) {
  ucred peer{};
  socklen_t size = sizeof peer;
  Endpoint& endpoint = exchange_.endpoint;
  const bool is_same = endpoint.uid == Endpoint::kNobodyKnown || endpoint.uid == owner;
  if (getsockopt(socket_, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || !is_same ||
      peer.uid != owner) {
    return end(Silence::kTrouble, "belongs to another user than the process that serves it");
  }
  endpoint.uid = owner;
}

void Connection::send() {
  const ssize_t sent = ::send(socket_, rest_.data(), rest_.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    rest_.erase(0, static_cast<std::size_t>(sent));
  } else if (errno == EPIPE) {
    rest_.clear();  // perhaps it has said why
  } else if (errno != EAGAIN && errno != EINTR) {
    fail(errno);
  }
}

void Connection::receive() {
  std::array<char, 65536> bytes;
  const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) {
      fail(errno);
    }
    return;
  }
  if (got == 0) {
    return fail(ECONNRESET);
  }
  const std::size_t had = exchange_.answer.size();
  exchange_.answer.append(bytes.data(), static_cast<std::size_t>(got));
  if (const std::size_t line = exchange_.answer.find('\n', had); line != std::string::npos) {
    exchange_.answer.resize(line);
    end(Silence::kNone, {});
  } else if (exchange_.answer.size() > exchange_.most_bytes) {
    end(Silence::kTrouble, "answers without end: it is not Ringside");
  }
}

}  // namespace

void ask_all(std::vector<Exchange>& exchanges, std::chrono::milliseconds timeout) {
  const Clock::time_point until = Clock::now() + timeout;
  std::deque<Connection> connections;
  for (Exchange& exchange : exchanges) {
    exchange.answer.clear();
    connections.emplace_back(exchange);
  }
  std::vector<pollfd> waits(connections.size());
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    bool any = false;
    bool any_in_line = false;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      waits[i] = connections[i].is_over() ? pollfd{-1, 0, 0} : connections[i].wait();
      any = any || !connections[i].is_over();
      any_in_line = any_in_line || connections[i].waits_in_line();
    }
    if (!any || left.count() <= 0) {
      return;
    }
    const auto wait = any_in_line ? std::min(left, kTryAgain) : left;
    if (poll(waits.data(), waits.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) {
      return;
    }
    for (std::size_t i = 0; i < connections.size(); ++i) {
      if (connections[i].is_over()) {
        continue;
      }
      if (connections[i].waits_in_line()) {
        connections[i].connect();
      } else if (waits[i].revents != 0) {
        connections[i].go_on();
      }
    }
  }
}

}  // namespace ringside::live
