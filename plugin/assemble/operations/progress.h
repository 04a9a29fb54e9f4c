// SPDX-License-Identifier: Apache-2.0
//
// The progress of each communicator. NCCL runs the operations of a communicator in order, and those
// of a group together in one kernel. So the GPU stamps of its kernels must follow each other too.
// Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_PROGRESS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_PROGRESS_H

#include <cstdint>
#include <span>
#include <unordered_map>

#include "plugin/assemble/operations/open_operation.h"

namespace ringside::assemble {

/// The first and last start and end of an operation's kernel channels, by their valid stamps.
struct KernelExtent {
  std::int64_t first_start_ns = kUnknownTime, last_start_ns = kUnknownTime;
  std::int64_t first_end_ns = kUnknownTime, last_end_ns = kUnknownTime;

  KernelExtent() = default;
  explicit KernelExtent(std::span<const KernelRow> channels);
  bool is_known() const { return first_start_ns != kUnknownTime; }
};

class Progress {
 public:
  /// An operation is finished. `is_completed`: its execution was seen to end.
  void add(const OpenOperation& open, const KernelExtent& kernels, bool is_completed);

  /// Whether a later operation of the communicator has run on the GPU and is finished.
  bool has_later_on_gpu(const Operation& operation) const {
    return of(operation.context).on_gpu > operation.number;
  }
  /// Whether a later operation has completed, so that this one must be over and its end was lost.
  /// Always false for a send or receive whose group is not known.
  bool is_overtaken(const Operation& operation) const;
  /// When an operation of the communicator ended last; kUnknownTime: none has.
  std::int64_t last_end_ns(std::uint32_t context) const { return of(context).end_ns; }
  /// Whether the stamps of this extent are those of other kernels. They are if the operation's
  /// kernel seems to begin before the kernel ahead of it is over, and its channels do not all
  /// overlap. (NCCL's counters on host and device can get out of step; then each later stamp of a
  /// channel is an earlier kernel's. Channels that do not overlap prove nothing alone, since a busy
  /// GPU starts some of them late.)
  bool has_stamps_of_others(const Operation& operation, const KernelExtent& kernels) const;

 private:
  struct Last {
    std::uint64_t number = 0;  // the latest operation that has completed
    std::uint64_t group = 0;   // the group of that operation
    std::int64_t end_ns = kUnknownTime;
    std::uint64_t on_gpu = 0;                   // the latest operation that has run on the GPU
    std::uint64_t kernel_group = 0;             // the group of the last kernel with known stamps
    std::int64_t kernel_end_ns = kUnknownTime;  // the latest end of all kernels so far
    std::int64_t kernel_before_end_ns = kUnknownTime;  // without kernel_group's kernels
  };
  Last of(std::uint32_t context) const {
    const auto found = last_.find(context);
    return found != last_.end() ? found->second : Last{};
  }

  std::unordered_map<std::uint32_t, Last> last_;  // by context
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_PROGRESS_H
