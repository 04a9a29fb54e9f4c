// SPDX-License-Identifier: Apache-2.0
//
// Calls that NCCL does not make, or only by mistake, through the real table of any version.
#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <limits>

#include "plugin/abi/versions.h"
#include "test/abi/event_types.h"
#include "test/guarantees/scenarios.h"

namespace ringside::guarantees {
namespace {

/// Counts calls that the plugin must count too: all but those without a place for a handle.
struct Expected {
  Row& row;
  std::uint64_t stale = 0;

  void of(std::size_t type) {
    ++row.begun[type];
    ++row.returned[type];
  }
  void of_no_event() {
    of(kTypes - 1);
    ++stale;
  }
};

void must_succeed(int result) {
  if (result != 0) {
    give_up("a callback did not return success");
  }
}

/// Fields that any version may lack, at their worst.
template <class Descr>
void fill_worst(Descr& descr, std::uint32_t type) {
  constexpr int kLeast = std::numeric_limits<int>::min();
  std::memset(static_cast<void*>(&descr), 0, sizeof descr);
  descr.type = static_cast<decltype(descr.type)>(type);
  descr.rank = kLeast;
  if (type == abi::kColl) {
    descr.coll.count = std::numeric_limits<std::size_t>::max();
    descr.coll.root = kLeast;
    descr.coll.seqNumber = std::numeric_limits<std::uint64_t>::max();
    if constexpr (requires { descr.coll.nChannels; }) descr.coll.nChannels = 255;
    if constexpr (requires { descr.coll.nMaxChannels; }) descr.coll.nMaxChannels = 255;
  } else if (type == abi::kP2p) {
    descr.p2p.count = std::numeric_limits<std::size_t>::max();
    descr.p2p.peer = kLeast;
  } else if (type == abi::kProxyOp) {
    descr.proxyOp.pid = kLeast;
    descr.proxyOp.channelId = 255;
    descr.proxyOp.nSteps = kLeast;
    descr.proxyOp.chunkSize = kLeast;
    descr.proxyOp.isSend = kLeast;
  } else if (type == abi::kProxyStep) {
    descr.proxyStep.step = kLeast;
  } else {
    // Every other event: all bits of its fields, and no pointer among them that may be followed.
    if constexpr (requires { descr.kernelCh; }) {
      if (type == abi::kKernelCh) descr.kernelCh.channelId = 255;
      if (type == abi::kNetPlugin) descr.netPlugin.id = std::numeric_limits<std::int64_t>::min();
    }
  }
}

template <class Profiler, class Descr, class Arguments>
void call_all(const Profiler& profiler, void* context, Expected& expected) {
  // Values of another top byte look like an event of ours in one process of 256, by the secret;
  // they are stale all the same, but of its type.
  const auto foreign = [](std::uintptr_t value) { return reinterpret_cast<void*>(value); };
  const std::array<void*, 5> strangers = {foreign(1), foreign(0x7ABCDEF01230),
                                          foreign(~std::uintptr_t{0} >> 8), &expected, context};
  Arguments arguments;
  std::memset(static_cast<void*>(&arguments), 0xFF, sizeof arguments);
  must_succeed(profiler.stopEvent(nullptr));
  expected.of_no_event();
  must_succeed(profiler.recordEventState(nullptr, 0, &arguments));
  expected.of_no_event();
  must_succeed(profiler.startEvent(context, nullptr, nullptr));
  void* untouched = &expected;
  must_succeed(profiler.startEvent(context, &untouched, nullptr));
  for (void* stranger : strangers) {
    must_succeed(profiler.stopEvent(stranger));
    expected.of_no_event();
    must_succeed(profiler.recordEventState(stranger, 22, nullptr));
    expected.of_no_event();
    must_succeed(profiler.finalize(stranger == context ? nullptr : stranger));
  }
  for (std::uint32_t bits : {0U, 3U, 1U << 5, 1U << 7, 0xFFU}) {
    Descr descr;
    fill_worst(descr, bits);
    void* handle = nullptr;
    must_succeed(profiler.startEvent(context, &handle, &descr));
    if (handle == nullptr) {
      give_up("no handle for an unknown type");
    }
    const bool known = bits == abi::kProxyCtrl || bits == abi::kNetPlugin;
    const bool has = known && requires {
      descr.kernelCh;
    };
    expected.of(bits == abi::kProxyCtrl ? 5 : has ? 7 : kTypes - 1);
  }
  std::vector<void*> handles;
  for (std::uint32_t type : {abi::kGroup, abi::kColl, abi::kP2p, abi::kProxyOp, abi::kProxyStep}) {
    const auto index = static_cast<std::size_t>(__builtin_ctz(type));
    for (void* of : {static_cast<void*>(nullptr), context, strangers[1]}) {
      for (void* parent : {static_cast<void*>(nullptr), strangers[0], strangers[3]}) {
        Descr descr;
        fill_worst(descr, type);
        descr.parentObj = parent;
        void* handle = nullptr;
        must_succeed(profiler.startEvent(of, &handle, &descr));
        expected.of(index);
        if (handle == nullptr) {
          give_up("startEvent wrote no handle");
        }
        handles.push_back(handle);
        for (int state : {-1, 0, 8, 19, 31, 32, 65536, std::numeric_limits<int>::max()}) {
          must_succeed(
              profiler.recordEventState(handle, state, state % 2 == 0 ? &arguments : nullptr));
          expected.of(index);
        }
        for (int stops = 0; stops < 3; ++stops) {
          must_succeed(profiler.stopEvent(handle));
          expected.of(index);
        }
      }
    }
  }
  must_succeed(profiler.finalize(context));
  must_succeed(profiler.finalize(context));
  // Their communicator is gone, and so are their events.
  for (void* handle : handles) {
    must_succeed(profiler.stopEvent(handle));
  }
  for (std::size_t i = 0; i < handles.size(); ++i) {
    expected.of(i / 9);
  }
}

template <class Profiler, class Descr, class Arguments>
void call_table(const Program& program, const char* symbol, void* context, Expected& expected) {
  const Loaded loaded(program.path, program.abi);
  call_all<Profiler, Descr, Arguments>(
      *static_cast<const Profiler*>(dlsym(loaded.library(), symbol)), context, expected);
}

}  // namespace

int absurd(const Program& program) {
  Loaded loaded(program.path, program.abi);
  void* context = loaded.new_communicator(1);
  Expected expected{program.rows[0]};
#define RINGSIDE_CALL_TABLE(number)                                \
  if (program.abi == number)                                       \
  call_table<abi::v##number::Profiler, abi::v##number::EventDescr, \
             abi::v##number::EventStateArgs>(program, "ncclProfiler_v" #number, context, expected)
  RINGSIDE_CALL_TABLE(1);
  RINGSIDE_CALL_TABLE(2);
  RINGSIDE_CALL_TABLE(3);
  RINGSIDE_CALL_TABLE(4);
  RINGSIDE_CALL_TABLE(5);
  RINGSIDE_CALL_TABLE(6);
  RINGSIDE_CALL_TABLE(7);
#undef RINGSIDE_CALL_TABLE
  std::printf("{\"stale\":%llu}\n", static_cast<unsigned long long>(expected.stale));
  std::fflush(stdout);
  return 0;
}

}  // namespace ringside::guarantees
