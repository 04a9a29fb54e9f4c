// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 6 of NCCL's profiler interface: NCCL 2.29 and 2.30 (native).
#include "plugin/abi/v6.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v6 {
namespace {

int init(void** context, std::uint64_t hash, int* mask, const char* name, int nnodes, int nranks,
         int rank, Logger logger) noexcept {
  *context = record::open_communicator({6, mask, true, hash, name, nnodes, nranks, rank, logger});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v6

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v6::Profiler ncclProfiler_v6;
const ringside::abi::v6::Profiler ncclProfiler_v6 = {
    "Ringside",
    ringside::abi::v6::init,
    ringside::abi::start_event<ringside::abi::v6::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v6::EventStateArgs>,
    ringside::abi::v6::finalize,
};
}
