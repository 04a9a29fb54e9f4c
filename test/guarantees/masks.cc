// SPDX-License-Identifier: Apache-2.0
//
// Activation masks: several NCCLs in one process, of which some are unloaded.
#include <cstdio>
#include <sys/mman.h>
#include <unistd.h>

#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

/// The data segment of an NCCL, with its mask.
class Nccl {
 public:
  explicit Nccl(const host::ProfilerPlugin& plugin)
      : plugin_(plugin),
        mask_(static_cast<int*>(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}

  void* init(std::uint64_t hash) const {
    host::Callback init;
    init.comm_hash = hash;
    init.n_nodes = 1;
    init.n_ranks = 2;
    void* context = nullptr;
    if (plugin_.init(init, &context, mask_) != 0 || context == nullptr) {
      give_up("init failed");
    }
    return context;
  }
  bool is_asked() const { return __atomic_load_n(mask_, __ATOMIC_RELAXED) != 0; }
  void write(int mask) const { __atomic_store_n(mask_, mask, __ATOMIC_RELAXED); }
  void unload() const { munmap(mask_, sizeof(int)); }

 private:
  const host::ProfilerPlugin& plugin_;
  int* mask_;
};

}  // namespace

int several_nccls(const Program& program) {
  Loaded loaded(program.path, program.abi);
  const host::ProfilerPlugin& plugin = loaded.plugin();
  const auto start =
      reinterpret_cast<decltype(&ringside_start)>(c_function(loaded, "ringside_start"));
  const auto stop = reinterpret_cast<decltype(&ringside_stop)>(c_function(loaded, "ringside_stop"));
  const Nccl first(plugin);
  const Nccl second(plugin);
  void* const of_first = first.init(1);
  void* const of_second = second.init(2);
  require(first.is_asked() && second.is_asked(), "an NCCL is not asked for events");
  stop();
  require(!first.is_asked() && !second.is_asked(), "stop does not reach both");
  start(nullptr);
  require(first.is_asked() && second.is_asked(), "start does not reach both");
  Caller(plugin, of_first, program.rows[0]).operations(10, 0);
  Caller(plugin, of_second, program.rows[1]).operations(10, 0);

  plugin.finalize(of_second);
  second.unload();
  stop();
  require(!first.is_asked(), "stop does not reach the NCCL that is left");
  start(nullptr);
  require(first.is_asked(), "start does not reach the NCCL that is left");

  void* const another = first.init(3);
  plugin.finalize(another);
  plugin.finalize(another);
  plugin.finalize(of_second);
  stop();
  require(!first.is_asked(), "a doubled finalize drops the mask of another context");
  require(status_of(loaded).communicators == 1, "a doubled finalize is counted");
  plugin.finalize(of_first);
  first.unload();
  start(nullptr);
  stop();
  require(status_of(loaded).actual_mask == -1, "there is no NCCL, and a mask");
  return 0;
}

int foreign_mask(const Program& program) {
  Loaded loaded(program.path, program.abi);
  const auto start =
      reinterpret_cast<decltype(&ringside_start)>(c_function(loaded, "ringside_start"));
  const auto stop = reinterpret_cast<decltype(&ringside_stop)>(c_function(loaded, "ringside_stop"));
  const Nccl nccl(loaded.plugin());
  Caller caller(loaded.plugin(), nccl.init(1), program.rows[0]);
  // A mask that the plugin writes itself is nobody else's change, whenever it looks.
  for (int i = 0; i < 2000; ++i) {
    const ringside_start_options collectives = {sizeof collectives, "coll"};
    start(&collectives);
    start(nullptr);
    stop();
    usleep(100);
  }
  start(nullptr);
  caller.operations(10, 0);
  usleep(100'000);
  nccl.write(0);
  std::printf("changed\n");
  std::fflush(stdout);
  for (int waited = 0; !nccl.is_asked() && waited < 2000; ++waited) {
    usleep(10'000);
  }
  require(nccl.is_asked(), "a start does not write the mask again");
  caller.operations(10, 0);
  std::fgetc(stdin);  // who has asked for the start is still to be answered
  return 0;
}

}  // namespace ringside::guarantees
