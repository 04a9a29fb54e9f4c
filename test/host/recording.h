// SPDX-License-Identifier: Apache-2.0
//
// Recordings of NCCL's profiler callbacks (test/data/README.md), read into memory.
#ifndef RINGSIDE_TEST_HOST_RECORDING_H
#define RINGSIDE_TEST_HOST_RECORDING_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringside::host {

enum class Kind { kDlopen, kInit, kStart, kStop, kState, kFinalize, kExit, kFlip };

/// Strings are unique per text and live for ever, as NCCL's names do; nullptr where NCCL gave NULL.
struct Callback {
  Kind kind = Kind::kStart;
  std::int64_t time_ns = 0;
  int thread = 0;
  const char* thread_name = nullptr;
  bool main_thread = false;
  int pid = 0;                   // dlopen, exit and ProxyOp
  int abi = 0;                   // dlopen
  std::int64_t realtime_ns = 0;  // dlopen: CLOCK_REALTIME at time_ns

  std::optional<std::int64_t> context;  // a number; 0 is NULL; none after an init that failed
  std::int64_t handle = 0;              // likewise
  bool handle_is_foreign = false;       // handle holds a raw value that no plugin returned
  std::int64_t parent = 0;
  std::int64_t parent_group = 0;
  std::uint64_t handle_before = 0;
  std::uint32_t type = 0;  // event type bit; 0 if not known
  int state = 0;
  bool arguments_null = false;
  int mask = 0;  // flip

  // The members of init and of the descriptors, under names close to NCCL's.
  const char* comm_name = nullptr;
  std::uint64_t comm_hash = 0;
  int n_nodes = 0;
  int n_ranks = 0;
  int rank = 0;
  bool has_logger = false;
  std::uint64_t seq_number = 0;
  const char* func = nullptr;
  const char* datatype = nullptr;
  const char* algo = nullptr;
  const char* proto = nullptr;
  std::uint64_t send_buff = 0;
  std::uint64_t recv_buff = 0;
  std::uint64_t buff = 0;
  std::uint64_t count = 0;
  int root = 0;
  std::uint64_t traffic_bytes = 0;
  std::uint8_t n_channels = 0;  // v1 to v3: nMaxChannels
  std::uint8_t n_warps = 0;
  int peer = 0;
  bool pid_is_mine = true;
  std::uint8_t channel = 0;
  int n_steps = 0;
  int chunk_size = 0;
  int is_send = 0;
  int step = 0;
  std::uint64_t gpu_timer = 0;
  std::int64_t net_id = 0;
  int socket_fd = 0;
  int socket_op = 0;
  std::uint64_t socket_length = 0;
  bool graph_captured = false;
  int group_depth = 0;
  std::uint64_t stream = 0;
  std::uint64_t trans_size = 0;
  int steps = 0;
  int appended = 0;

  std::uint64_t user_tag = 0;
  // No genuine recording has these.
  const char* kernel_variant = nullptr;
  bool symmetric = false;
  const char* sync_strategy = nullptr;
  bool intra_batch_sync = false;
  std::uint32_t batch_size = 0;
  std::uint32_t n_batches = 0;
  std::uint32_t ce_seq_num = 0;
  bool is_complete = false;
  int n_ops = 0;
  std::uint64_t total_bytes = 0;
  std::uint8_t phase = 0;
  const char* phase_name = nullptr;

  /// init, start, stop, state, finalize: what NCCL calls; these are numbered from 1.
  bool is_call() const;
};

struct Recording {
  std::string path;
  int nccl_version = 0;  // as ncclGetVersion gives it, from the folder's name
  int abi = 0;
  int pid = 0;
  std::vector<Callback> callbacks;  // in order of time
};

/// Throws std::runtime_error, naming file and line.
Recording read_recording(const std::string& path);

/// "2.30.7-v6-mix-n2" -> 23007; 0 if the name does not begin with a version.
int version_of_folder(const std::string& name);

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_RECORDING_H
