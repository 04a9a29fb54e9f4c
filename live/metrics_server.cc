// SPDX-License-Identifier: Apache-2.0
#include "live/metrics_server.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
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
                  find(made.lookup_value, "MHD_lookup_connection_value");
  return made;
#endif
}

const Library& library() {
  static const Library loaded = loaded_library();
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
    std::string made = (*static_cast<const MetricsServer::Text*>(text))(
        is_open ? MetricsForm::kOpenMetrics : MetricsForm::kPrometheus);
    return respond(connection, MHD_HTTP_OK, std::move(made), is_open ? kOpenMetrics : kPrometheus);
  } catch (...) {
    return MHD_NO;  // closes the connection
  }
}

}  // namespace

bool MetricsServer::start(const ListenAddress& address, Text text) {
  if (!library().complete) {
    why_ = "libmicrohttpd.so.12 cannot be loaded (libmicrohttpd12)";
    return false;
  }
  if (!listen_at(address)) {
    return false;
  }
  text_ = std::move(text);
  constexpr unsigned kMostConnections = 64;
  constexpr unsigned kIdle_s = 10;
  daemon_ = library().start_daemon(
      MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, nullptr,
      nullptr, &answer, &text_, MHD_OPTION_LISTEN_SOCKET, socket_, MHD_OPTION_CONNECTION_LIMIT,
      kMostConnections, MHD_OPTION_CONNECTION_TIMEOUT, kIdle_s, MHD_OPTION_END);
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

bool MetricsServer::start(const ListenAddress&, Text) {
  why_ = "ringside was built without libmicrohttpd (libmicrohttpd-dev)";
  return false;
}

void MetricsServer::stop() {}

#endif

}  // namespace ringside::live
