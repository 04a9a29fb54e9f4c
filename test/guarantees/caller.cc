// SPDX-License-Identifier: Apache-2.0
#include "test/guarantees/caller.h"

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "test/abi/event_types.h"

namespace ringside::guarantees {

void give_up(const std::string& what) {
  std::fprintf(stderr, "guarantee_host: %s\n", what.c_str());
  _exit(1);
}

Row* map_rows() {
  const char* path = std::getenv("GUARANTEE_COUNTS");
  const int file = path != nullptr ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, kRows * sizeof(Row)) == 0) {
    memory = mmap(nullptr, kRows * sizeof(Row), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (memory == MAP_FAILED) {
    give_up("GUARANTEE_COUNTS must name a file");
  }
  close(file);
  return static_cast<Row*>(memory);
}

int Loaded::mask_ = 0;

Loaded::Loaded(const char* path, int abi)
    : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)),
      plugin_(library_ != nullptr ? host::find_profiler(library_, abi) : nullptr) {
  if (plugin_ == nullptr) {
    give_up(std::string("no profiler in ") + path);
  }
}

Loaded::~Loaded() {
  dlclose(library_);
}

void* Loaded::new_communicator(std::uint64_t hash, const std::string& name) {
  host::Callback init;
  init.comm_hash = hash;
  init.comm_name = name.c_str();
  init.n_nodes = 1;
  init.n_ranks = 2;
  void* context = nullptr;
  if (plugin_->init(init, &context, &mask_) != 0 || context == nullptr) {
    give_up("init failed");
  }
  return context;
}

Caller::Caller(const host::ProfilerPlugin& plugin, void* context, Row& row)
    : plugin_(plugin), context_(context), row_(row) {
  row_.tid = static_cast<std::uint64_t>(syscall(SYS_gettid));
}

template <class Call>
void Caller::counted(std::uint32_t type, Call call) {
  const auto index = static_cast<std::size_t>(std::countr_zero(type));
  row_.begun[index].fetch_add(1);
  const auto before = std::chrono::steady_clock::now();
  const int result = call();
  const auto took = std::chrono::steady_clock::now() - before;
  row_.returned[index].fetch_add(1);
  if (result != 0) {
    give_up("a callback returned " + std::to_string(result));
  }
  const auto took_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count());
  if (took_ns > row_.longest_ns) {
    row_.longest_ns = took_ns;
  }
}

void* Caller::start(std::uint32_t type, void* parent, void* group) {
  host::Callback event;
  event.type = type;
  event.func = "AllReduce";
  event.datatype = "ncclFloat32";
  event.algo = "RING";
  event.proto = "SIMPLE";
  event.count = 1024;
  event.seq_number = sequence_;
  event.comm_hash = 0xC0;
  event.n_channels = 1;
  event.n_steps = 1;
  event.is_send = 1;
  void* handle = nullptr;
  counted(type, [&] { return plugin_.start(event, {parent, group, getpid()}, context_, &handle); });
  if (handle == nullptr) {
    give_up("startEvent wrote no handle");
  }
  return handle;
}

void Caller::state(std::uint32_t type, void* handle, int state) {
  host::Callback event;
  event.type = type;
  event.state = state;
  event.trans_size = 4096;
  counted(type, [&] { return plugin_.state(event, handle); });
}

void Caller::stop(std::uint32_t type, void* handle) {
  counted(type, [&] { return plugin_.stop(handle); });
}

void Caller::operation() {
  constexpr int kSendGpuWait = 8;
  constexpr int kSendWait = 9;
  constexpr int kFirstWithApiEvents = 5;
  ++sequence_;
  const bool has_api = plugin_.abi() >= kFirstWithApiEvents;
  const std::uint32_t top_type = has_api ? abi::kGroupApi : abi::kGroup;
  void* top = start(top_type, nullptr);
  void* call = has_api ? start(abi::kCollApi, top) : top;
  void* coll = start(abi::kColl, call, top);
  stop(abi::kColl, coll);
  if (has_api) {
    stop(abi::kCollApi, call);
  }
  stop(top_type, top);
  void* proxy = start(abi::kProxyOp, coll);
  void* step = start(abi::kProxyStep, proxy);
  state(abi::kProxyStep, step, kSendGpuWait);
  state(abi::kProxyStep, step, kSendWait);
  stop(abi::kProxyStep, step);
  stop(abi::kProxyOp, proxy);
}

void Caller::operations(std::uint64_t count, int pause_us) {
  for (std::uint64_t i = 0; i < count; ++i) {
    operation();
    if (pause_us > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
  }
}

}  // namespace ringside::guarantees
