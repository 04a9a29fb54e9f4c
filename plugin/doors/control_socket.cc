// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/control_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "plugin/journal/journal_format.h"
#include "plugin/threads/background_thread.h"

namespace ringside::doors {
namespace {

using threads::Clock;

// A client has this time to send a whole request, and to take the whole reply.
constexpr auto kPatience = std::chrono::seconds(5);
// When others wait for its place, it has this time to take the reply, and none to send a request.
constexpr auto kPatienceWhenFull = std::chrono::seconds(1);
constexpr auto kAskLater = std::chrono::milliseconds(10);
constexpr auto kRest = std::chrono::milliseconds(1000);
// The thread-local variables of the application take a part of the stack.
constexpr std::size_t kStack_bytes = 1U << 20;

Result bind_at(int listener, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Result(ENAMETOOLONG);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return Result::of_call(
      bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
}

// The directory lets no other user in. This check still holds if somebody changes its mode.
bool is_allowed(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

struct ControlSocket::Client {
  Descriptor* connection = nullptr;  ///< NULL: a free place
  std::string in;
  std::string out;
  std::function<bool(std::string&)> later;
  bool closes = false;      ///< once `out` is sent
  Clock::time_point since;  ///< it has kept the socket waiting, unless `later` is set

  int descriptor() const { return connection->own(); }
  void send(std::string line) {
    out += std::move(line) + '\n';
    since = Clock::now();
  }
  /// From when on another may have its place.
  Clock::time_point may_go_at() const {
    return later ? Clock::time_point::max() : out.empty() ? since : since + kPatienceWhenFull;
  }
  void leave() {
    end_socket(*connection);
    *this = {};
  }
};

// The child of a fork must not see the number any more when it is closed: from then on it may be
// another file's.
void ControlSocket::close_descriptor(Descriptor& descriptor) noexcept {
  const int number = descriptor.own();
  descriptor.number.store(-1, std::memory_order_relaxed);
  if (number >= 0) {
    close(number);
  }
}

void ControlSocket::end_socket(Descriptor& descriptor) noexcept {
  shutdown(descriptor.own(), SHUT_RDWR);
  close_descriptor(descriptor);
}

Result ControlSocket::listen_at(const std::string& directory) {
  const int listener = posix::own_descriptor(
      [] { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (listener < 0) {
    return Result(errno);
  }
  listener_.set(listener);
  const std::string name = directory + "/" + journal::kNewControlName;
  Result bound = bind_at(listener, name);
  if (bound.error() == ENAMETOOLONG) {
    // An address has room for about 100 letters. Through a descriptor, any path fits.
    const int opened = posix::own_descriptor(
        [&] { return open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
    bound = bind_at(listener,
                    "/proc/self/fd/" + std::to_string(opened) + "/" + journal::kNewControlName);
    close(opened);
  }
  if (!bound.is_ok()) {
    return bound;
  }
  // bind() takes the mode from the umask. Nobody can connect before listen(), and a socket that
  // refuses a connection reads as one whose process ends: it gets its name when it listens.
  return Result::of_call(
      chmod(name.c_str(), 0600) == 0 && ::listen(listener, static_cast<int>(kMostClients)) == 0 &&
      rename(name.c_str(), (directory + "/" + journal::kControlName).c_str()) == 0);
}

Result ControlSocket::begin(const std::string& directory, Handler handler, Refusal refusal) {
  const threads::MutexLock lock(mutex_);
  if (is_to_end_) {
    return Result(ECANCELED);
  }
  handler_ = std::move(handler);
  refusal_ = std::move(refusal);
  Result begun = listen_at(directory);
  if (begun.is_ok()) {
    is_running_ = threads::start_background_thread("ringside-ctl", kStack_bytes, thread_main, this);
    begun = Result(is_running_ ? 0 : EAGAIN);
  }
  if (!begun.is_ok()) {
    close_descriptor(listener_);
    for (const char* const name : {journal::kNewControlName, journal::kControlName}) {
      unlink((directory + "/" + name).c_str());
    }
  }
  return begun;
}

void ControlSocket::end(threads::Clock::time_point until) noexcept {
  threads::MutexLock lock(mutex_, until);
  if (!lock.is_held()) {
    return;
  }
  is_to_end_ = true;
  const int listener = listener_.own();
  if (!is_running_ || listener < 0) {
    return;  // without that, nothing wakes the thread
  }
  shutdown(listener, SHUT_RDWR);
  while (is_running_ && lock.wait_until(ended_, until)) {
  }
}

void ControlSocket::close_in_child() noexcept {
  close_descriptor(listener_);
  for (Descriptor& connection : connections_) {
    close_descriptor(connection);
  }
}

void* ControlSocket::thread_main(void* socket) noexcept {
  auto* self = static_cast<ControlSocket*>(socket);
  try {
    self->serve();
  } catch (...) {
    // Out of memory: nothing depends on this thread.
  }
  const threads::MutexLock lock(self->mutex_);  // end() uses the listener
  end_socket(self->listener_);
  for (Descriptor& connection : self->connections_) {
    end_socket(connection);
  }
  self->is_running_ = false;
  self->ended_.notify_all();
  return nullptr;
}

void ControlSocket::serve() {
  Clients clients;
  std::array<pollfd, kMostClients + 1> waits{};
  Clock::time_point rest_until;
  while (true) {
    const Clock::time_point now = Clock::now();
    const bool rests = now < rest_until;
    int timeout_ms = rests ? static_cast<int>(kRest.count()) : -1;
    const auto wake_in = [&](Clock::duration left) {
      const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      const int wait_ms = static_cast<int>(std::max<std::int64_t>(left_ms, 0));
      timeout_ms = timeout_ms < 0 ? wait_ms : std::min(timeout_ms, wait_ms);
    };
    Clock::time_point place_at = Clock::time_point::max();  // from when on one can be had
    for (std::size_t i = 0; i < kMostClients; ++i) {
      Client& client = clients[i];
      pollfd& wait = waits[i + 1];
      wait = {-1, 0, 0};
      if (client.connection == nullptr) {
        place_at = now;
        continue;
      }
      place_at = std::min(place_at, client.may_go_at());
      wait.fd = client.descriptor();
      // Without POLLIN and POLLOUT, poll still says when the peer is gone.
      wait.events = !client.out.empty() ? POLLOUT : client.later ? 0 : POLLIN;
      wake_in(client.later ? kAskLater : client.since + kPatience - now);
    }
    // While there is no place, new connections wait in the queue.
    const bool has_place = place_at <= now && !rests;
    waits[0] = {listener_.own(), static_cast<short>(has_place ? POLLIN : 0), 0};
    if (waits[0].fd < 0) {
      return;
    }
    if (now < place_at && place_at < Clock::time_point::max()) {
      wake_in(place_at - now);
    }
    if (poll(waits.data(), waits.size(), timeout_ms) < 0 && errno != EINTR) {
      return;
    }
    if ((waits[0].revents & ~POLLIN) != 0) {
      return;  // end()
    }
    for (std::size_t i = 0; i < kMostClients; ++i) {
      if (clients[i].connection != nullptr && !serve_client(clients[i], waits[i + 1].revents)) {
        clients[i].leave();
      }
    }
    if (waits[0].revents != 0 && !accept_clients(clients)) {
      rest_until = Clock::now() + kRest;
    }
  }
}

// False if the client is to be disconnected.
bool ControlSocket::serve_client(Client& client, short told) noexcept {
  try {
    return go_on_with(client, told);
  } catch (...) {
    return false;  // out of memory: the others may be luckier
  }
}

bool ControlSocket::go_on_with(Client& client, short told) {
  if ((told & (POLLERR | POLLNVAL)) != 0) {
    return false;
  }
  if (client.later) {
    if ((told & POLLHUP) != 0) {
      return false;
    }
    std::string line;
    if (client.later(line)) {
      client.later = nullptr;
      client.send(std::move(line));
    }
    return true;
  }
  bool goes_on = true;
  if ((told & POLLOUT) != 0) {
    goes_on = write_to(client);
  } else if ((told & (POLLIN | POLLHUP)) != 0) {
    goes_on = read_from(client);
  }
  return goes_on && (client.later || Clock::now() < client.since + kPatience);
}

// A free place, or that of the client that has kept the socket waiting for longest; NULL: none.
// Whoever came after `now` has had no turn yet.
ControlSocket::Client* ControlSocket::place_for_new(Clients& clients, Clock::time_point now) {
  Client* oldest = nullptr;
  for (Client& client : clients) {
    if (client.connection == nullptr) {
      return &client;
    }
    if (client.may_go_at() < now && (oldest == nullptr || client.since < oldest->since)) {
      oldest = &client;
    }
  }
  return oldest;
}

// False if there are no descriptors or no memory: the caller tries again after a rest, not at once.
bool ControlSocket::accept_clients(Clients& clients) {
  const Clock::time_point begin = Clock::now();
  while (Client* const place = place_for_new(clients, begin)) {
    const int connection = posix::own_descriptor([this] {
      return accept4(listener_.own(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    });
    if (connection < 0) {
      return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    }
    if (place->connection != nullptr) {
      place->leave();
    }
    Descriptor& descriptor = connections_[static_cast<std::size_t>(place - clients.data())];
    descriptor.set(connection);
    place->connection = &descriptor;
    place->since = Clock::now();
    if (!is_allowed(connection)) {
      place->closes = true;
      place->send(refusal_("user", "this process is another user's"));
    }
  }
  return true;
}

bool ControlSocket::read_from(Client& client) {
  std::array<char, 4096> bytes;
  const ssize_t got = recv(client.descriptor(), bytes.data(), bytes.size(), 0);
  if (got <= 0) {
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
  client.in.append(bytes.data(), static_cast<std::size_t>(got));
  take_request(client);
  return client.out.empty() || write_to(client);
}

// A client has one request served at a time. Requests that it sends ahead wait, within the bound.
void ControlSocket::take_request(Client& client) {
  const std::size_t end = client.in.find('\n');
  if (std::min(end, client.in.size()) > kMostRequest_bytes) {
    client.closes = true;
    client.send(refusal_("too_long",
                         "a request has at most " + std::to_string(kMostRequest_bytes) + " bytes"));
    return;
  }
  if (end == std::string::npos) {
    return;
  }
  Answer answer = handler_(std::string_view(client.in).substr(0, end));
  client.in.erase(0, end + 1);
  client.later = std::move(answer.later);
  if (!client.later) {
    client.send(std::move(answer.line));
  }
}

bool ControlSocket::write_to(Client& client) {
  const ssize_t sent =
      send(client.descriptor(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  client.out.erase(0, static_cast<std::size_t>(sent));
  if (!client.out.empty()) {
    return true;
  }
  if (client.closes) {
    return false;
  }
  client.since = Clock::now();
  take_request(client);
  return true;
}

}  // namespace ringside::doors
