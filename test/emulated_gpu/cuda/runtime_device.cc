// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: errors, versions, devices.
#include <cstdio>
#include <cstring>
#include <cuda.h>

#include "activity.h"
#include "device.h"
#include "log.h"
#include "runtime_error.h"
#include "stream.h"

using namespace emugpu;

namespace {
thread_local cudaError_t last_error = cudaSuccess;
}  // namespace

namespace emugpu {

cudaError_t failure(cudaError_t error, const char* what) {
  last_error = error;
  trace("%s fails with error %d", what, static_cast<int>(error));
  return error;
}

}  // namespace emugpu

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return last_error;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorNotSupported:
      return "operation not supported by the emulation";
    default:
      return "error of the emulated CUDA runtime";
  }
}

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaErrorEmulated";
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kDriverVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* ordinal) {
  *ordinal = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int ordinal) {
  return result(set_current_device(ordinal), cudaErrorInvalidDevice, "cudaSetDevice");
}

cudaError_t cudaDeviceSynchronize() {
  activity::Call call("cudaDeviceSynchronize");
  Stream::synchronize_device(current_device());
  call.waited(activity::Wait::kDevice, activity::kNoStream);
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int size, int ordinal) {
  if (!is_device(ordinal)) return failure(cudaErrorInvalidDevice, "cudaDeviceGetPCIBusId");
  std::snprintf(bus_id, static_cast<std::size_t>(size), "%s", device(ordinal).pci_bus_id.c_str());
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* bus_id) {
  *ordinal = device_at_pci_bus_id(bus_id);
  return result(*ordinal >= 0, cudaErrorInvalidDevice, "cudaDeviceGetByPCIBusId");
}

// The runtime's attribute numbers are the driver's.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  const CUresult status =
      cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), ordinal);
  return result(status == CUDA_SUCCESS, cudaErrorInvalidDevice, "cudaDeviceGetAttribute");
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int first, int second) {
  *can_access = first != second;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

}  // extern "C"
