// SPDX-License-Identifier: Apache-2.0
#include "names.h"

namespace {

struct Name {
  CUpti_CallbackDomain domain;
  std::string_view function;
  std::uint32_t id;
  const char* full;
};

#define RUNTIME(function, version)                                                           \
  Name {                                                                                     \
    CUPTI_CB_DOMAIN_RUNTIME_API, #function, CUPTI_RUNTIME_TRACE_CBID_##function##_##version, \
        #function "_" #version                                                               \
  }
#define DRIVER(function)                                                                 \
  Name {                                                                                 \
    CUPTI_CB_DOMAIN_DRIVER_API, #function, CUPTI_DRIVER_TRACE_CBID_##function, #function \
  }

constexpr Name kNames[] = {
    RUNTIME(cudaDeviceSynchronize, v3020),
    RUNTIME(cudaEventQuery, v3020),
    RUNTIME(cudaEventRecord, v3020),
    RUNTIME(cudaEventRecordWithFlags, v11010),
    RUNTIME(cudaEventSynchronize, v3020),
    RUNTIME(cudaLaunchCooperativeKernel, v9000),
    RUNTIME(cudaLaunchKernel, v7000),
    RUNTIME(cudaLaunchKernelExC, v11060),
    RUNTIME(cudaMemcpy, v3020),
    RUNTIME(cudaMemcpy2DAsync, v3020),
    RUNTIME(cudaMemcpyAsync, v3020),
    RUNTIME(cudaMemcpyPeerAsync, v4000),
    RUNTIME(cudaMemset, v3020),
    RUNTIME(cudaMemsetAsync, v3020),
    RUNTIME(cudaStreamQuery, v3020),
    RUNTIME(cudaStreamSynchronize, v3020),
    RUNTIME(cudaStreamWaitEvent, v3020),
    DRIVER(cuLaunchKernel),
    DRIVER(cuLaunchKernelEx),
};

}  // namespace

std::optional<std::uint32_t> callback_id(CUpti_CallbackDomain domain, std::string_view function) {
  for (const Name& name : kNames) {
    if (name.domain == domain && name.function == function) return name.id;
  }
  return std::nullopt;
}

const char* callback_name(CUpti_CallbackDomain domain, std::uint32_t id) {
  for (const Name& name : kNames) {
    if (name.domain == domain && name.id == id) return name.full;
  }
  return nullptr;
}
