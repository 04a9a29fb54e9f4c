// SPDX-License-Identifier: Apache-2.0
#include "work_batches.h"

#include "cuda/log.h"

namespace emugpu::nccl {
namespace {

constexpr std::size_t kWorkAlignment = 16;

// A collective's work with its padding: the pieces in their order.
struct Piece {
  std::size_t offset;
  std::size_t bytes;
};
constexpr Piece kPieces[]{{0, 8}, {24, 16}, {48, 72}};
constexpr std::size_t kPadding = 32;

std::size_t work_size_of(WorkType type) {
  const std::size_t padding = differences.padded_collectives ? kPadding : 0;
  switch (type) {
    case WorkType::kPointToPoint:
      return sizeof(PointToPointWork);
    case WorkType::kCollective:
      return sizeof(CollectiveWork) + padding;
    case WorkType::kRegisteredCollective:
      return sizeof(RegisteredCollectiveWork) + padding;
    case WorkType::kBroadcast:
      return sizeof(BroadcastWork);
  }
  fatal("unknown type of work");
}

const std::byte* work_address(const KernelArguments& arguments, std::uint32_t offset) {
  if (arguments.work_storage == WorkStorage::kArguments) {
    return reinterpret_cast<const std::byte*>(&arguments) + offset;
  }
  return static_cast<const std::byte*>(arguments.work_buffer) + (offset & arguments.work_mask);
}

void append_works(const KernelArguments& arguments, const WorkBatch& source, Batch& batch) {
  for (std::uint32_t bit = 0; bit < 64; ++bit) {
    if ((source.offset_bits >> bit & 1) == 0) continue;
    const auto begin = source.offset_base + bit * static_cast<std::uint32_t>(batch.work_size);
    // Piece by piece: a work item may wrap around the end of the buffer.
    for (std::uint32_t done = 0; done < batch.work_size; done += kWorkAlignment) {
      const std::byte* const piece = work_address(arguments, begin + done);
      batch.works.insert(batch.works.end(), piece, piece + kWorkAlignment);
    }
  }
}

bool is_collective(WorkType type) {
  return type == WorkType::kCollective || type == WorkType::kRegisteredCollective;
}

}  // namespace

void Batch::copy_work(std::size_t index, std::byte* to, std::size_t bytes) const {
  const std::byte* const from = works.data() + index * work_size;
  if (!differences.padded_collectives || !is_collective(type)) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (const Piece& piece : kPieces) {
    std::memcpy(to, from + piece.offset, piece.bytes);
    to += piece.bytes;
  }
}

bool Batch::profiled(std::size_t index) const {
  switch (type) {
    case WorkType::kPointToPoint:
      return work<PointToPointWork>(index).flags.profiler_enabled;
    case WorkType::kCollective:
    case WorkType::kRegisteredCollective:
      return work<CollectiveWork>(index).flags.profiler_enabled;
    case WorkType::kBroadcast:
      return false;
  }
  return false;
}

Batch read_batch(const KernelArguments& arguments, std::size_t index) {
  const auto* const batches = reinterpret_cast<const WorkBatch*>(&arguments + 1);
  Batch batch;
  for (;;) {
    const WorkBatch& source = batches[index];
    batch.type = WorkType{source.flags.work_type};
    batch.function_id = source.flags.function_id;
    batch.work_size = work_size_of(batch.type);
    append_works(arguments, source, batch);
    const std::size_t jump = source.flags.next_jump;
    if (source.flags.next_extends) {
      index += jump;
      continue;
    }
    if (jump != 0) batch.next = index + jump;
    return batch;
  }
}

}  // namespace emugpu::nccl
