// SPDX-License-Identifier: Apache-2.0
//
// What the emulation takes from NCCL when it is linked with Debian's archive.
#include "function_table.h"

extern const int ncclDevFuncRowToId[];

namespace emugpu::nccl {
namespace {

[[maybe_unused]] const bool kInstalled = [] {
  set_function_table(ncclDevFuncRowToId);
  return true;
}();

}  // namespace
}  // namespace emugpu::nccl
