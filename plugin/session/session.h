// SPDX-License-Identifier: Apache-2.0
//
// The meeting point of the plugin's threads. NCCL's init and finalize, the C API and the control
// socket come from any thread: they change what is recorded, and leave notes and orders for the
// drain thread. The drain thread takes those. All of it is under one mutex that is held for
// moments. Nobody waits for the drain thread, but the caller of ringside_dump and the exit of the
// process.
// The hot path (record/) knows nothing of all this.
#ifndef RINGSIDE_PLUGIN_SESSION_SESSION_H
#define RINGSIDE_PLUGIN_SESSION_SESSION_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/config/config.h"
#include "plugin/drain/dump_writer.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/posix/log.h"
#include "plugin/record/host_side.h"
#include "plugin/session/notes.h"
#include "plugin/session/recording.h"
#include "plugin/session/ring_directory.h"
#include "plugin/threads/mutex.h"
#include "ringside/ringside.h"

namespace ringside::session {

/// The state of a process's profiler, for those who ask by the C API or by the control socket.
struct Status {
  ringside_status_info info{};  ///< as the C API gives it
  Recording::State state = Recording::State::kStopped;
  bool mask_changed = false;  ///< somebody else's change of NCCL's masks keeps events away
  std::int32_t rank = -1;     ///< of this process; -1: not known, or it has several
  WindowPlan plan;            ///< as of `now`
  PlanTime now;
};

class Session {
 public:
  /// `start_thread` starts the drain thread; it returns false if there cannot be one. It is called
  /// under the mutex. `config`, `log` and `writer` outlive the session.
  Session(const config::Config& config, posix::Log& log, drain::TraceWriter& writer,
          std::function<bool()> start_thread);

  // NCCL's init and finalize, as in record/host_side.h.
  void* open_communicator(const record::CommunicatorInit& init);
  void close_communicator(const void* context);

  // The C API, with its return values (ringside/ringside.h).
  int start(const char* events);
  int stop();
  bool is_started() const { return is_started_.load(std::memory_order_relaxed); }
  int dump(const char* path);
  Status status();

  // The control socket (docs/dev/control-socket.md).
  /// False if more starts and stops wait to be written than there is room for: nothing is ordered.
  bool order_start(const PlannedStart& start);
  /// Whether an ordered start waits for nothing but the drain thread.
  bool has_start_at_once();
  /// With 0, the window ends at once.
  void order_stop(std::int64_t at_realtime_ns);
  /// An empty path: a name beside the trace. NULL if there is no thread to write it. If too many
  /// dumps wait, the dump is finished with EBUSY.
  std::shared_ptr<drain::Dump> order_dump(const std::string& path);
  /// Has the drain thread call `note`, soon. A note that throws is tried again, up to three times.
  /// False if too many wait.
  bool tell_drain_thread(Note note);
  /// Any thread may call those of its functions that its header names so.
  const drain::TraceWriter& writer() const { return writer_; }
  /// It is made before the drain thread begins.
  RingDirectory& directory() { return directory_; }

  // The drain thread.
  /// Waits until something is to be done, or for a while: `idle_wait` if nothing is recorded, else
  /// `wait`, and never beyond what is ordered for later. False if the thread is to finish.
  bool wait_for_work(std::chrono::milliseconds wait, std::chrono::milliseconds idle_wait)
      RINGSIDE_REQUIRES(threads::kDrainThread);
  void look_at_masks() RINGSIDE_REQUIRES(threads::kDrainThread);
  /// Moves the notes into an empty list. Returns what notes_applied() is given when they are
  /// applied.
  std::size_t take_notes(std::vector<Note>& notes) RINGSIDE_REQUIRES(threads::kDrainThread);
  void notes_applied(std::size_t windows) RINGSIDE_REQUIRES(threads::kDrainThread);
  void carry_out_plan() RINGSIDE_REQUIRES(threads::kDrainThread);
  /// How many dumps are ordered. A dump that is ordered later waits for the next reading of the
  /// rings: it holds all that had returned when it was ordered.
  std::size_t due_dumps() RINGSIDE_REQUIRES(threads::kDrainThread);
  /// One of them, the oldest first.
  std::shared_ptr<drain::Dump> take_dump() RINGSIDE_REQUIRES(threads::kDrainThread);
  /// The next name beside the trace. Any thread.
  std::string next_dump_path();
  /// The drain thread does nothing from here on.
  void thread_ends() noexcept RINGSIDE_REQUIRES(threads::kDrainThread);

  // The exit of the process.
  /// Closes the gate: what NCCL's threads report from here on is not recorded.
  void end_recording() noexcept;
  /// Asks the drain thread to finish, and waits for it. False if it has not ended by then; it may
  /// be called again.
  bool end_thread(threads::Clock::time_point until) noexcept;

 private:
  /// This process's rank in the largest communicator so far.
  struct CommunicatorRank {
    std::uint64_t hash = 0;
    std::int32_t rank = -1;  ///< -1: not known, or this process has several
    std::int32_t nranks = 0;
  };

  /// Dumps, and other orders of clients, that may wait: the drain thread may wait for a file
  /// system for long, and a client that goes away leaves its order.
  static constexpr std::size_t kMostOrders = 64;

  void prepare_rings();
  /// NVTX ranges (RINGSIDE_MARKERS) are prepared with the first communicator, before its first
  /// event. Without any mutex: a tool may take its time to load, and may call any function.
  void add_markers(const assemble::Communicator& communicator);
  bool ensure_thread() RINGSIDE_REQUIRES(mutex_);

  const config::Config& config_;
  posix::Log& log_;
  drain::TraceWriter& writer_;  ///< the drain thread's, but for what its header says
  const std::function<bool()> start_thread_;
  RingDirectory directory_;
  // No std::call_once: an exception of a library with a C++ runtime of its own does not pass the C
  // library's pthread_once, but aborts.
  std::mutex making_rings_, making_markers_;
  bool rings_made_ = false, markers_made_ = false;

  threads::Mutex mutex_;
  threads::Condition wake_;   ///< the drain thread waits
  threads::Condition ended_;  ///< the exit of the process waits for the drain thread
  Notes notes_ RINGSIDE_GUARDED_BY(mutex_);
  Recording recording_ RINGSIDE_GUARDED_BY(mutex_);
  const std::atomic<bool>& is_started_;  ///< recording_'s, for any thread
  std::deque<std::shared_ptr<drain::Dump>> dumps_ RINGSIDE_GUARDED_BY(mutex_);
  std::size_t orders_ RINGSIDE_GUARDED_BY(mutex_) = 0;  ///< of tell_drain_thread(), in notes_
  std::atomic<int> default_dumps_{0};
  CommunicatorRank rank_ RINGSIDE_GUARDED_BY(mutex_);
  bool is_announced_ RINGSIDE_GUARDED_BY(mutex_) = false;
  bool thread_is_running_ RINGSIDE_GUARDED_BY(mutex_) = false;
  bool thread_is_wanted_ RINGSIDE_GUARDED_BY(mutex_) = true;
  bool thread_has_ended_ RINGSIDE_GUARDED_BY(mutex_) = false;
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_SESSION_H
