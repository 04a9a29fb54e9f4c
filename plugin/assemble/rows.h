// SPDX-License-Identifier: Apache-2.0
//
// The rows that the assembler makes of records, in the form that sinks take. All times are
// nanoseconds on the trace's time line (clock_model.h), or kUnknownTime. Texts stay valid as long
// as the assembler. docs/trace-format.md explains the fields.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_ROWS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_ROWS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "plugin/record/event_type.h"
#include "plugin/record/handle.h"

namespace ringside::assemble {

inline constexpr std::int64_t kUnknownTime = -1;

/// The id of an event's row. It is short, and recovery makes the same id.
constexpr std::uint64_t row_id(record::EventId id) {
  return (record::event_counter(id) << record::kRingBits) | record::event_ring(id);
}

/// One communicator as one rank sees it.
struct Communicator {
  std::uint32_t context = 0;
  int abi_version = 0;
  bool has_hash = false;
  bool has_size = false;  ///< nranks and nnodes are known
  bool rank_known = false;
  std::uint64_t hash = 0;
  std::string name;
  bool name_is_cut = false;
  int rank = 0;
  int nranks = 0;
  int nnodes = 0;
  /// Sampling was requested, but is off, since the ranks would choose different operations.
  bool is_unsampled = false;
  int gpu_index = -1;  ///< -1: not known
  std::string gpu_uuid;
  std::string gpu_pci;
  std::int64_t created_ns = kUnknownTime;
  std::int64_t finalized_ns = kUnknownTime;
};

/// The callbacks that a row stands for in the account: a start, and its states and stops.
struct Tally {
  record::EventType type = record::EventType::kUnknown;
  std::uint32_t starts = 0;
  std::uint32_t joined = 0;
};

enum class TimesFrom : std::uint8_t { kGpu, kProxy, kProxyQueue, kEnqueue };
enum class OperationState : std::uint8_t { kCompleted, kStarted, kEnqueued };
enum class OperationKind : std::uint8_t { kColl, kP2p, kCopyEngine, kApi };

struct Operation {
  std::uint64_t number = 0;
  std::uint64_t call_row = 0;  ///< kApi: id of the call's own row
  OperationKind kind = OperationKind::kColl;
  std::uint32_t context = 0;
  std::int32_t tid = 0;
  std::int32_t call_tid = 0;  ///< the thread of the API call, if it is known; else tid
  std::string_view func, datatype, algo, proto, variant;
  bool has_seq = false;
  bool has_root = false;
  bool has_bytes = false;
  bool captured = false;
  bool symmetric = false;
  bool gpu_polled = false;
  bool in_flight = false;
  bool sampled_out = false;     ///< shown because it is in flight
  std::uint64_t sample_of = 1;  ///< the trace has one of this many such operations
  std::uint64_t seq = 0, count = 0, bytes = 0, stream = 0, user_tag = 0, group = 0;
  std::int32_t root_or_peer = 0;
  std::int32_t rank = 0;
  int channels = 0, warps = 0;
  int gpu_channels = 0, gpu_rejected = 0;
  std::uint32_t window = 0;
  std::int64_t enqueue_start_ns = kUnknownTime, enqueue_end_ns = kUnknownTime;
  std::int64_t start_ns = kUnknownTime, end_ns = kUnknownTime;
  TimesFrom times_from = TimesFrom::kEnqueue;
  /// kProxy: the rank may have come before start_ns, when its GPU first gave or took data, for
  /// which it may have waited.
  bool start_is_latest = false;
  OperationState state = OperationState::kEnqueued;
};

/// A call on a thread: GroupApi, CollApi, P2pApi, KernelLaunch, Group, or the enqueue of an
/// operation.
struct Call {
  record::EventType type = record::EventType::kUnknown;
  std::uint64_t id = 0;
  std::uint64_t operation = 0;  ///< 0: none
  std::uint32_t context = 0;
  std::int32_t tid = 0;
  std::string_view func, datatype;
  std::uint64_t count = 0, stream = 0;
  std::int32_t root_or_depth = -1;
  bool captured = false;
  bool in_flight = false;
  bool sampled_out = false;  ///< shown because it is in flight
  bool nests = true;         ///< it ends in the order of its thread's slices: it can be a plain one
  std::int64_t start_ns = kUnknownTime, end_ns = kUnknownTime;
};

/// The members that all rows below share.
struct ChildRow {
  std::uint64_t id = 0;
  std::uint64_t operation = 0;  ///< 0: none
  std::uint32_t context = 0;    ///< 0: none of this process
  std::int32_t tid = 0;
  bool in_flight = false;
  std::int64_t start_ns = kUnknownTime, end_ns = kUnknownTime;
};

struct ProxyOpRow : ChildRow {
  std::string_view func = {};
  int channel = 0, peer = 0, steps = 0, chunk_bytes = 0;
  bool is_send = false;
  bool has_bytes = false;
  std::uint64_t bytes = 0;
  bool foreign = false;
  int foreign_pid = 0;
  std::uint64_t foreign_context = 0, foreign_parent = 0;
};

struct StepRow : ChildRow {
  int channel = 0, step = 0;
  int peer = -1;  ///< the peer of its proxy operation; -1: not known
  bool is_send = false, unstopped = false;
  bool has_bytes = false;
  std::uint64_t bytes = 0;
  std::int64_t gpu_wait_ns = 0, peer_wait_ns = 0, transfer_ns = 0, flush_ns = 0;
};

struct KernelRow : ChildRow {  // KernelCh and KernelPhase
  int channel = 0;
  int phase = -1;  ///< -1: the whole channel
  std::uint64_t gpu_start = 0, gpu_stop = 0;
  std::int64_t callback_start_ns = kUnknownTime, callback_stop_ns = kUnknownTime;
  std::string_view rejected = {};  ///< why the stamps cannot be true; empty if they can
};

struct ControlRow : ChildRow {
  std::string_view state = {};
  std::uint64_t appended = 0;
};

struct NetRow : ChildRow {
  std::int64_t net_id = 0;
  std::uint64_t length_bytes = 0, work_request = 0;
  int device_or_fd = 0, opcode = 0, queue_pair = 0;
};

struct CopyEngineRow : ChildRow {
  record::EventType type = record::EventType::kUnknown;
  std::uint64_t bytes = 0;
  int number = 0;
  bool flag = false;
};

/// A mark of the application, or a range of a thread of it.
struct Mark {
  std::uint64_t id = 0;       ///< 0: a mark of the plugin's own, for the whole process
  std::uint32_t context = 0;  ///< none
  std::int32_t tid = 0;
  std::string text, source;
  bool is_range = false;
  bool in_flight = false;  ///< it has not ended; end_ns is when it was written
  bool nests = true;       ///< it ends in order on its thread
  std::int64_t start_ns = kUnknownTime;
  std::int64_t end_ns = kUnknownTime;  ///< of a range
};

struct OperationRow {
  const Operation* operation;
  const Communicator* communicator;  ///< the operation's communicator
};

/// A row as sinks take it. Its pointers are valid during the sink's call only.
using Row =
    std::variant<OperationRow, const Call*, const ProxyOpRow*, const StepRow*, const KernelRow*,
                 const ControlRow*, const NetRow*, const CopyEngineRow*, const Mark*>;

/// A visitor of several lambdas, one for each type.
template <typename... Lambdas>
struct Overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <typename... Lambdas>
Overloaded(Lambdas...) -> Overloaded<Lambdas...>;

/// These bits distinguish the keys of operations from each other and from those of other rows.
inline constexpr std::uint64_t kOperationKey = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kApiOperationKey = std::uint64_t{1} << 62;
/// Not of a row: a record of the event that has this row was counted as stale.
inline constexpr std::uint64_t kStaleKey = std::uint64_t{1} << 61;

/// The key by which the journal knows a row: the row's id, or the number of an operation. An
/// operation that consists of a call alone has the call's id, since its number may change in
/// recovery.
inline std::uint64_t row_key(const Row& row) {
  return std::visit(Overloaded{[](const OperationRow& of) {
                                 const Operation& operation = *of.operation;
                                 return operation.kind == OperationKind::kApi
                                            ? operation.call_row | kApiOperationKey
                                            : operation.number | kOperationKey;
                               },
                               [](const auto* of) { return of->id; }},
                    row);
}

/// The context of a row; 0: none of this process.
inline std::uint32_t context_of(const Row& row) {
  return std::visit(Overloaded{[](const OperationRow& of) { return of.operation->context; },
                               [](const auto* of) { return of->context; }},
                    row);
}

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_ROWS_H
