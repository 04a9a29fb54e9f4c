// SPDX-License-Identifier: Apache-2.0
//
// Who needs whom in a function of NCCL.
#ifndef RINGSIDE_ANALYZER_MODEL_FLOW_H
#define RINGSIDE_ANALYZER_MODEL_FLOW_H

#include <cstdint>
#include <string_view>

namespace ringside::model {

/// Only these waits of a rank for another are certain. Other delays, such as a rank that passes
/// data on in a ring or tree, or a full buffer, are possible in all of them.
enum class Flow : std::uint8_t {
  kAll,       // every rank needs every other: AllReduce, AllGather, ReduceScatter, AlltoAll
  kFromRoot,  // every rank needs the root: Broadcast, Scatter
  kToRoot,    // the root needs every other rank: Reduce, Gather
  kLinks,     // a rank needs those that send to it: sends and receives
  kUnknown,   // a function that this program does not know
};

/// Who needs whom in a collective of that name; kUnknown if this program does not know it.
inline Flow flow_of_function(std::string_view function) {
  if (function == "AllReduce" || function == "AllGather" || function == "ReduceScatter" ||
      function == "AlltoAll") {
    return Flow::kAll;
  }
  if (function == "Broadcast" || function == "Scatter") {
    return Flow::kFromRoot;
  }
  return function == "Reduce" || function == "Gather" ? Flow::kToRoot : Flow::kUnknown;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_FLOW_H
