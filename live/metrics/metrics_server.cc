// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/metrics_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

#ifdef RINGSIDE_HAS_MICROHTTPD
#include <dlfcn.h>
#include <microhttpd.h>
#endif

namespace ringside::live {

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress address;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    address.host = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  in_addr parsed{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), address.port);
  if (text.empty() || end.ec != std::errc{} || end.ptr != text.data() + text.size() ||
      inet_pton(AF_INET, address.host.c_str(), &parsed) != 1) {
    return std::nullopt;
  }
  return address;
}

bool MetricsServer::listen_at(const ListenAddress& address) {
  sockaddr_in wanted{};
  wanted.sin_family = AF_INET;
  wanted.sin_port = htons(address.port);
  inet_pton(AF_INET, address.host.c_str(), &wanted.sin_addr);
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  // A port on which an ended process has closed connections is free.
  if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(made, reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted) != 0 ||
      listen(made, SOMAXCONN) != 0) {
    why_ = std::strerror(errno);
    if (made >= 0) {
      close(made);
    }
    return false;
  }
  socklen_t size = sizeof wanted;
  getsockname(made, reinterpret_cast<sockaddr*>(&wanted), &size);
  address_ = address.host + ":" + std::to_string(ntohs(wanted.sin_port));
  socket_ = made;
  return true;
}

#ifdef RINGSIDE_HAS_MICROHTTPD
namespace {

constexpr char kPrometheus[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kOpenMetrics[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// GNU libmicrohttpd's functions: in the program itself (the Python wheel), or in the shared
// library, which is loaded when a server starts.
struct Library {
  decltype(&MHD_start_daemon) start_daemon = nullptr;
  decltype(&MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&MHD_create_response_from_buffer) create_response = nullptr;
  decltype(&MHD_add_response_header) add_header = nullptr;
  decltype(&MHD_queue_response) queue_response = nullptr;
  decltype(&MHD_destroy_response) destroy_response = nullptr;
  decltype(&MHD_lookup_connection_value) lookup_value = nullptr;
  decltype(&MHD_get_connection_info) connection_info = nullptr;
  bool complete = false;
};

Library loaded_library() {
#ifdef RINGSIDE_LINKS_MICROHTTPD
  return {&MHD_start_daemon,
          &MHD_stop_daemon,
          &MHD_create_response_from_buffer,
          &MHD_add_response_header,
          &MHD_queue_response,
          &MHD_destroy_response,
          &MHD_lookup_connection_value,
          &MHD_get_connection_info,
          true};
#else
  Library made;
  void* const library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  const auto find = [&](auto& function, const char* name) {
    function =
        library == nullptr
            ? nullptr
            : reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  made.complete = find(made.start_daemon, "MHD_start_daemon") &&
                  find(made.stop_daemon, "MHD_stop_daemon") &&
                  find(made.create_response, "MHD_create_response_from_buffer") &&
                  find(made.add_header, "MHD_add_response_header") &&
                  find(made.queue_response, "MHD_queue_response") &&
                  find(made.destroy_response, "MHD_destroy_response") &&
                  find(made.lookup_value, "MHD_lookup_connection_value") &&
                  find(made.connection_info, "MHD_get_connection_info");
  return made;
#endif
}

const Library& library() {
  static const Library loaded = loaded_library();
  return loaded;
}

// The connections that are open, in the order in which they began to keep the server waiting: for a
// request, or for a reply to be taken.
class OpenConnections {
 public:
  void add(MHD_Connection* connection) {
    const MHD_ConnectionInfo* const info =
        library().connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const std::lock_guard lock(mutex_);
    all_.push_back({connection, info != nullptr ? info->connect_fd : -1});
    ++open_;
    if (open_ > MetricsServer::kMostConnections) {
      end_oldest();
    }
  }
  void remove(MHD_Connection* connection) {
    const std::lock_guard lock(mutex_);
    const auto place = find(connection);
    if (place != all_.end()) {
      open_ -= place->is_ended ? 0 : 1;
      all_.erase(place);
    }
  }
  /// While a request is answered, it is the connection that waits.
  void set_answered(MHD_Connection* connection, bool is_answered) {
    const std::lock_guard lock(mutex_);
    const auto place = find(connection);
    if (place != all_.end()) {
      place->is_answered = is_answered;
      all_.splice(all_.end(), all_, place);
    }
  }

 private:
  struct Open {
    MHD_Connection* connection;
    int socket;
    bool is_answered = false;
    bool is_ended = false;
  };

  std::list<Open>::iterator find(MHD_Connection* connection) {
    return std::find_if(all_.begin(), all_.end(),
                        [&](const Open& one) { return one.connection == connection; });
  }
  // Its thread then sees an end, and has the library close the socket, which it does after
  // remove().
  void end_oldest() {
    const auto oldest = std::find_if(all_.begin(), all_.end(), [](const Open& one) {
      return !one.is_answered && !one.is_ended;
    });
    if (oldest != all_.end()) {
      oldest->is_ended = true;
      --open_;
      shutdown(oldest->socket, SHUT_RDWR);
    }
  }

  std::mutex mutex_;
  std::list<Open> all_;
  std::size_t open_ = 0;  ///< without those that are ended
};

}  // namespace

struct MetricsServer::Served {
  Text text;
  OpenConnections connections;

  static MHD_Result answer(void* served, MHD_Connection* connection, const char* url,
                           const char* method, const char*, const char*, std::size_t*,
                           void**) noexcept;
  static void notice(void* served, MHD_Connection* connection, void**,
                     MHD_ConnectionNotificationCode what) noexcept;
};

namespace {

MHD_Result respond(MHD_Connection* connection, unsigned status, std::string text,
                   const char* type) {
  MHD_Response* const response =
      library().create_response(text.size(), text.data(), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) {
    return MHD_NO;
  }
  library().add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  const MHD_Result result = library().queue_response(connection, status, response);
  library().destroy_response(response);
  return result;
}

}  // namespace

MHD_Result MetricsServer::Served::answer(void* served, MHD_Connection* connection, const char* url,
                                         const char* method, const char*, const char*, std::size_t*,
                                         void**) noexcept {
  try {
    auto& self = *static_cast<Served*>(served);
    const std::string_view asked(method);
    if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD) {
      return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n", "text/plain");
    }
    if (std::string_view(url) != "/metrics") {
      return respond(connection, MHD_HTTP_NOT_FOUND, "Ringside's metrics are at /metrics\n",
                     "text/plain");
    }
    const char* const accept =
        library().lookup_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const bool is_open =
        accept != nullptr && std::strstr(accept, "application/openmetrics-text") != nullptr;
    self.connections.set_answered(connection, true);  // if this throws, the connection ends
    std::string made = self.text(is_open ? MetricsForm::kOpenMetrics : MetricsForm::kPrometheus);
    self.connections.set_answered(connection, false);
    return respond(connection, MHD_HTTP_OK, std::move(made), is_open ? kOpenMetrics : kPrometheus);
  } catch (...) {
    return MHD_NO;  // closes the connection
  }
}

void MetricsServer::Served::notice(void* served, MHD_Connection* connection, void**,
                                   MHD_ConnectionNotificationCode what) noexcept {
  OpenConnections& connections = static_cast<Served*>(served)->connections;
  what == MHD_CONNECTION_NOTIFY_STARTED ? connections.add(connection)
                                        : connections.remove(connection);
}

bool MetricsServer::start(const ListenAddress& address, Text text) {
  if (!library().complete) {
    why_ = "libmicrohttpd.so.12 cannot be loaded (libmicrohttpd12)";
    return false;
  }
  if (!listen_at(address)) {
    return false;
  }
  served_ = std::make_unique<Served>();
  served_->text = std::move(text);
  // Those that are ended are still there until the library has closed them.
  constexpr unsigned kMostOfLibrary = 2 * kMostConnections;
  constexpr unsigned kIdle_s = 10;
  constexpr std::size_t kStack_bytes = std::size_t{1} << 20;
  daemon_ = library().start_daemon(
      MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, nullptr,
      nullptr, &Served::answer, served_.get(), MHD_OPTION_LISTEN_SOCKET, socket_,
      MHD_OPTION_CONNECTION_LIMIT, kMostOfLibrary, MHD_OPTION_CONNECTION_TIMEOUT, kIdle_s,
      MHD_OPTION_THREAD_STACK_SIZE, kStack_bytes, MHD_OPTION_NOTIFY_CONNECTION, &Served::notice,
      served_.get(), MHD_OPTION_END);
  if (daemon_ == nullptr) {
    why_ = "libmicrohttpd cannot start";
    close(std::exchange(socket_, -1));
    return false;
  }
  return true;
}

// The library closes the socket.
void MetricsServer::stop() {
  if (daemon_ != nullptr) {
    library().stop_daemon(static_cast<MHD_Daemon*>(std::exchange(daemon_, nullptr)));
  }
}

#else

struct MetricsServer::Served {};

bool MetricsServer::start(const ListenAddress&, Text) {
  why_ = "ringside was built without libmicrohttpd (libmicrohttpd-dev)";
  return false;
}

void MetricsServer::stop() {}

#endif

MetricsServer::MetricsServer() = default;

MetricsServer::~MetricsServer() {
  stop();
}

}  // namespace ringside::live
