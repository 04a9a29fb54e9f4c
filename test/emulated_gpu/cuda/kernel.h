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

// The name as its library has it, mangled. kernel_name() is the plain one.
void register_kernel(const void* function, const char* device_name);
std::optional<std::string> kernel_name(const void* function);

// `extra` is the driver API's packed form: a list of (key, value) that ends with a null key.
// False when the arguments come in a form whose size is unknown here.
bool launch_kernel(const void* function, unsigned grid, unsigned block, Stream& stream,
                   void** extra);

struct Dimensions {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

// An application's kernel, of which there is no device code to run: it takes its time on the
// stream, as EMUGPU_KERNEL_US or, of PyTorch's torch.cuda._sleep(), its argument says, and does
// nothing.
void launch_idle_kernel(const void* function, Dimensions grid, Dimensions block, Stream& stream,
                        void** arguments);

}  // namespace emugpu
