// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 4 of NCCL's profiler interface: NCCL 2.27 (native).
#include "plugin/abi/v4.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v4 {
namespace {

int init(void** context, int* mask, const char* name, std::uint64_t hash, int nnodes, int nranks,
         int rank, Logger logger) noexcept {
  *context = record::open_communicator({4, mask, true, hash, name, nnodes, nranks, rank, logger});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v4

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v4::Profiler ncclProfiler_v4;
const ringside::abi::v4::Profiler ncclProfiler_v4 = {
    "Ringside",
    ringside::abi::v4::init,
    ringside::abi::start_event<ringside::abi::v4::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v4::EventStateArgs>,
    ringside::abi::v4::finalize,
};
}
