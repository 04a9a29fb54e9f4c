// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <pthread.h>
#include <unistd.h>

#include "names.h"

using emugpu::activity::Memory;
using emugpu::activity::Record;
using emugpu::activity::Wait;

namespace {

// A device has one context.
std::uint32_t context_of(const Record& record) {
  return record.device + 1;
}

CUpti_ActivityMemoryKind memory_kind(Memory memory) {
  switch (memory) {
    case Memory::kPageable:
      return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    case Memory::kPinned:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case Memory::kDevice:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }
  return CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
}

CUpti_ActivityMemcpyKind copy_kind(const Record& record) {
  const bool to_device = record.to == Memory::kDevice;
  if (record.from == Memory::kDevice) {
    return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  }
  return to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

CUpti_ActivitySynchronizationType type_of(Wait wait) {
  switch (wait) {
    case Wait::kEvent:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    case Wait::kStreamForEvent:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    case Wait::kStream:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    case Wait::kDevice:
      return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  }
  return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
}

// What all work on a stream has.
template <class T>
T work(CUpti_ActivityKind kind, const Record& record) {
  T result{};
  result.kind = kind;
  result.start = record.start;
  result.end = record.end;
  result.deviceId = record.device;
  result.contextId = context_of(record);
  result.streamId = record.stream;
  result.correlationId = record.correlation;
  return result;
}

}  // namespace

std::optional<CUpti_ActivityAPI> api_call(const Record& record) {
  const auto id = callback_id(
      record.driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API, record.name);
  if (!id) return std::nullopt;
  CUpti_ActivityAPI result{};
  result.kind = record.driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  result.cbid = *id;
  result.start = record.start;
  result.end = record.end;
  result.processId = static_cast<std::uint32_t>(getpid());
  // CUPTI has no more than this of pthread_self().
  result.threadId = static_cast<std::uint32_t>(pthread_self());
  result.correlationId = record.correlation;
  return result;
}

CUpti_ActivityExternalCorrelation external_correlation(CUpti_ExternalCorrelationKind kind,
                                                       std::uint64_t id,
                                                       std::uint32_t correlation) {
  CUpti_ActivityExternalCorrelation result{};
  result.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  result.externalKind = kind;
  result.externalId = id;
  result.correlationId = correlation;
  return result;
}

CUpti_ActivityKernel10 kernel(const Record& record) {
  auto result = work<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, record);
  result.completed = record.end;
  result.name = record.name;
  result.gridX = static_cast<std::int32_t>(record.grid[0]);
  result.gridY = static_cast<std::int32_t>(record.grid[1]);
  result.gridZ = static_cast<std::int32_t>(record.grid[2]);
  result.blockX = static_cast<std::int32_t>(record.block[0]);
  result.blockY = static_cast<std::int32_t>(record.block[1]);
  result.blockZ = static_cast<std::int32_t>(record.block[2]);
  return result;
}

CUpti_ActivityMemcpy6 copy(const Record& record) {
  auto result = work<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, record);
  result.copyKind = static_cast<std::uint8_t>(copy_kind(record));
  result.srcKind = static_cast<std::uint8_t>(memory_kind(record.from));
  result.dstKind = static_cast<std::uint8_t>(memory_kind(record.to));
  result.bytes = record.bytes;
  return result;
}

CUpti_ActivityMemset4 set(const Record& record) {
  auto result = work<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, record);
  result.value = record.value;
  result.bytes = record.bytes;
  result.memoryKind = static_cast<std::uint16_t>(memory_kind(record.to));
  return result;
}

CUpti_ActivitySynchronization2 synchronization(const Record& record) {
  CUpti_ActivitySynchronization2 result{};
  result.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  result.type = type_of(record.wait);
  result.start = record.start;
  result.end = record.end;
  result.correlationId = record.correlation;
  result.contextId = context_of(record);
  result.streamId = record.stream;
  result.cudaEventId = record.event;
  return result;
}

CUpti_ActivityCudaEvent2 event(const Record& record) {
  CUpti_ActivityCudaEvent2 result{};
  result.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  result.correlationId = record.correlation;
  result.contextId = context_of(record);
  result.streamId = record.stream;
  result.eventId = record.event;
  result.deviceId = record.device;
  result.deviceTimestamp = record.end;
  return result;
}
