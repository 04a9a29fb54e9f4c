// SPDX-License-Identifier: Apache-2.0
//
// A call of torch.distributed stands for one or several calls of NCCL. Seen of PyTorch 2.15.0, both
// its implementations (test/data/flight_recorder), with NCCL 2.29.7.
#ifndef RINGSIDE_ANALYZER_MATCH_CALLS_TORCH_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_CALLS_TORCH_CALLS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ringside::match {

/// A call of torch.distributed, as an entry of a Flight Recorder dump tells it.
struct TorchCall {
  std::string_view name;  // "all_reduce", "Send"; "coalesced" for a group that is not listed
  std::span<const std::uint64_t> input_bytes;  // of each tensor
  std::span<const std::uint64_t> output_bytes;
};

/// A call of NCCL, as a trace tells it.
struct NcclCall {
  std::string_view func;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint64_t> group;
};

/// Whether the entry stands for a group of calls, and was made behind them.
bool is_behind_its_calls(std::string_view name);

/// Returns how many of these calls of NCCL were made together with the first one, if they are sends
/// and receives that give and take these bytes in all; else 0. The sizes of each are not known.
std::size_t calls_exchanged(std::optional<std::uint64_t> input_bytes,
                            std::optional<std::uint64_t> output_bytes,
                            std::span<const NcclCall> made);

/// Returns how many of these calls of NCCL, from the first one on, are those that this call made; 0
/// if they do not fit, in function or size, or if the call is not known.
std::size_t calls_made(const TorchCall& call, std::span<const NcclCall> made);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CALLS_TORCH_CALLS_H
