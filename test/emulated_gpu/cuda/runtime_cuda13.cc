// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API as release 13 has it, beyond what the emulation has for NCCL: what PyTorch's
// libraries ask for. Modules and sharing between processes answer "not supported".
#include <cstring>

#include "activity.h"
#include "device.h"
#include "runtime_error.h"
#include "stream.h"

using namespace emugpu;

#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies
#undef cudaGraphAddDependencies
#undef cudaGraphAddNode
#undef cudaGraphNodeGetDependencies

#define REFUSE(name, ...)         \
  cudaError_t name(__VA_ARGS__) { \
    return not_supported(#name);  \
  }

extern "C" {

// Devices

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  if (!is_device(ordinal)) return failure(cudaErrorInvalidDevice, "cudaGetDeviceProperties");
  const Device& source = device(ordinal);
  cudaDeviceProp result{};
  source.name.copy(result.name, sizeof result.name - 1);
  std::memcpy(&result.uuid, source.uuid.data(), sizeof result.uuid);
  result.totalGlobalMem = kTotalMemory;
  result.sharedMemPerBlock = kSharedMemoryPerBlock;
  result.sharedMemPerBlockOptin = kSharedMemoryPerBlockOptin;
  result.sharedMemPerMultiprocessor = kSharedMemoryPerBlockOptin + 1024;
  result.regsPerBlock = result.regsPerMultiprocessor = 65536;
  result.warpSize = kWarpSize;
  result.maxThreadsPerBlock = kMaxThreadsPerBlock;
  result.maxThreadsPerMultiProcessor = 2048;
  result.maxBlocksPerMultiProcessor = 32;
  result.maxThreadsDim[0] = result.maxThreadsDim[1] = 1024;
  result.maxThreadsDim[2] = 64;
  result.maxGridSize[0] = 0x7fffffff;
  result.maxGridSize[1] = result.maxGridSize[2] = 65535;
  result.major = kComputeCapabilityMajor;
  result.minor = kComputeCapabilityMinor;
  result.multiProcessorCount = kMultiprocessorCount;
  result.textureAlignment = result.surfaceAlignment = 512;
  result.l2CacheSize = 50 << 20;
  result.canMapHostMemory = result.unifiedAddressing = result.concurrentKernels = 1;
  result.streamPrioritiesSupported = 1;
  result.pciBusID = source.pci_bus;
  *properties = result;
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t size, unsigned) {
  return cudaMalloc(pointer, size);
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int, const void* source, int, std::size_t size,
                                cudaStream_t stream) {
  const activity::Call call("cudaMemcpyPeerAsync");
  return cudaMemcpyAsync(destination, source, size, cudaMemcpyDefault, stream);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                  unsigned) {
  Stream::from_handle(stream).enqueue([=] { function(stream, cudaSuccess, data); });
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                              std::size_t source_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  const activity::Call call("cudaMemcpy2DAsync");
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        cudaMemcpyAsync(static_cast<char*>(destination) + row * destination_pitch,
                        static_cast<const char*>(source) + row * source_pitch, width, kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}

// Capture, with edges. Dependencies are not kept (graph.h).

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*,
                                        cudaGraph_t*, const cudaGraphNode_t**, std::size_t*);

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t, cudaGraphNode_t*,
                                                const cudaGraphEdgeData*, std::size_t, unsigned) {
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                     const cudaGraphEdgeData*, std::size_t) {
  return cudaSuccess;
}

REFUSE(cudaStreamBeginCaptureToGraph, cudaStream_t, cudaGraph_t, const cudaGraphNode_t*,
       const cudaGraphEdgeData*, std::size_t, cudaStreamCaptureMode)
REFUSE(cudaGraphAddNode, cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
       const cudaGraphEdgeData*, std::size_t, cudaGraphNodeParams*)
REFUSE(cudaGraphConditionalHandleCreate, cudaGraphConditionalHandle*, cudaGraph_t, unsigned,
       unsigned)
REFUSE(cudaGraphGetNodes, cudaGraph_t, cudaGraphNode_t*, std::size_t*)
REFUSE(cudaGraphNodeGetDependencies, cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*,
       std::size_t*)
REFUSE(cudaDeviceGetGraphMemAttribute, int, cudaGraphMemAttributeType, void*)
REFUSE(cudaDeviceSetGraphMemAttribute, int, cudaGraphMemAttributeType, void*)

// Memory pools, sharing between processes, symbols

REFUSE(cudaDeviceGetDefaultMemPool, cudaMemPool_t*, int)
REFUSE(cudaMemPoolGetAttribute, cudaMemPool_t, cudaMemPoolAttr, void*)
REFUSE(cudaMemPoolSetAccess, cudaMemPool_t, const cudaMemAccessDesc*, std::size_t)
REFUSE(cudaMemPoolTrimTo, cudaMemPool_t, std::size_t)
REFUSE(cudaIpcGetEventHandle, cudaIpcEventHandle_t*, cudaEvent_t)
REFUSE(cudaIpcOpenEventHandle, cudaEvent_t*, cudaIpcEventHandle_t)
REFUSE(cudaGetSymbolAddress, void**, const void*)
REFUSE(cudaMemcpyToSymbol, const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind)

// Modules

REFUSE(cudaLibraryLoadData, cudaLibrary_t*, const void*, cudaJitOption*, void**, unsigned,
       cudaLibraryOption*, void**, unsigned)
REFUSE(cudaLibraryLoadFromFile, cudaLibrary_t*, const char*, cudaJitOption*, void**, unsigned,
       cudaLibraryOption*, void**, unsigned)
REFUSE(cudaLibraryUnload, cudaLibrary_t)
REFUSE(cudaLibraryGetKernel, cudaKernel_t*, cudaLibrary_t, const char*)
REFUSE(cudaLibraryGetKernelCount, unsigned*, cudaLibrary_t)
REFUSE(cudaLibraryGetGlobal, void**, std::size_t*, cudaLibrary_t, const char*)
REFUSE(cudaLibraryGetManaged, void**, std::size_t*, cudaLibrary_t, const char*)
REFUSE(cudaLibraryGetUnifiedFunction, void**, cudaLibrary_t, const char*)

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   std::size_t, unsigned) {
  *blocks = 1;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int size, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, size, shared, 0);
}

}  // extern "C"
