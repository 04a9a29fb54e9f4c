// SPDX-License-Identifier: Apache-2.0
//
// Any sequence of NCCL's calls, through the tables of all versions: unknown types and states, names
// that are NULL, handles and contexts that are stale, doubled, foreign or NULL. The drain thread
// writes traces of all that meanwhile.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <type_traits>
#include <unistd.h>

#include "plugin/abi/versions.h"
#include "plugin/record/host_side.h"
#include "ringside/ringside.h"
#include "test/fuzz/input.h"

extern "C" {
extern const ringside::abi::v1::Profiler ncclProfiler_v1;
extern const ringside::abi::v2::Profiler ncclProfiler_v2;
extern const ringside::abi::v3::Profiler ncclProfiler_v3;
extern const ringside::abi::v4::Profiler ncclProfiler_v4;
extern const ringside::abi::v5::Profiler ncclProfiler_v5;
extern const ringside::abi::v6::Profiler ncclProfiler_v6;
extern const ringside::abi::v7::Profiler ncclProfiler_v7;
}

namespace {

using namespace ringside;
using fuzz::Input;

int g_mask = 0;

struct Contexts {
  std::mutex mutex;
  std::array<void*, 8> all{};
};
Contexts g_contexts;

void* context_of(Input& input) {
  static int opened = 0;
  const std::uint8_t which = input.byte();
  if (which == 0xFF) {
    return nullptr;
  }
  if (which == 0xFE) {
    return input.take<void*>();
  }
  const std::lock_guard lock(g_contexts.mutex);
  void*& context = g_contexts.all[which % g_contexts.all.size()];
  // The plugin keeps some facts of a communicator for ever, so inputs share communicators.
  if (context == nullptr && opened < 64) {
    ++opened;
    context = record::open_communicator(
        {1 + input.byte() % 7, &g_mask, input.byte() % 2 == 0, input.take<std::uint64_t>(),
         input.byte() % 2 == 0 ? "world" : nullptr, 1, 2, 0, nullptr});
  }
  return context;
}

const char* name_of(Input& input) {
  constexpr std::array<const char*, 9> kNames{
      nullptr,
      "",
      "AllReduce",
      "Send",
      "ncclFloat32",
      "RING",
      "SIMPLE",
      "a name of its own",
      "one that is longer than any that NCCL would ever give to anything"};
  return kNames[input.below(kNames.size())];
}

template <typename Field>
void fill(Field& field, Input& input) {
  if constexpr (std::is_same_v<Field, const char*>) {
    field = name_of(input);
  } else if constexpr (std::is_same_v<Field, bool>) {
    field = input.byte() % 2 != 0;
  } else {
    field = input.take<Field>();
  }
}

template <typename Coll>
void fill_coll(Coll& coll, Input& input) {
  fill(coll.func, input);
  fill(coll.datatype, input);
  fill(coll.count, input);
  if constexpr (requires { coll.seqNumber; }) fill(coll.seqNumber, input);
  if constexpr (requires { coll.root; }) fill(coll.root, input);
  if constexpr (requires { coll.peer; }) fill(coll.peer, input);
  if constexpr (requires { coll.algo; }) fill(coll.algo, input);
  if constexpr (requires { coll.proto; }) fill(coll.proto, input);
  if constexpr (requires { coll.name; }) fill(coll.name, input);
  if constexpr (requires { coll.nChannels; }) fill(coll.nChannels, input);
  if constexpr (requires { coll.nMaxChannels; }) fill(coll.nMaxChannels, input);
  if constexpr (requires { coll.parentGroup; }) fill(coll.parentGroup, input);
}

template <typename Descr>
void fill_payload(Descr& descr, Input& input) {
  switch (static_cast<std::uint64_t>(descr.type)) {
    case 2:
      return fill_coll(descr.coll, input);
    case 4:
      return fill_coll(descr.p2p, input);
    case 8:
      descr.proxyOp.pid = input.byte() % 4 == 0 ? input.take<int>() : getpid();
      fill(descr.proxyOp.channelId, input);
      fill(descr.proxyOp.peer, input);
      fill(descr.proxyOp.nSteps, input);
      fill(descr.proxyOp.chunkSize, input);
      return fill(descr.proxyOp.isSend, input);
    default:
      break;
  }
  if constexpr (requires { descr.kernelCh; }) {
    if (descr.type == 64) fill(descr.kernelCh.channelId, input);
    if (descr.type == 128) {
      fill(descr.netPlugin.id, input);
      descr.netPlugin.data = nullptr;
    }
  }
  if constexpr (requires { descr.collApi; }) {
    if (descr.type == 512) {
      fill(descr.collApi.func, input);
      fill(descr.collApi.datatype, input);
      fill(descr.collApi.count, input);
      fill(descr.collApi.graphCaptured, input);
    }
  }
}

struct Handles {
  std::array<void*, 32> all{};
  void* any(Input& input) {
    const std::uint8_t which = input.byte();
    return which == 0xFF ? input.take<void*>() : all[which % all.size()];
  }
};

template <typename Descr, typename Args, typename Profiler>
void call(const Profiler& profiler, Input& input, Handles& handles) {
  switch (input.byte() % 8) {
    case 0:
    case 1:
    case 2: {
      Descr descr{};
      const std::uint8_t type = input.byte();
      descr.type = static_cast<decltype(descr.type)>(type < 0xF0 ? std::uint64_t{1} << (type % 17)
                                                                 : input.take<std::uint64_t>());
      descr.parentObj = handles.any(input);
      descr.rank = input.take<int>();
      fill_payload(descr, input);
      void** const handle = &handles.all[input.below(handles.all.size())];
      if (profiler.startEvent(context_of(input), handle, &descr) != 0 || *handle == nullptr) {
        std::abort();
      }
      break;
    }
    case 3:
    case 4: {
      Args args{};
      const int state = input.byte() < 0xF0 ? input.byte() % 34 : input.take<int>();
      if (profiler.recordEventState(handles.any(input), state,
                                    input.byte() % 8 == 0 ? nullptr : &args) != 0) {
        std::abort();
      }
      break;
    }
    case 5:
    case 6:
      if (profiler.stopEvent(handles.any(input)) != 0) {
        std::abort();
      }
      break;
    default: {
      const std::uint8_t what = input.byte();
      if (what < 4) {
        const std::lock_guard lock(g_contexts.mutex);
        void*& context = g_contexts.all[input.below(g_contexts.all.size())];
        profiler.finalize(context);
        context = nullptr;
      } else if (what < 16) {
        ringside_stop();
      } else if (what < 20) {
        ringside_mark("mark \" \n");
        ringside_push("range", "a\\b:1");
        ringside_pop();
      } else {
        ringside_start(nullptr);
      }
      break;
    }
  }
}

bool prepare() {
  const auto made =
      std::filesystem::temp_directory_path() / ("ringside-fuzz-" + std::to_string(getpid()));
  setenv("RINGSIDE_DIR", made.c_str(), 1);
  setenv("RINGSIDE_RING_DIR", "none", 1);
  setenv("RINGSIDE_MAX_BYTES", "4M", 1);
  setenv("RINGSIDE_EVENTS", "all", 1);
  setenv("RINGSIDE_LOG", "/dev/null", 1);
  std::atexit([] {
    std::error_code error;  // the drain thread may make files yet
    std::filesystem::remove_all(std::getenv("RINGSIDE_DIR"), error);
  });
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool prepared = prepare();
  (void)prepared;
  Input input(data, size);
  Handles handles;
  while (!input.is_empty()) {
    switch (input.byte() % 7) {
      case 0:
        call<abi::v1::EventDescr, abi::v1::EventStateArgs>(ncclProfiler_v1, input, handles);
        break;
      case 1:
        call<abi::v2::EventDescr, abi::v2::EventStateArgs>(ncclProfiler_v2, input, handles);
        break;
      case 2:
        call<abi::v3::EventDescr, abi::v3::EventStateArgs>(ncclProfiler_v3, input, handles);
        break;
      case 3:
        call<abi::v4::EventDescr, abi::v4::EventStateArgs>(ncclProfiler_v4, input, handles);
        break;
      case 4:
        call<abi::v5::EventDescr, abi::v5::EventStateArgs>(ncclProfiler_v5, input, handles);
        break;
      case 5:
        call<abi::v6::EventDescr, abi::v6::EventStateArgs>(ncclProfiler_v6, input, handles);
        break;
      default:
        call<abi::v7::EventDescr, abi::v7::EventStateArgs>(ncclProfiler_v7, input, handles);
        break;
    }
  }
  return 0;
}
