// SPDX-License-Identifier: Apache-2.0
//
// Collectives over a ring, and all-reduce over a tree.
#include <algorithm>
#include <array>

#include "cuda/log.h"
#include "kernels.h"

namespace emugpu::nccl {
namespace {

// The part of a collective that falls to this block, in elements.
struct Share {
  std::size_t total = 0;  // of all channels
  std::size_t begin = 0;
  std::size_t count = 0;
  std::size_t chunk = 0;
};

// Every collective below needs this.
struct Context {
  Block& block;
  const CollectiveWork& work;
  const Reduction& reduction;
  Protocol protocol;
  Share share;

  const Ring& ring() const { return block.channel.ring; }
  std::size_t rank_count() const { return static_cast<std::size_t>(block.communicator.rank_count); }
  std::size_t ring_rank(std::size_t distance) const {
    return static_cast<std::size_t>(ring().user_ranks[distance]);
  }
};

std::size_t grain_bytes(Protocol protocol) {
  return protocol == kLowLatency ? 16 : 512;
}

Share share_of(const CollectiveWork& work, int channel, Protocol protocol, std::size_t element) {
  const int first = work.flags.first_channel;
  const int last = work.flags.last_channel;
  const auto middle_channels = static_cast<std::size_t>(std::max(0, last - first - 1));
  const std::size_t grain = grain_bytes(protocol) / element;
  Share share;
  share.total = work.first_count + middle_channels * work.middle_count;
  if (last != first) share.total += work.last_count;
  if (channel == first) {
    share.count = work.first_count;
    share.chunk = work.chunk_grains.first * grain;
  } else if (channel == last) {
    share.begin = work.first_count + middle_channels * work.middle_count;
    share.count = work.last_count;
    share.chunk = work.chunk_grains.last * grain;
  } else {
    share.begin =
        work.first_count + static_cast<std::size_t>(channel - first - 1) * work.middle_count;
    share.count = work.middle_count;
    share.chunk = work.chunk_grains.middle * grain;
  }
  return share;
}

PrimitivesOptions options(Protocol protocol, bool sliced) {
  PrimitivesOptions result;
  result.protocol = protocol;
  if (sliced && protocol == kSimple) result.slices_per_chunk = result.steps_per_slice = 2;
  return result;
}

// One round of a ring: from the previous rank to the next.
class RingPrimitives : public Primitives {
 public:
  RingPrimitives(const Context& context, bool sliced)
      : Primitives(context.block, std::array{context.ring().previous},
                   std::array{context.ring().next}, context.work.send_buffer,
                   context.work.receive_buffer, context.reduction,
                   options(context.protocol, sliced)) {}
};

Task ring_all_reduce(Context context) {
  const auto [total, begin, count, full_chunk] = context.share;
  const std::size_t ranks = context.rank_count();
  const auto index = static_cast<std::size_t>(context.ring().index);
  const std::size_t alignment = 16 / context.reduction.element_size();
  RingPrimitives ring(context, true);

  for (std::size_t done = 0; done < count; done += ranks * full_chunk) {
    const std::size_t remaining = count - done;
    std::size_t chunk = full_chunk;
    if (remaining < ranks * full_chunk) {
      const std::size_t even = (remaining + ranks - 1) / ranks;
      chunk = (even + alignment - 1) / alignment * alignment;
    }
    // In each round, a rank handles the chunk of the rank `distance` places before it.
    const auto offset_of = [&](std::size_t distance) {
      return begin + done + (index + ranks - distance) % ranks * chunk;
    };
    const auto count_at = [&](std::size_t offset) {
      const std::size_t end = begin + count;
      return offset < end ? std::min(chunk, end - offset) : 0;
    };
    const auto clamped = [&](std::size_t distance) {
      return std::min(offset_of(distance), begin + count);
    };

    std::size_t offset = clamped(1);
    co_await ring.send(offset, count_at(offset));
    for (std::size_t distance = 2; distance < ranks; ++distance) {
      offset = clamped(distance);
      co_await ring.receive_reduce_send(offset, count_at(offset));
    }
    offset = clamped(0);
    co_await ring.receive_reduce_copy_send(offset, offset, count_at(offset));
    for (std::size_t distance = 1; distance + 1 < ranks; ++distance) {
      offset = clamped(distance);
      co_await ring.receive_copy_send(offset, count_at(offset));
    }
    offset = clamped(ranks - 1);
    co_await ring.receive(offset, count_at(offset));
  }
}

Task ring_reduce_scatter(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const std::size_t ranks = context.rank_count();
  RingPrimitives ring(context, true);

  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    const std::size_t offset = begin + done;
    co_await ring.send(offset + context.ring_rank(ranks - 1) * total, size);
    for (std::size_t distance = 2; distance < ranks; ++distance) {
      co_await ring.receive_reduce_send(offset + context.ring_rank(ranks - distance) * total, size);
    }
    co_await ring.receive_reduce_copy(offset + context.ring_rank(0) * total, offset, size);
  }
}

Task ring_all_gather(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const std::size_t ranks = context.rank_count();
  const std::size_t element = context.reduction.element_size();
  const auto* const input = static_cast<const char*>(context.work.send_buffer);
  const auto* const output = static_cast<const char*>(context.work.receive_buffer);
  const std::size_t own_block = context.ring_rank(0) * total;
  const bool in_place = input == output + own_block * element;
  RingPrimitives ring(context, true);

  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    const std::size_t offset = begin + done;
    if (in_place) {
      co_await ring.send(offset, size);
    } else {
      co_await ring.copy_send(offset, offset + own_block, size);
    }
    for (std::size_t distance = 1; distance + 1 < ranks; ++distance) {
      co_await ring.receive_copy_send(offset + context.ring_rank(ranks - distance) * total, size);
    }
    co_await ring.receive(offset + context.ring_rank(1) * total, size);
  }
}

Task ring_broadcast(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const auto root = std::size_t{context.work.root};
  const bool in_place = context.work.send_buffer == context.work.receive_buffer;
  RingPrimitives ring(context, false);

  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    const std::size_t offset = begin + done;
    if (context.ring_rank(0) == root) {
      if (in_place) {
        co_await ring.send(offset, size);
      } else {
        co_await ring.copy_send(offset, offset, size);
      }
    } else if (context.ring_rank(1) == root) {
      co_await ring.receive(offset, size);
    } else {
      co_await ring.receive_copy_send(offset, size);
    }
  }
}

Task ring_reduce(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const auto root = std::size_t{context.work.root};
  RingPrimitives ring(context, false);

  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    const std::size_t offset = begin + done;
    if (context.ring_rank(context.rank_count() - 1) == root) {
      co_await ring.send(offset, size);
    } else if (context.ring_rank(0) == root) {
      co_await ring.receive_reduce_copy(offset, offset, size);
    } else {
      co_await ring.receive_reduce_send(offset, size);
    }
  }
}

// Contributions travel up the tree...
Task tree_reduce_up(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const Tree& tree = context.block.channel.tree;
  const bool leaf = tree.down[0] < 0;
  Primitives up(context.block, tree.down, std::array{tree.up}, context.work.send_buffer,
                context.work.receive_buffer, context.reduction, options(context.protocol, false));
  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    if (leaf) {
      co_await up.send(begin + done, size);
    } else {
      co_await up.receive_reduce_send(begin + done, size);
    }
  }
}

// ... and the result travels down again.
Task tree_broadcast_down(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const Tree& tree = context.block.channel.tree;
  const bool leaf = tree.down[0] < 0;
  Primitives down(context.block, std::array{tree.up}, tree.down, context.work.send_buffer,
                  context.work.receive_buffer, context.reduction, options(context.protocol, false));
  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    if (leaf) {
      co_await down.receive(begin + done, size);
    } else {
      co_await down.receive_copy_send(begin + done, size);
    }
  }
}

Task tree_root(Context context) {
  const auto [total, begin, count, chunk] = context.share;
  const Tree& tree = context.block.channel.tree;
  Primitives root(context.block, tree.down, tree.down, context.work.send_buffer,
                  context.work.receive_buffer, context.reduction, options(context.protocol, false));
  for (std::size_t done = 0; done < count; done += chunk) {
    const std::size_t size = std::min(chunk, count - done);
    co_await root.receive_reduce_copy_send(begin + done, begin + done, size);
  }
}

Task tree_all_reduce(Context context) {
  if (context.block.channel.tree.up < 0) {
    co_await tree_root(context);
    co_return;
  }
  std::vector<Task> directions;
  directions.push_back(tree_reduce_up(context));
  directions.push_back(tree_broadcast_down(context));
  co_await context.block.scheduler.all(std::move(directions));
}

Task start(const Function& function, const Context& context) {
  const bool tree = function.algorithm == Algorithm::kTree;
  if (tree && function.collective == Collective::kAllReduce) return tree_all_reduce(context);
  if (function.algorithm != Algorithm::kRing) {
    fatal("only NCCL_ALGO=Ring,Tree is emulated; a kernel uses algorithm %d",
          static_cast<int>(function.algorithm));
  }
  switch (function.collective) {
    case Collective::kAllReduce:
      return ring_all_reduce(context);
    case Collective::kReduceScatter:
      return ring_reduce_scatter(context);
    case Collective::kAllGather:
      return ring_all_gather(context);
    case Collective::kBroadcast:
      return ring_broadcast(context);
    case Collective::kReduce:
      return ring_reduce(context);
    default:
      fatal("collective %d is no collective work", static_cast<int>(function.collective));
  }
}

}  // namespace

Task run_collective(Block& block, const Function& function, CollectiveWork work) {
  if (function.protocol == kLowLatency128) fatal("only NCCL_PROTO=LL,Simple is emulated");
  if (work.flags.registered || work.flags.network_registered) {
    fatal("registered buffers are not emulated: set NCCL_LOCAL_REGISTER=0");
  }
  const std::uint64_t scalar = work.flags.scalar_is_pointer
                                   ? *reinterpret_cast<const std::uint64_t*>(work.scalar)
                                   : work.scalar;
  const Reduction reduction(function.operation, function.type, scalar);
  const Share share =
      share_of(work, block.channel_index, function.protocol, reduction.element_size());
  co_await start(function, Context{block, work, reduction, function.protocol, share});
}

}  // namespace emugpu::nccl
