// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/status.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "plugin/record/recorder.h"

namespace ringside::control {

void add_counts(const TraceWriter& writer, ringside_status_info& info) {
  record::RingPool& pool = record::g_recorder.rings();
  info.dropped = writer.lost();
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    const std::uint64_t no_ring =
        record::g_recorder.dropped_no_ring(static_cast<record::EventType>(type));
    info.callbacks += no_ring;
    info.dropped += no_ring;
    for (std::uint32_t i = 0; i < pool.count(); ++i) {
      if (const record::Ring* const ring = pool.ring(i); ring != nullptr) {
        info.callbacks += ring->counts.produced[type].load(std::memory_order_relaxed);
        info.dropped += ring->counts.dropped_ring_full[type].load(std::memory_order_relaxed) +
                        ring->counts.dropped_parent[type].load(std::memory_order_relaxed);
      }
    }
  }
  info.operations = writer.operations();
  info.bytes_written = writer.bytes_written();
  info.trouble = writer.trouble() ? 1 : 0;
  const std::string path = writer.has_file() ? writer.path() : std::string();
  std::memcpy(info.trace_path, path.data(), std::min(path.size(), sizeof info.trace_path - 1));
  info.bytes_kept = writer.bytes_kept();
  info.rotated = writer.rotated();
}

}  // namespace ringside::control
