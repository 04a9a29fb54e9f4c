// SPDX-License-Identifier: Apache-2.0
//
// What the drain thread says of the running job.
#include <ctime>

#include "plugin/control/trace_writer.h"
#include "plugin/record/recorder.h"

namespace ringside::control {
namespace {

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::uint64_t ring_bytes() {
  std::uint64_t bytes = 0;
  const record::RingPool& pool = record::g_recorder.rings();
  for (std::uint32_t i = 0; i < pool.count(); ++i) {
    if (const record::Ring* ring = pool.ring(i); ring != nullptr) {
      bytes += ring->capacity * sizeof(record::Slot);
    }
  }
  return bytes;
}

}  // namespace

std::string TraceWriter::metrics_text(exporting::MetricsForm form) {
  exporting::MetricsFacts facts;
  facts.process = facts_;
  facts.account = account();
  facts.in_flight = in_flight_for(0);
  facts.now_ns = now_ns_;
  facts.realtime_s = seconds_of(CLOCK_REALTIME);
  facts.drain_cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  facts.trace_bytes = file_.total_bytes();
  facts.ring_bytes = ring_bytes();
  facts.recording = !windows_.empty() && windows_.back().end_ns == assemble::kUnknownTime;
  return exporting::metrics_text(form, metrics_, assembler_.communicators(), facts);
}

}  // namespace ringside::control
