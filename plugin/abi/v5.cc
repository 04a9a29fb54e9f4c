// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 5 of NCCL's profiler interface: NCCL 2.28 (native).
#include "plugin/abi/v5.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v5 {
namespace {

int init(void** context, std::uint64_t hash, int* mask, const char* name, int nnodes, int nranks,
         int rank, Logger logger) noexcept {
  *context = record::open_communicator({5, mask, true, hash, name, nnodes, nranks, rank, logger});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v5

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v5::Profiler ncclProfiler_v5;
const ringside::abi::v5::Profiler ncclProfiler_v5 = {
    "Ringside",
    ringside::abi::v5::init,
    ringside::abi::start_event<ringside::abi::v5::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v5::EventStateArgs>,
    ringside::abi::v5::finalize,
};
}
