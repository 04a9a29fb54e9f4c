// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 3 of NCCL's profiler interface: NCCL 2.26 (native).
#include "plugin/abi/v3.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v3 {
namespace {

int init(void** context, int* mask) noexcept {
  *context = record::open_communicator({3, mask, false, 0, nullptr, 0, 0, 0, nullptr});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v3

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v3::Profiler ncclProfiler_v3;
const ringside::abi::v3::Profiler ncclProfiler_v3 = {
    "Ringside",
    ringside::abi::v3::init,
    ringside::abi::start_event<ringside::abi::v3::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v3::EventStateArgs>,
    ringside::abi::v3::finalize,
};
}
