// SPDX-License-Identifier: Apache-2.0
//
// The control socket: a Unix stream socket in the ring directory, and the thread that serves it. A
// line comes in and a line goes out (docs/dev/control-socket.md). The thread sleeps in poll; NCCL
// and the drain thread never wait for it.
#ifndef RINGSIDE_PLUGIN_DOORS_CONTROL_SOCKET_H
#define RINGSIDE_PLUGIN_DOORS_CONTROL_SOCKET_H

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "plugin/posix/descriptors.h"
#include "plugin/result/result.h"
#include "plugin/threads/mutex.h"

namespace ringside::doors {

class ControlSocket {
 public:
  /// If all places are taken, a new client gets that of the one that has kept the socket waiting
  /// for longest: whoever sends half a request, or does not take a reply for a second. Nobody whom
  /// the socket keeps waiting is sent away.
  static constexpr std::size_t kMostClients = 32;
  static constexpr std::size_t kMostRequest_bytes = 16384;

  /// The reply: a line without its end. If the reply takes a while, `later` is set instead. The
  /// socket's thread calls it every few milliseconds, until it puts the line into its argument and
  /// returns true.
  struct Answer {
    std::string line;
    std::function<bool(std::string&)> later;
  };
  using Handler = std::function<Answer(std::string_view request)>;
  /// Makes the reply to a request that the handler does not get. `error` is one of
  /// docs/dev/control-socket.md.
  using Refusal = std::function<std::string(std::string_view error, std::string_view message)>;

  ControlSocket() = default;
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  /// Makes the socket in this directory, and starts the thread. Called once. Fails with ECANCELED
  /// after end(), with EAGAIN if there can be no thread, else with the error of the system call.
  Result begin(const std::string& directory, Handler handler, Refusal refusal);

  /// Ends the thread, and waits for that, at most until this time. Clients that wait for a reply
  /// get none. The socket's file stays. Any thread.
  void end(threads::Clock::time_point until) noexcept;

  /// In the child of a fork: closes the parent's connections, which would otherwise outlive the
  /// parent.
  void close_in_child() noexcept;

 private:
  struct Client;
  /// A descriptor, if it still is that of this file: an application may close all that it finds,
  /// and give the number to a file of its own.
  struct Descriptor {
    std::atomic<int> number{-1};  ///< the handler of a fork closes it in the child
    posix::FileIdentity file;

    void set(int made) noexcept {
      file = posix::FileIdentity(made);
      number.store(made, std::memory_order_relaxed);
    }
    /// -1: there is none, or it is not ours any more.
    int own() const noexcept {
      const int found = number.load(std::memory_order_relaxed);
      return file.is_of(found) ? found : -1;
    }
  };

  static void close_descriptor(Descriptor& descriptor) noexcept;
  /// Ends a connection of this process, also if a child still has it open that was made without
  /// the handlers of a fork.
  static void end_socket(Descriptor& descriptor) noexcept;
  static void* thread_main(void* socket) noexcept;
  Result listen_at(const std::string& directory);
  void serve();
  using Clients = std::array<Client, kMostClients>;
  static Client* place_for_new(Clients& clients, std::chrono::steady_clock::time_point now);
  bool accept_clients(Clients& clients);
  bool serve_client(Client& client, short told) noexcept;
  bool go_on_with(Client& client, short told);
  bool read_from(Client& client);
  void take_request(Client& client);
  bool write_to(Client& client);

  Handler handler_;
  Refusal refusal_;
  Descriptor listener_;
  std::array<Descriptor, kMostClients> connections_;
  threads::Mutex mutex_;
  threads::Condition ended_;
  bool is_running_ RINGSIDE_GUARDED_BY(mutex_) = false;
  bool is_to_end_ RINGSIDE_GUARDED_BY(mutex_) = false;
};

}  // namespace ringside::doors

#endif  // RINGSIDE_PLUGIN_DOORS_CONTROL_SOCKET_H
