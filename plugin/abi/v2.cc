// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 2 of NCCL's profiler interface: NCCL 2.24 and 2.25 (native).
#include "plugin/abi/v2.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v2 {
namespace {

int init(void** context, int* mask) noexcept {
  *context = record::open_communicator({2, mask, false, 0, nullptr, 0, 0, 0, nullptr});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v2

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v2::Profiler ncclProfiler_v2;
const ringside::abi::v2::Profiler ncclProfiler_v2 = {
    "Ringside",
    ringside::abi::v2::init,
    ringside::abi::start_event<ringside::abi::v2::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v2::EventStateArgs>,
    ringside::abi::v2::finalize,
};
}
