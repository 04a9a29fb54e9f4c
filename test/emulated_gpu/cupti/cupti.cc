// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's activity API (libcupti.so.13), as far as PyTorch's profiler calls it: records of what the
// emulation does, in buffers of the caller's. There are no callbacks within calls of CUDA.
#include <cstring>
#include <cupti.h>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda/activity.h"
#include "cuda/log.h"
#include "names.h"
#include "records.h"

using namespace emugpu;
using activity::Kind;

namespace {

// Fills the caller's buffers. Each record has a slot of its own, and zeros behind it: the caller
// may have been compiled with a later release, whose records are longer.
class Buffers {
 public:
  void set_callbacks(CUpti_BuffersCallbackRequestFunc request,
                     CUpti_BuffersCallbackCompleteFunc completed) {
    const std::lock_guard lock(mutex_);
    request_ = request;
    completed_ = completed;
  }

  void enable(CUpti_ActivityKind kind, bool on) {
    const std::lock_guard lock(mutex_);
    if (on) {
      kinds_.insert(kind);
    } else {
      kinds_.erase(kind);
    }
  }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return kinds_.empty();
  }

  template <class T>
  void add(const T& record) {
    static_assert(sizeof(T) <= kSlotBytes);
    const std::lock_guard lock(mutex_);
    if (kinds_.count(record.kind) == 0 || request_ == nullptr) return;
    if (used_ + kSlotBytes > size_) {
      complete();
      std::size_t most_records = 0;
      request_(&buffer_, &size_, &most_records);
      if (buffer_ == nullptr) size_ = 0;
    }
    if (used_ + kSlotBytes > size_) {
      ++dropped_;
      return;
    }
    std::memset(buffer_ + used_, 0, kSlotBytes);
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += kSlotBytes;
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    complete();
  }

  std::size_t take_dropped() {
    const std::lock_guard lock(mutex_);
    return std::exchange(dropped_, 0);
  }

  static constexpr std::size_t kSlotBytes = 256;

 private:
  void complete() {
    if (buffer_ != nullptr) completed_(nullptr, 0, buffer_, size_, used_);
    buffer_ = nullptr;
    size_ = used_ = 0;
  }

  std::mutex mutex_;
  std::set<CUpti_ActivityKind> kinds_;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed_ = nullptr;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  std::size_t dropped_ = 0;
};

Buffers& buffers() {
  static auto* const instance = new Buffers;
  return *instance;
}

// The work that the thread's caller says it is doing, by kind.
thread_local std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>> external_ids;

void take(const activity::Record& record) {
  switch (record.kind) {
    case Kind::kCall:
      for (const auto& [kind, ids] : external_ids) {
        if (!ids.empty()) buffers().add(external_correlation(kind, ids.back(), record.correlation));
      }
      if (const auto call = api_call(record)) buffers().add(*call);
      return;
    case Kind::kKernel:
      return buffers().add(kernel(record));
    case Kind::kCopy:
      return buffers().add(copy(record));
    case Kind::kSet:
      return buffers().add(set(record));
    case Kind::kSynchronization:
      return buffers().add(synchronization(record));
    case Kind::kEvent:
      return buffers().add(event(record));
  }
}

CUptiResult not_supported(const char* what) {
  trace("%s is not supported", what);
  return CUPTI_ERROR_NOT_SUPPORTED;
}

}  // namespace

extern "C" {

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "an error of the emulated CUPTI";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  *name = callback_name(domain, id);
  return *name != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// Whoever subscribes hears nothing.

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  static int only = 0;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&only);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                CUpti_CallbackId) {
  return not_supported("cuptiEnableCallback");
}

CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  return not_supported("cuptiEnableDomain");
}

CUptiResult cuptiFinalize() {
  activity::listen(nullptr);
  buffers().flush();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  buffers().set_callbacks(request, complete);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  activity::set_clock(clock);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  buffers().enable(kind, true);
  // Records of events come with those of synchronisation, which refer to them.
  if (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
    buffers().enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT, true);
  }
  activity::listen(take);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  buffers().enable(kind, false);
  if (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
    buffers().enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT, false);
  }
  if (buffers().idle()) activity::listen(nullptr);
  return CUPTI_SUCCESS;
}

// Only calls that do something on a device are recorded, whatever is asked for.
CUptiResult cuptiActivityEnableRuntimeApi(std::uint32_t, std::uint8_t) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableDriverApi(std::uint32_t, std::uint8_t) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  buffers().flush();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                       CUpti_Activity** record) {
  std::uint8_t* const next =
      *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + Buffers::kSlotBytes;
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = buffers().take_dropped();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   std::uint64_t id) {
  external_ids[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  std::uint64_t* last) {
  auto& ids = external_ids[kind];
  if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last != nullptr) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

}  // extern "C"
