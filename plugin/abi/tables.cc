// SPDX-License-Identifier: Apache-2.0
//
// The tables that NCCL looks for, one for each version of its profiler interface. The versions
// differ in their descriptors, which translate.h reads, and in the arguments of init.
#include "plugin/abi/translate.h"
#include "plugin/abi/versions.h"
#include "plugin/record/host_side.h"

namespace ringside::abi {
namespace {

/// Versions 1 to 3 do not identify the communicator.
template <int kVersion>
int init_without_identity(void** context, int* mask) noexcept {
  *context = record::open_communicator({kVersion, mask, false, 0, nullptr, 0, 0, 0, nullptr});
  return 0;
}

int init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int nnodes, int nranks,
            int rank, record::NcclLogger logger) noexcept {
  *context = record::open_communicator({4, mask, true, hash, name, nnodes, nranks, rank, logger});
  return 0;
}

/// Versions 5 to 7.
template <int kVersion>
int init_with_identity(void** context, std::uint64_t hash, int* mask, const char* name, int nnodes,
                       int nranks, int rank, record::NcclLogger logger) noexcept {
  *context =
      record::open_communicator({kVersion, mask, true, hash, name, nnodes, nranks, rank, logger});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace

/// A table, followed by NULL pointers: for an NCCL that looks for members which were added to this
/// version after it was released.
template <typename Profiler>
struct Exported {
  Profiler table;
  const void* later_members[8];
};

}  // namespace ringside::abi

// NCCL looks for these names. A constant has to be declared `extern` to be seen from outside.
#define RINGSIDE_TABLE(version, its_init)                                                         \
  extern "C" {                                                                                    \
  __attribute__((visibility(                                                                      \
      "default"))) extern const ringside::abi::Exported<ringside::abi::version::Profiler>         \
      ncclProfiler_##version;                                                                     \
  const ringside::abi::Exported<ringside::abi::version::Profiler> ncclProfiler_##version = {      \
      {"Ringside", ringside::abi::its_init,                                                       \
       ringside::abi::start_event<ringside::abi::version::EventDescr>, ringside::abi::stop_event, \
       ringside::abi::record_event_state<ringside::abi::version::EventStateArgs>,                 \
       ringside::abi::finalize},                                                                  \
      {}};                                                                                        \
  }

RINGSIDE_TABLE(v1, init_without_identity<1>)
RINGSIDE_TABLE(v2, init_without_identity<2>)
RINGSIDE_TABLE(v3, init_without_identity<3>)
RINGSIDE_TABLE(v4, init_v4)
RINGSIDE_TABLE(v5, init_with_identity<5>)
RINGSIDE_TABLE(v6, init_with_identity<6>)
RINGSIDE_TABLE(v7, init_with_identity<7>)
