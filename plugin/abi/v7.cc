// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 7 of NCCL's profiler interface: NCCL 2.31 (native).
#include "plugin/abi/v7.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v7 {
namespace {

int init(void** context, std::uint64_t hash, int* mask, const char* name, int nnodes, int nranks,
         int rank, Logger logger) noexcept {
  *context = record::open_communicator({7, mask, true, hash, name, nnodes, nranks, rank, logger});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v7

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v7::Profiler ncclProfiler_v7;
const ringside::abi::v7::Profiler ncclProfiler_v7 = {
    "Ringside",
    ringside::abi::v7::init,
    ringside::abi::start_event<ringside::abi::v7::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v7::EventStateArgs>,
    ringside::abi::v7::finalize,
};
}
