// SPDX-License-Identifier: Apache-2.0
//
// The rows of an operation. Its kernel's channels are put on the time line, and its own times rest
// on the best that is known: GPU stamps, else the network, else the queue of the proxy thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_BUILT_OPERATION_H
#define RINGSIDE_PLUGIN_ASSEMBLE_BUILT_OPERATION_H

#include <vector>

#include "plugin/assemble/gpu_clocks.h"
#include "plugin/assemble/open_operation.h"
#include "plugin/assemble/progress.h"
#include "plugin/assemble/row_writer.h"

namespace ringside::assemble {

/// Not to be used after the operation that it is made of has changed.
class BuiltOperation {
 public:
  BuiltOperation(const OpenOperation& open, GpuClocks& gpu_clocks, const Progress& progress);

  /// Writes the operation and its kernels. Returns whether they are in the trace. An operation in
  /// flight always is, whatever the sampling says.
  bool write(RowWriter& rows, const Communicator& communicator, const Tally& tally) const;

  Operation operation;
  KernelExtent extent;  ///< of its kernels, with stamps that may be those of others

 private:
  void place_kernels(GpuClocks& gpu_clocks, const Progress& progress);

  const OpenOperation& open_;
  std::vector<KernelRow> kernels_;  // as OpenOperation::kernels
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_BUILT_OPERATION_H
