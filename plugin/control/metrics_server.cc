// SPDX-License-Identifier: Apache-2.0
#include "plugin/control/metrics_server.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

#include "plugin/record/own_descriptor.h"

#ifdef RINGSIDE_HAS_MICROHTTPD
#include <dlfcn.h>
#include <microhttpd.h>
#endif

namespace ringside::control {
namespace {

std::atomic<int> g_listening{-1};

}  // namespace

bool MetricsServer::listen_at(const ListenAddress& address) {
  sockaddr_in wanted{};
  wanted.sin_family = AF_INET;
  inet_pton(AF_INET, address.host.c_str(), &wanted.sin_addr);
  const int ports = address.port == 0 ? 1 : kMostPorts;
  for (int i = 0; i < ports && address.port + i <= UINT16_MAX; ++i) {
    const int made =
        record::own_descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    wanted.sin_port = htons(static_cast<std::uint16_t>(address.port + i));
    const int on = 1;
    // A port on which an ended process has closed connections is free.
    if (made >= 0 && setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(made, reinterpret_cast<const sockaddr*>(&wanted), sizeof wanted) == 0 &&
        listen(made, SOMAXCONN) == 0) {
      socket_ = made;
      socklen_t size = sizeof wanted;
      getsockname(made, reinterpret_cast<sockaddr*>(&wanted), &size);
      address_ = address.host + ":" + std::to_string(ntohs(wanted.sin_port));
      g_listening.store(made, std::memory_order_relaxed);
      return true;
    }
    const int error = errno;
    why_ = address.host + ":" + std::to_string(address.port + i) + ": " + std::strerror(error);
    if (made >= 0) {
      close(made);
    }
    if (error != EADDRINUSE) {
      return false;
    }
  }
  return false;
}

void MetricsServer::close_in_child() noexcept {
  if (const int file = g_listening.exchange(-1, std::memory_order_relaxed); file >= 0) {
    close(file);
  }
}

#ifdef RINGSIDE_HAS_MICROHTTPD
namespace {

struct Library {
  decltype(&MHD_start_daemon) start_daemon = nullptr;
  decltype(&MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&MHD_create_response_from_buffer) create_response = nullptr;
  decltype(&MHD_add_response_header) add_header = nullptr;
  decltype(&MHD_queue_response) queue_response = nullptr;
  decltype(&MHD_destroy_response) destroy_response = nullptr;
  decltype(&MHD_lookup_connection_value) lookup_value = nullptr;
  bool complete = false;

  Library() {
    void* const library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](auto& function, const char* name) {
      function =
          library == nullptr
              ? nullptr
              : reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    complete = find(start_daemon, "MHD_start_daemon") && find(stop_daemon, "MHD_stop_daemon") &&
               find(create_response, "MHD_create_response_from_buffer") &&
               find(add_header, "MHD_add_response_header") &&
               find(queue_response, "MHD_queue_response") &&
               find(destroy_response, "MHD_destroy_response") &&
               find(lookup_value, "MHD_lookup_connection_value");
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

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

MHD_Result answer(void* text, MHD_Connection* connection, const char* url, const char* method,
                  const char*, const char*, std::size_t*, void**) noexcept {
  try {
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
    auto made = (*static_cast<const MetricsServer::Text*>(text))(
        is_open ? exporting::MetricsForm::kOpenMetrics : exporting::MetricsForm::kPrometheus);
    if (!made) {
      return respond(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                     "Ringside's thread is busy or has ended\n", "text/plain");
    }
    return respond(connection, MHD_HTTP_OK, std::move(*made),
                   is_open ? exporting::kOpenMetricsType : exporting::kPrometheusType);
  } catch (...) {
    return MHD_NO;  // closes the connection
  }
}

}  // namespace

bool MetricsServer::start(const ListenAddress& address, Text text) {
  if (!library().complete) {
    why_ = "libmicrohttpd.so.12 cannot be loaded";
    return false;
  }
  if (!listen_at(address)) {
    return false;
  }
  text_ = std::move(text);
  constexpr unsigned kMostConnections = 16;
  constexpr unsigned kIdle_s = 10;
  daemon_ = library().start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr,
                                   nullptr, &answer, &text_, MHD_OPTION_LISTEN_SOCKET, socket_,
                                   MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
                                   MHD_OPTION_CONNECTION_TIMEOUT, kIdle_s, MHD_OPTION_END);
  if (daemon_ == nullptr) {
    why_ = "libmicrohttpd cannot start";
    close_in_child();
    return false;
  }
  return true;
}

// The library closes the socket.
void MetricsServer::stop() {
  if (daemon_ != nullptr) {
    g_listening.store(-1, std::memory_order_relaxed);
    library().stop_daemon(static_cast<MHD_Daemon*>(std::exchange(daemon_, nullptr)));
  }
}

#else

bool MetricsServer::start(const ListenAddress&, Text) {
  why_ = "Ringside was built without libmicrohttpd";
  return false;
}

void MetricsServer::stop() {}

#endif

}  // namespace ringside::control
