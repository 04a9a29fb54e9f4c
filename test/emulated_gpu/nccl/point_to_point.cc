// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives between pairs of ranks.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels.h"

namespace emugpu::nccl {
namespace {

struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// One direction of a transfer, cut down to this channel's part.
struct Transfer {
  int peer = -1;
  char* address = nullptr;
  std::size_t bytes = 0;
  std::size_t chunk = 0;
  Protocol protocol = kSimple;
};

// Host and kernel exchange chunk sizes as an eight-bit float: five bits of exponent, three of
// mantissa with an implicit leading one, except below 8.
std::size_t decode_chunk_size(std::uint8_t code) {
  constexpr int kMantissaBits = 3;
  constexpr std::size_t kImplicitBit = 1 << kMantissaBits;
  const std::size_t mantissa = code & (kImplicitBit - 1);
  const int exponent = code >> kMantissaBits;
  return exponent == 0 ? mantissa : (kImplicitBit | mantissa) << (exponent - 1);
}

// A transfer is divided evenly among its channels, in pages.
Range part_of(std::size_t bytes, std::size_t parts, std::size_t part) {
  constexpr std::size_t kPage = 4096;
  const std::size_t even = (bytes + parts - 1) / parts;
  const std::size_t size = (even + kPage - 1) / kPage * kPage;
  const std::size_t begin = std::min(part * size, bytes);
  return {begin, std::min(begin + size, bytes) - begin};
}

PrimitivesOptions options(const Block& block, const Transfer& transfer) {
  PrimitivesOptions result;
  result.protocol = transfer.protocol;
  result.connection_index = 1;
  result.step_bytes = static_cast<std::size_t>(block.communicator.point_to_point_chunk_size);
  return result;
}

// An empty transfer still takes one step, so that the receiver learns about it.
Task send_all(Block& block, Transfer transfer) {
  Primitives primitives(block, {}, std::array{transfer.peer}, transfer.address, nullptr,
                        Reduction::copying(), options(block, transfer));
  std::size_t done = 0;
  do {
    const std::size_t size = std::min(transfer.chunk, transfer.bytes - done);
    co_await primitives.send(done, size);
    done += size;
  } while (done < transfer.bytes);
}

Task receive_all(Block& block, Transfer transfer) {
  Primitives primitives(block, std::array{transfer.peer}, {}, nullptr, transfer.address,
                        Reduction::copying(), options(block, transfer));
  std::size_t done = 0;
  do {
    const std::size_t size = std::min(transfer.chunk, transfer.bytes - done);
    co_await primitives.receive(done, size);
    done += size;
  } while (done < transfer.bytes);
}

void add_transfers(Block& block, const PointToPointWork& work, std::vector<Task>& transfers) {
  const std::size_t part = static_cast<std::size_t>(block.channel_index - work.channel_base) &
                           (work.channel_count - std::size_t{1});
  const bool sends = part < work.send_channel_count;
  const bool receives = part < work.receive_channel_count;
  const Range send = sends ? part_of(work.send_bytes, work.send_channel_count, part) : Range{};
  const Range receive =
      receives ? part_of(work.receive_bytes, work.receive_channel_count, part) : Range{};
  char* const send_address = static_cast<char*>(work.send_address) + send.begin;
  char* const receive_address = static_cast<char*>(work.receive_address) + receive.begin;

  if (work.send_rank == block.communicator.rank) {
    if (receives && send_address != receive_address) {
      std::memmove(receive_address, send_address, send.size);
    }
    return;
  }
  if (sends) {
    transfers.push_back(send_all(
        block, {work.send_rank, send_address, send.size, decode_chunk_size(work.send_chunk_code),
                work.flags.send_low_latency ? kLowLatency : kSimple}));
  }
  if (receives) {
    transfers.push_back(
        receive_all(block, {work.receive_rank, receive_address, receive.size,
                            decode_chunk_size(work.receive_chunk_code),
                            work.flags.receive_low_latency ? kLowLatency : kSimple}));
  }
}

}  // namespace

Task run_point_to_point(Block& block, std::vector<PointToPointWork> works) {
  std::vector<Task> transfers;
  for (const PointToPointWork& work : works) add_transfers(block, work, transfers);
  co_await block.scheduler.all(std::move(transfers));
}

}  // namespace emugpu::nccl
