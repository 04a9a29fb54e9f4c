// SPDX-License-Identifier: Apache-2.0
//
// The emulation's records in CUPTI's form.
#pragma once

#include <cstdint>
#include <cupti.h>
#include <optional>

#include "cuda/activity.h"

// Nothing if CUPTI has no number for the function.
std::optional<CUpti_ActivityAPI> api_call(const emugpu::activity::Record& record);
CUpti_ActivityExternalCorrelation external_correlation(CUpti_ExternalCorrelationKind kind,
                                                       std::uint64_t id, std::uint32_t correlation);
CUpti_ActivityKernel10 kernel(const emugpu::activity::Record& record);
CUpti_ActivityMemcpy6 copy(const emugpu::activity::Record& record);
CUpti_ActivityMemset4 set(const emugpu::activity::Record& record);
CUpti_ActivitySynchronization2 synchronization(const emugpu::activity::Record& record);
CUpti_ActivityCudaEvent2 event(const emugpu::activity::Record& record);
