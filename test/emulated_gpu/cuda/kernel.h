// SPDX-License-Identifier: Apache-2.0
//
// Kernels: what nvcc-generated code registers, and how a launch reaches an emulation of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "stream.h"

namespace emugpu {

struct KernelLaunch {
  std::string name;
  void* arguments = nullptr;  // a private copy that lives until the executor returns
  std::size_t argument_bytes = 0;
  unsigned grid = 0;
  unsigned block = 0;
};

// Runs one kernel to its end, on the stream's thread.
using KernelExecutor = void (*)(const KernelLaunch& launch);
void set_kernel_executor(KernelExecutor executor);

void register_kernel(const void* function, std::string name);
std::optional<std::string> kernel_name(const void* function);

// `extra` is the driver API's packed form: a list of (key, value) that ends with a null key.
// False when the arguments come in a form whose size is unknown here.
bool launch_kernel(const void* function, unsigned grid, unsigned block, Stream& stream,
                   void** extra);

}  // namespace emugpu
