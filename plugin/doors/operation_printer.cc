// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/operation_printer.h"

#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "plugin/assemble/message_bytes.h"
#include "plugin/nvtx/payload.h"
#include "plugin/record/own_descriptor.h"

namespace ringside::control {
namespace {

using assemble::OperationKind;

bool is_p2p(const assemble::Operation& operation) {
  // A call without an execution that can be seen has its function as its only type.
  return operation.kind == OperationKind::kP2p || operation.func == "Send" ||
         operation.func == "Recv";
}

// Calls carry no rank: they have their communicator's rank, if that is known.
bool knows_rank(const assemble::Operation& operation, const assemble::Communicator& communicator) {
  return operation.kind != OperationKind::kApi || communicator.rank_known;
}

// Pipes and terminals can be opened anew, so that writing never waits, without changing what the
// application sees of them. (poll and then write is not enough: others may write to the same pipe
// in between.)
int open_copy(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))) {
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    const int own =
        record::own_descriptor(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own >= 0) {
      return own;
    }
  }
  constexpr int kAboveStandardStreams = 3;
  return fcntl(descriptor, F_DUPFD_CLOEXEC, kAboveStandardStreams);
}

}  // namespace

OperationPrinter::OperationPrinter(int descriptor, const Config& config, std::string host,
                                   std::int64_t base_time_s)
    : config_(config),
      host_(std::move(host)),
      base_realtime_ns_(base_time_s * 1'000'000'000),
      descriptor_(open_copy(descriptor)) {}

OperationPrinter::~OperationPrinter() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

// One rank prints a collective: the root, else the first rank. Each rank prints its own sends and
// receives.
bool OperationPrinter::is_wanted(const assemble::Operation& operation,
                                 const assemble::Communicator& communicator) const {
  const bool is_leader =
      is_p2p(operation) || (knows_rank(operation, communicator) &&
                            operation.rank == (operation.has_root ? operation.root_or_peer : 0));
  const bool is_in_scope =
      config_.markers == nvtx::Scope::kAll ||
      (config_.markers == nvtx::Scope::kCrossNode &&
       nvtx::may_cross_nodes(communicator.has_size ? communicator.nnodes : -1, operation.rank,
                             operation.kind == OperationKind::kP2p ? operation.root_or_peer : -1));
  return is_leader && is_in_scope && !operation.sampled_out;
}

void OperationPrinter::make_line(const assemble::Operation& operation,
                                 const assemble::Communicator& communicator) {
  // A line stays below PIPE_BUF, with all its escapes.
  constexpr std::size_t kMostText_bytes = 63;
  const auto add_text = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) {
      line_.member_string(key, text.substr(0, kMostText_bytes));
    }
  };
  line_.clear();
  line_.raw("{\"ringside\":\"operation\"");
  add_text("func", operation.func);
  if (operation.has_bytes) {
    line_.member("message_bytes", operation.bytes);
  }
  if (assemble::can_be_told(operation.count)) {
    line_.member("count", operation.count);
  }
  add_text("datatype", operation.datatype);
  if (knows_rank(operation, communicator)) {
    line_.member("rank", operation.rank);
  }
  if (operation.kind == OperationKind::kP2p) {
    line_.member("peer", operation.root_or_peer);
  } else if (operation.has_root) {
    line_.member("root", operation.root_or_peer);
  }
  if (communicator.has_size) {
    line_.member("nranks", communicator.nranks).member("nnodes", communicator.nnodes);
  }
  if (communicator.has_hash) {
    line_.member_hex("comm", communicator.hash);
  }
  add_text("comm_name", communicator.name);
  if (operation.has_seq) {
    line_.member("seq", operation.seq);
  }
  add_text("algo", operation.algo);
  add_text("proto", operation.proto);
  if (communicator.gpu_index >= 0) {
    line_.member("device", communicator.gpu_index);
  }
  add_text("gpu_serial", config_.gpu_serial.empty() ? communicator.gpu_uuid : config_.gpu_serial);
  add_text("vm_id", config_.vm_id.empty() ? host_ : config_.vm_id);
  line_.member("realtime_ns", base_realtime_ns_ + operation.enqueue_start_ns);
  line_.raw("}\n");
}

bool OperationPrinter::write_line(std::string_view line) {
  pollfd room{descriptor_, POLLOUT, 0};
  if (line.size() > PIPE_BUF || poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) {
    return false;
  }
  // The drain thread blocks SIGPIPE, as all signals.
  const ssize_t written = write(descriptor_, line.data(), line.size());
  is_torn_ = written > 0 ? static_cast<std::size_t>(written) < line.size() : is_torn_;
  return written == static_cast<ssize_t>(line.size());
}

void OperationPrinter::add(const assemble::Operation& operation,
                           const assemble::Communicator& communicator) {
  if (!is_wanted(operation, communicator)) {
    return;
  }
  make_line(operation, communicator);
  // Only a full file and a terminal take a part of a line.
  if ((is_torn_ && !write_line("\n")) || !write_line(line_.text())) {
    lost_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace ringside::control
