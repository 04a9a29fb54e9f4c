// SPDX-License-Identifier: Apache-2.0
//
// Reads the list of work batches that a channel's block has to go through.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "abi.h"

namespace emugpu::nccl {

struct Batch {
  WorkType type = WorkType::kCollective;
  unsigned function_id = 0;
  std::size_t work_size = 0;
  std::vector<std::byte> works;  // copies, one after the other
  std::optional<std::size_t> next;

  std::size_t count() const { return works.size() / work_size; }

  // A copy of a work item, of the batch's type.
  template <class Work>
  Work work(std::size_t index) const;

  bool profiled(std::size_t index) const;

 private:
  void copy_work(std::size_t index, std::byte* to, std::size_t bytes) const;
};

// The batch at `index`, joined with those that extend it.
Batch read_batch(const KernelArguments& arguments, std::size_t index);

}  // namespace emugpu::nccl

#include <cstring>

template <class Work>
Work emugpu::nccl::Batch::work(std::size_t index) const {
  Work result;
  copy_work(index, reinterpret_cast<std::byte*>(&result), sizeof result);
  return result;
}
