// SPDX-License-Identifier: Apache-2.0
//
// Where the kernels of each communicator have got to on its GPU. They run one after the other, so
// their stamps must, too. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_KERNEL_ORDER_H
#define RINGSIDE_PLUGIN_ASSEMBLE_KERNEL_ORDER_H

#include <cstdint>
#include <span>
#include <unordered_map>

#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class KernelOrder {
 public:
  /// The times between which an operation's channels ran, by those stamps that are not rejected.
  struct Extent {
    std::int64_t first_start_ns = kUnknownTime, last_start_ns = kUnknownTime;
    std::int64_t first_end_ns = kUnknownTime, last_end_ns = kUnknownTime;
  };
  static Extent extent(std::span<const KernelRow> channels);

  /// Whether the stamps are those of other kernels. This is so if the operation's kernel seems to
  /// begin before the one ahead of it is over, and the channels do not even overlap each other.
  /// (NCCL's counters of host and device can get out of step; then each later stamp of a channel is
  /// an earlier kernel's. Channels that do not overlap prove nothing by themselves, since a busy
  /// GPU starts some late.)
  bool has_stamps_of_others(const Operation& operation, const Extent& own) const;

  /// An operation has finished, the next one of its communicator comes behind it.
  void add(const Operation& operation, const Extent& own);

 private:
  struct Last {
    std::uint64_t group = 0;
    std::int64_t end_ns = kUnknownTime;         // of all kernels so far
    std::int64_t before_end_ns = kUnknownTime;  // of those before the last group
  };
  std::unordered_map<std::uint32_t, Last> last_;  // by context
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_KERNEL_ORDER_H
