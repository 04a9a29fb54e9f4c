// SPDX-License-Identifier: Apache-2.0
#include "test/host/profiler_plugin.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

#include "plugin/abi/versions.h"
#include "test/host/descriptor.h"

namespace ringside::host {
namespace {

void log_to_stderr(int level, unsigned long flags, const char* file, int line, const char* format,
                   ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "NCCL-LOG: level %d flags 0x%lx %s:%d %s\n", level, flags,
               file == nullptr ? "?" : file, line, text);
}

// NCCL's socket transport describes its events with this.
struct SocketData {
  std::uint8_t type;
  struct alignas(8) {
    int fd;
    int op;
    std::uint64_t length;
  } sock;
};
static_assert(offsetof(SocketData, sock) == 8 && sizeof(SocketData) == 24);

template <int kAbi, class Profiler, class Descr, class Arguments>
class PluginOf : public ProfilerPlugin {
 public:
  explicit PluginOf(const void* symbol) : profiler_(static_cast<const Profiler*>(symbol)) {}

  int init(const Callback& callback, void** context, int* mask) const override {
    const auto& c = callback;
    if constexpr (kAbi <= 3) {
      return profiler_->init(context, mask);
    } else if constexpr (kAbi == 4) {
      return profiler_->init(context, mask, c.comm_name, c.comm_hash, c.n_nodes, c.n_ranks, c.rank,
                             log_to_stderr);
    } else {
      return profiler_->init(context, c.comm_hash, mask, c.comm_name, c.n_nodes, c.n_ranks, c.rank,
                             log_to_stderr);
    }
  }

  int start(const Callback& callback, const Pointers& pointers, void* context,
            void** handle) const override {
    Descr descriptor;
    // NCCL's adapter for version 4 does not clear the struct: whoever reads what its type has not,
    // reads garbage.
    std::memset(static_cast<void*>(&descriptor), kAbi == 4 ? 0xA5 : 0, sizeof descriptor);
    SocketData socket = {};
    socket.type = 1;
    socket.sock.fd = callback.socket_fd;
    socket.sock.op = callback.socket_op;
    socket.sock.length = callback.socket_length;
    fill_descriptor(descriptor, callback, pointers, &socket);
    const int result = profiler_->startEvent(context, handle, &descriptor);
    std::memset(static_cast<void*>(&descriptor), 0x5A, sizeof descriptor);
    std::memset(static_cast<void*>(&socket), 0x5A, sizeof socket);
    return result;
  }

  int stop(void* handle) const override { return profiler_->stopEvent(handle); }

  int state(const Callback& callback, void* handle) const override {
    Arguments arguments;
    std::memset(static_cast<void*>(&arguments), 0, sizeof arguments);
    fill_arguments(arguments, callback);
    return profiler_->recordEventState(handle, callback.state,
                                       callback.arguments_null ? nullptr : &arguments);
  }

  int finalize(void* context) const override { return profiler_->finalize(context); }

  int abi() const override { return kAbi; }

 private:
  const Profiler* profiler_;
};

#define RINGSIDE_PLUGIN_OF(version)                                                          \
  std::make_unique<PluginOf<version, abi::v##version::Profiler, abi::v##version::EventDescr, \
                            abi::v##version::EventStateArgs>>(symbol)

std::unique_ptr<ProfilerPlugin> make_plugin(int abi, const void* symbol) {
  switch (abi) {
    case 1:
      return RINGSIDE_PLUGIN_OF(1);
    case 2:
      return RINGSIDE_PLUGIN_OF(2);
    case 3:
      return RINGSIDE_PLUGIN_OF(3);
    case 4:
      return RINGSIDE_PLUGIN_OF(4);
    case 5:
      return RINGSIDE_PLUGIN_OF(5);
    case 6:
      return RINGSIDE_PLUGIN_OF(6);
    default:
      return RINGSIDE_PLUGIN_OF(7);
  }
}

#undef RINGSIDE_PLUGIN_OF

}  // namespace

std::unique_ptr<ProfilerPlugin> find_profiler(void* library, int abi) {
  for (int version = abi == 0 ? 7 : abi; version >= (abi == 0 ? 1 : abi); version--) {
    const std::string name = "ncclProfiler_v" + std::to_string(version);
    const void* symbol = dlsym(library, name.c_str());
    if (symbol != nullptr) return make_plugin(version, symbol);
  }
  return nullptr;
}

}  // namespace ringside::host
