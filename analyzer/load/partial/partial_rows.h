// SPDX-License-Identifier: Apache-2.0
//
// The members of each type of the model that a partial has, in its order, for writer and reader
// alike. A structured binding names every member: one that is added to the model and not here does
// not compile. An unused member is found again when a partial is read, and a comment says how.
#ifndef RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_ROWS_H
#define RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_ROWS_H

#include <cstdint>
#include <optional>

#include "analyzer/load/partial/partial_columns.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::Process> process) {
  // Partials are made of traces alone, which tell all of the last five. The environment is a table
  // of its own.
  auto& [run_id, dump, segment, segment_start_ns, job, host, nccl_environment, boot_id, pid,
         launcher_rank, base_time_s, start_ns, nccl_version, abi, sampling, starts_at_load,
         has_events, tells_begin, tells_moment, tells_start, has_pair_communicators,
         has_common_numbers] = process;
  archive(run_id, dump, segment, segment_start_ns, job, host, boot_id, pid, launcher_rank,
          base_time_s, start_ns, nccl_version, abi, starts_at_load, has_events);
  auto& [coll_of, p2p_of, window_ns, period_ns, min_bytes] = sampling;
  archive(coll_of, p2p_of, window_ns, period_ns, min_bytes);
}

/// How many rows there are in blocks of their own.
struct BlockRows {
  std::uint64_t operations = 0;
  std::uint64_t proxies = 0;
  std::uint64_t steps = 0;
};

/// The one row of a file. Its containers are tables of their own.
template <typename Archive>
void visit(Archive& archive, Of<Archive, model::TraceFile> file, Of<Archive, BlockRows> rows) {
  // A partial has what was found before segments are put together, and nothing of a dump, of a
  // profile or of how a process ended. It has all operations of its traces.
  auto& [path, process, contexts, operations, tensors, tensor_bytes, doubtful, proxies, steps,
         clocks, machines, windows, marks, last_ns, account, operations_written, segments,
         later_paths, segments_missing, next_segment, closed, recovered, silent_ns, end, marks_lost,
         ranges_lost, torn, size_bytes, lines, bad_lines] = file;
  archive(path, last_ns, operations_written, next_segment, closed, recovered, silent_ns, marks_lost,
          ranges_lost, torn, size_bytes, lines, bad_lines);
  auto& [produced, sampled_out, in_rings, rotated, dropped, given_up] = account;
  archive(produced, sampled_out, in_rings, rotated, given_up);
  visit(archive, process);
  archive(rows.operations, rows.proxies, rows.steps);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::Context> context) {
  // Partials are made of traces. No trace says what a watchdog saw, and none has calls alone.
  auto& [comm, name, rank, nranks, created_ns, finalized_ns, why_alone, gpu_pci, gpu_uuid,
         operations, enqueued, started, completed] = context;
  // Operations are counted anew.
  archive(comm, name, rank, nranks, created_ns, finalized_ns, gpu_pci, gpu_uuid);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::ClockReading> reading) {
  auto& [ts_ns, realtime_ns, monotonic_ns, uncertainty_ns, is_synchronised, estimated_error_ns,
         maximum_error_ns, step_after_ns] = reading;
  archive(ts_ns, realtime_ns, monotonic_ns, uncertainty_ns, is_synchronised, estimated_error_ns,
          maximum_error_ns, step_after_ns);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::Window> window) {
  auto& [start_ns, end_ns] = window;
  archive(start_ns, end_ns);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::Mark> mark) {
  auto& [name, tid, is_range, start_ns, end_ns, called_by, process_group, torch_seq] = mark;
  archive.name(name);
  archive.name(called_by);
  archive.name(process_group);
  archive(tid, is_range, start_ns, end_ns, torch_seq);
}

/// The members that many operations have in common: a row of a dictionary. The others are packed
/// (model::Operations).
template <typename Archive>
void visit_shape(Archive& archive, Of<Archive, model::Operation> operation) {
  auto& [id, context, kind, times_from, state, in_flight, func, datatype, algo, proto, seq, count,
         bytes, surplus, root, peer, group, window, channels, graph, gpu_polled, start_is_latest,
         gpu_rejected, stream, user_tag, called_by, process_group, torch_seq, sample_of,
         sampled_out, tid, enqueue_start_ns, enqueue_end_ns, start_ns, end_ns] = operation;
  // Marks tell the callers, and only dumps of the Flight Recorder a surplus.
  archive(context, kind, times_from, state, in_flight);
  archive.name(func);
  archive.name(datatype);
  archive.name(algo);
  archive.name(proto);
  archive.name(stream);
  archive.name(user_tag);
  archive(count, bytes, root, peer, window, channels, graph, gpu_polled, start_is_latest,
          gpu_rejected, sample_of, sampled_out, tid);
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::ProxyOperation> proxy) {
  auto& [operation, context, peer, channel, is_send, in_flight, start_ns, end_ns, bytes, steps,
         foreign_pid] = proxy;
  archive(operation, context, peer, channel, is_send, in_flight, start_ns, bytes, steps,
          foreign_pid);
  archive.presence(end_ns);
  archive.since(end_ns, bits_of(start_ns.value_or(0)));
}

template <typename Archive>
void visit(Archive& archive, Of<Archive, model::Step> step) {
  auto& [operation, context, peer, channel, is_send, in_flight, start_ns, end_ns, bytes,
         gpu_wait_ns, peer_wait_ns, transfer_ns, flush_ns] = step;
  archive(operation, context, peer, channel, is_send, in_flight, start_ns, bytes, gpu_wait_ns,
          peer_wait_ns, flush_ns);
  archive.presence(end_ns);
  archive.since(end_ns, bits_of(start_ns));
  // Most often the times of its parts make up the whole.
  const auto parts_ns = bits_of(gpu_wait_ns) + bits_of(peer_wait_ns) + bits_of(flush_ns);
  archive.since(transfer_ns, bits_of(end_ns.value_or(start_ns)) - bits_of(start_ns) - parts_ns);
}

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PARTIAL_PARTIAL_ROWS_H
