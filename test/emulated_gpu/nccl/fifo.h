// SPDX-License-Identifier: Apache-2.0
//
// What kernel and proxy tell each other about one step of a connection's buffer.
#pragma once

#include <optional>

#include "abi.h"

namespace emugpu::nccl {

struct FifoSlot {
  int mode;
  int offset;
  ssize_t size;
  void* pointer;
};

struct WideFifoSlot {
  int mode;
  ssize_t offset;
  ssize_t size;
  void* pointer;
};

// Where in the connection's buffer the step's data lies, if the proxy has said so.
std::optional<ssize_t> announced_offset(const ConnectionInfo& connection, std::uint64_t step);

// The step has this many bytes. Nothing, where no proxy takes part.
void announce_size(const ConnectionInfo& connection, std::uint64_t step, std::size_t bytes);

}  // namespace emugpu::nccl
