// SPDX-License-Identifier: Apache-2.0
//
// Nodes of NCCL's operations, and of the process groups.
#ifndef RINGSIDE_ANALYZER_CHAKRA_OPERATION_NODE_H
#define RINGSIDE_ANALYZER_CHAKRA_OPERATION_NODE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/chakra/node.h"
#include "analyzer/chakra/rank_operations.h"
#include "analyzer/facts/facts.h"

namespace ringside::chakra {

/// The bytes that one rank gives and gets in an operation; nothing where they are not known.
struct Bytes {
  std::optional<std::uint64_t> in;
  std::optional<std::uint64_t> out;
  /// The input that simulators count with: of rooted functions that of the rank that has one.
  std::optional<std::uint64_t> size;
};

/// `bytes`: one rank's message, as Operation::bytes has it. `is_root`: nothing if it is not known.
Bytes bytes_of(std::string_view function, std::optional<std::uint64_t> bytes, std::uint64_t nranks,
               std::optional<bool> is_root);

/// The node without its dependencies and times.
Node operation_node(const facts::Facts& facts, const RankOperations& ranks,
                    const RankOperation& operation);

/// The process groups of a run whose ranks in the job are all known, as PyTorch's execution traces
/// have them ("## process_group:init ##").
Node groups_node(const facts::Facts& facts, const RankOperations& ranks, std::uint32_t run);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_OPERATION_NODE_H
