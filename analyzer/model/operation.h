// SPDX-License-Identifier: Apache-2.0
//
// One operation as one rank of one communicator saw it. docs/trace-format.md says what each column
// means; what a trace may leave out is optional here, or kNoName.
#ifndef RINGSIDE_ANALYZER_MODEL_OPERATION_H
#define RINGSIDE_ANALYZER_MODEL_OPERATION_H

#include <cstdint>
#include <optional>

#include "analyzer/model/name_table.h"

namespace ringside::model {

enum class Kind : std::uint8_t { kCollective, kPointToPoint, kCopyEngine, kApi };

/// Where start_ns and end_ns come from; the strongest source first, so that the greatest of several
/// is the weakest.
enum class TimesFrom : std::uint8_t { kGpu, kProxy, kProxyQueue, kEnqueue };
inline constexpr std::size_t kTimesFromCount = 4;

enum class State : std::uint8_t { kCompleted, kStarted, kEnqueued };
inline constexpr std::size_t kStateCount = 3;

struct Operation {
  std::uint64_t id = 0;       // "op" of the trace, unique in its file
  std::uint32_t context = 0;  // number of the communicator's context, unique in its file
  Kind kind = Kind::kCollective;
  TimesFrom times_from = TimesFrom::kEnqueue;
  State state = State::kEnqueued;
  bool in_flight = false;
  NameId func = kNoName;
  NameId datatype = kNoName;
  NameId algo = kNoName;
  NameId proto = kNoName;
  std::optional<std::uint64_t> seq;
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> bytes;  // the message as one rank gives or gets it
  std::optional<std::uint32_t> root;
  std::optional<std::uint32_t> peer;
  std::optional<std::int64_t> enqueue_start_ns;  // on the file's own time line, as are the others
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_OPERATION_H
