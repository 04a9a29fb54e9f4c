// SPDX-License-Identifier: Apache-2.0
//
// Adapter for version 1 of NCCL's profiler interface: NCCL 2.23 (native). Functions, datatypes,
// algorithms and protocols are numbers here.
#include "plugin/abi/v1.h"

#include "plugin/abi/translate.h"
#include "plugin/record/host_side.h"

namespace ringside::abi::v1 {
namespace {

int init(void** context, int* mask) noexcept {
  *context = record::open_communicator({1, mask, false, 0, nullptr, 0, 0, 0, nullptr});
  return 0;
}

int finalize(void* context) noexcept {
  record::close_communicator(context);
  return 0;
}

}  // namespace
}  // namespace ringside::abi::v1

extern "C" {
__attribute__((visibility("default"))) extern const ringside::abi::v1::Profiler ncclProfiler_v1;
const ringside::abi::v1::Profiler ncclProfiler_v1 = {
    "Ringside",
    ringside::abi::v1::init,
    ringside::abi::start_event<ringside::abi::v1::EventDescr>,
    ringside::abi::stop_event,
    ringside::abi::record_event_state<ringside::abi::v1::EventStateArgs>,
    ringside::abi::v1::finalize,
};
}
