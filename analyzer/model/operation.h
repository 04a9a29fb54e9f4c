// SPDX-License-Identifier: Apache-2.0
//
// One operation as one rank of one communicator saw it. docs/trace-format.md says what each column
// means; what a trace may leave out is optional here, or kNoName.
#ifndef RINGSIDE_ANALYZER_MODEL_OPERATION_H
#define RINGSIDE_ANALYZER_MODEL_OPERATION_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/model/name_table.h"
#include "analyzer/model/optional_number.h"

namespace ringside::model {

enum class Kind : std::uint8_t { kCollective, kPointToPoint, kCopyEngine, kApi };

/// The source of start_ns and end_ns. Partials have these numbers.
enum class TimesFrom : std::uint8_t {
  kGpu,         // NCCL's kernel channels
  kProxy,       // what the network moved
  kProxyQueue,  // the proxy thread's queue
  kEnqueue,     // only the call is known
  kKineto,      // the kernel in a trace of PyTorch's profiler
};
inline constexpr std::size_t kTimesFromCount = 5;

/// Whether these are times of an execution.
constexpr bool tells_execution(TimesFrom from) {
  return from == TimesFrom::kGpu || from == TimesFrom::kKineto || from == TimesFrom::kProxy;
}

/// The one of two sources that says less.
constexpr TimesFrom weaker_of(TimesFrom one, TimesFrom other) {
  const auto weakness = [](TimesFrom from) {
    return from == TimesFrom::kGpu      ? 0
           : from == TimesFrom::kKineto ? 1
                                        : 1 + static_cast<int>(from);
  };
  return weakness(one) < weakness(other) ? other : one;
}

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
  std::optional<std::uint64_t> bytes;   // the message as one rank gives or gets it
  std::optional<std::int64_t> surplus;  // of an AlltoAll: elements given less those taken
  std::optional<std::uint32_t> root;
  std::optional<std::uint32_t> peer;
  std::optional<std::uint64_t> group;  // of calls made together; unique in its file
  std::uint64_t window = 0;            // number of the window in which it began
  std::uint32_t channels = 0;          // 0: not told
  bool graph = false;                  // captured in a CUDA graph, or a replay of one
  bool gpu_polled = false;             // its GPU times are those of callbacks
  bool start_is_latest = false;        // the rank may have come any time from its call to start_ns
  std::uint32_t gpu_rejected = 0;      // channels whose stamps cannot be true
  NameId stream = kNoName;
  NameId user_tag = kNoName;                     // as the application gave it to NCCL: "0x2a"
  NameId called_by = kNoName;                    // lines of the program, see call_site.h
  NameId process_group = kNoName;                // PyTorch's description of it, else its name
  std::optional<std::uint64_t> torch_seq;        // its number in that group, as PyTorch counts
  std::uint64_t sample_of = 1;                   // it was chosen, by its number, as one of so many
  bool sampled_out = false;                      // it was not, and is there because it is in flight
  std::uint32_t tid = 0;                         // of the thread that called it; 0: not told
  std::optional<std::int64_t> enqueue_start_ns;  // on the file's own time line, as are the others
  std::optional<std::int64_t> enqueue_end_ns;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
};

/// How one ran: the members of Operation that have these names. It is read in a fraction of the
/// time of all, and takes one line of a core's cache.
struct Execution {
  std::uint32_t context = 0;
  TimesFrom times_from = TimesFrom::kEnqueue;
  State state = State::kEnqueued;
  bool in_flight = false;
  bool graph = false;
  OptionalNumber<std::uint64_t> bytes;
  OptionalNumber<std::uint32_t> root;
  OptionalNumber<std::uint32_t> peer;
  std::uint32_t gpu_rejected = 0;
  bool gpu_polled = false;
  bool start_is_latest = false;
  OptionalNumber<std::int64_t> enqueue_start_ns;
  OptionalNumber<std::int64_t> enqueue_end_ns;
  OptionalNumber<std::int64_t> start_ns;
  OptionalNumber<std::int64_t> end_ns;
};
static_assert(sizeof(Execution) == 64);

/// The members that ranks must agree on, and whether it ended, likewise.
struct Terms {
  NameId datatype = kNoName;
  bool in_flight = false;
  std::optional<std::uint64_t> count;
  std::optional<std::uint64_t> bytes;
  std::optional<std::int64_t> surplus;
  std::optional<std::uint32_t> root;
};

/// The members by which an operation is matched, likewise.
struct CallIdentity {
  std::uint32_t context = 0;
  NameId func = kNoName;
  bool graph = false;
  std::optional<std::uint32_t> peer;
  std::optional<std::uint64_t> seq;
};

/// The proxy thread's work for one operation, channel and peer.
struct ProxyOperation {
  std::uint64_t operation = 0;  // "op"; 0: another process's
  std::uint32_t context = 0;
  std::uint32_t peer = 0;
  std::uint16_t channel = 0;
  bool is_send = false;
  bool in_flight = false;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
  std::uint64_t bytes = 0;  // moved; 0 if not told
  std::uint32_t steps = 0;
  std::int32_t foreign_pid = 0;  // of the process that asked for it (PXN); 0: the file's own
};

/// One chunk through the network, and where its time went.
struct Step {
  std::uint64_t operation = 0;
  std::uint32_t context = 0;
  std::optional<std::uint32_t> peer;  // absent in traces of older plugins
  std::uint16_t channel = 0;
  bool is_send = false;
  bool in_flight = false;
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
  std::uint64_t bytes = 0;
  std::int64_t gpu_wait_ns = 0;
  std::int64_t peer_wait_ns = 0;
  std::int64_t transfer_ns = 0;
  std::int64_t flush_ns = 0;
};

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

#endif  // RINGSIDE_ANALYZER_MODEL_OPERATION_H
