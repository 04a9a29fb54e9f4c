// SPDX-License-Identifier: Apache-2.0
//
// A profiler plugin that does once, in one of many callbacks, what hot_path must find: a test that
// finds nothing proves nothing unless it finds this. OFFENCE: allocation, lock, call or none.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/bench/profiler_table.h"

namespace {

constexpr int kOffendAt = 100'000;

int g_stops = 0;
std::string_view g_offence;
std::mutex g_mutex;

void offend() {
  if (g_offence == "allocation") {
    // Through volatile, or the compiler leaves it out.
    int* volatile made = std::make_unique<int>(1).release();
    delete made;
  } else if (g_offence == "lock") {
    const std::lock_guard lock(g_mutex);
  } else if (g_offence == "call") {
    syscall(SYS_getppid);
  }
}

int init(void** context, std::uint64_t /*comm_hash*/, int* mask, const char* /*name*/,
         int /*nnodes*/, int /*nranks*/, int /*rank*/,
         void (* /*logger*/)(int, unsigned long, const char*, int, const char*, ...)) {
  const char* const offence = std::getenv("OFFENCE");
  g_offence = offence != nullptr ? offence : "";
  *context = &g_stops;
  *mask = 1;
  return 0;
}
int start_event(void* context, void** handle, void* /*descriptor*/) {
  if (handle != nullptr) {
    *handle = context;
  }
  return 0;
}
int stop_event(void* /*handle*/) {
  if (++g_stops == kOffendAt) {
    offend();
  }
  return 0;
}
int record_event_state(void* /*handle*/, int /*state*/, void* /*args*/) {
  return 0;
}
int finalize(void* /*context*/) {
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default")))
const ringside::bench::ProfilerTable ncclProfiler_v6 = {
    "offender", reinterpret_cast<void*>(&init), &start_event, &stop_event, &record_event_state,
    &finalize};

extern "C" int ringside_mark(const char* /*text*/) {
  return 0;
}
extern "C" int ringside_push(const char* /*text*/, const char* /*source*/) {
  return 0;
}
extern "C" int ringside_pop() {
  return 0;
}
