// SPDX-License-Identifier: Apache-2.0
//
// Grouped broadcasts from several roots, which NCCL runs as one kernel.
#include <algorithm>
#include <array>

#include "kernels.h"

namespace emugpu::nccl {

Task run_broadcasts(Block& block, const Function& function, std::vector<BroadcastWork> works) {
  PrimitivesOptions options;
  options.protocol = function.protocol;
  const int last_depth = block.communicator.rank_count - 1;
  Primitives ring(block, std::array{block.channel.ring.previous},
                  std::array{block.channel.ring.next}, nullptr, nullptr, Reduction::copying(),
                  options);

  const auto unfinished = [](const BroadcastWork& work) { return work.bytes_left > 0; };
  while (std::any_of(works.begin(), works.end(), unfinished)) {
    for (BroadcastWork& work : works) {
      const std::size_t size = std::min(work.bytes_left, static_cast<std::size_t>(work.chunk_size));
      if (size == 0) continue;
      const std::size_t offset = work.bytes_done;
      const bool root = work.ring_depth == 0;
      ring.set_buffers(root ? work.send_buffer : nullptr, work.receive_buffer);
      if (root && work.send_buffer == work.receive_buffer) {
        co_await ring.send(offset, size);
      } else if (root) {
        co_await ring.copy_send(offset, offset, size);
      } else if (work.ring_depth == last_depth) {
        co_await ring.receive(offset, size);
      } else {
        co_await ring.receive_copy_send(offset, size);
      }
      work.bytes_left -= size;
      work.bytes_done += size;
    }
  }
}

}  // namespace emugpu::nccl
