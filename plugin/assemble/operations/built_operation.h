// SPDX-License-Identifier: Apache-2.0
//
// The rows of an operation and of its kernel channels. The GPU stamps of the channels are mapped to
// the trace's time line. The operation's own times come from the best source there is: GPU stamps,
// else the network's transfers, else the begin and end of its proxy operations.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_BUILT_OPERATION_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_BUILT_OPERATION_H

#include <vector>

#include "plugin/assemble/clocks/gpu_clocks.h"
#include "plugin/assemble/operations/open_operation.h"
#include "plugin/assemble/operations/progress.h"
#include "plugin/assemble/sink.h"

namespace ringside::assemble {

/// Valid until the OpenOperation that it was made from changes.
class BuiltOperation {
 public:
  BuiltOperation(const OpenOperation& open, GpuClocks& gpu_clocks, const Progress& progress);

  /// Writes the operation and its kernel channels. Returns whether they are in the trace. Sampling
  /// leaves out only operations that are not in flight.
  bool write(RowWriter& rows, const Communicator& communicator, const Tally& tally) const;

  Operation operation;
  KernelExtent extent;  ///< its kernel channels' extent, even by another kernel's stamps

 private:
  void place_kernels(GpuClocks& gpu_clocks, const Progress& progress);

  const OpenOperation& open_;
  std::vector<KernelRow> kernels_;  // in the order of OpenOperation::kernels
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_BUILT_OPERATION_H
