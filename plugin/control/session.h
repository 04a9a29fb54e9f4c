// SPDX-License-Identifier: Apache-2.0
//
// The profiler of this process: configuration, communicators, windows, and the drain thread that
// takes the rings empty and writes the trace.
//
// Threads: init, finalize and the C API come from any thread and only leave notes for the drain
// thread, under a mutex that is held for moments; they never wait for it, except ringside_dump,
// whose caller wants to. All that assembles and writes is the drain thread's own and needs no lock.
// The hot path (record/) knows nothing of all this.
#ifndef RINGSIDE_PLUGIN_CONTROL_SESSION_H
#define RINGSIDE_PLUGIN_CONTROL_SESSION_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugin/control/config.h"
#include "plugin/control/hang_command.h"
#include "plugin/control/hang_watch.h"
#include "plugin/control/log.h"
#include "plugin/control/ring_directory.h"
#include "plugin/control/trace_writer.h"
#include "plugin/record/host_side.h"
#include "ringside/ringside.h"

namespace ringside::control {

class Session {
 public:
  /// The process's session; made at the first use, never destroyed. NULL where it cannot be made,
  /// and in the child of a fork.
  static Session* get() noexcept;
  /// The same, but not made for the asking.
  static Session* existing() noexcept;
  /// For the child of a fork: from here on get() gives NULL.
  static void disable_in_child() noexcept;

  explicit Session(Config config);

  void* open_communicator(const record::CommunicatorInit& init);
  void close_communicator(const void* context);

  int start(const char* events);
  int stop();
  int mark(const char* text);
  int push(const char* text, const char* source);
  int pop();
  int dump(const char* path);
  void status(ringside_status_info& info);

  /// Writes what is left and ends the drain thread; waits a few seconds at most. At exit of the
  /// process.
  void shut_down();

 private:
  struct DumpRequest {
    std::string path;
    bool done = false;
    int result = 0;
    int error = 0;
  };
  using Note = std::function<void(TraceWriter&)>;

  /// Leaves word for the drain thread. Under the mutex.
  template <typename Told>
  void note(Told told) {
    notes_.push_back([told = std::move(told)](TraceWriter& writer) { writer.apply(told); });
  }
  int note_mark(assemble::UserMark::What what, const char* text, const char* source);
  void make_ring_directory();
  bool ensure_thread();
  static void* thread_main(void* session) noexcept;
  void drain_loop();
  void place_thread();
  std::chrono::milliseconds drain_wait(int idle_cycles) const;
  bool cycle(bool final);
  void look_for_hangs();
  std::string next_dump_path();
  void announce(const record::CommunicatorInit& init);
  std::string kept_where() const;
  void apply_gate();
  void set_mask(std::uint32_t types);

  const Config config_;
  Log log_;
  TraceWriter writer_;  // the drain thread's, but for its thread-safe figures
  RingDirectory ring_directory_;
  HangWatch hang_watch_;  // the drain thread's, as the next two
  HangCommand hang_command_;
  int hang_dumps_ = 0;

  std::mutex mutex_;  // guards what follows, up to the next blank line
  std::condition_variable wake_;
  std::condition_variable answered_;
  std::vector<Note> notes_;
  std::vector<std::shared_ptr<DumpRequest>> dumps_;
  bool thread_running_ = false;
  bool thread_wanted_ = true;
  bool thread_ended_ = false;
  bool started_;
  EventChoice choice_;
  NcclFacts nccl_;
  int* mask_ = nullptr;  ///< NCCL's; dropped at the last finalize, since NCCL may be unloaded then
  std::int32_t open_communicators_ = 0;
  std::uint32_t windows_ = 0;
  std::uint32_t wanted_ = 0;
  int default_dumps_ = 0;
  bool announced_ = false;
  bool kernel_risk_told_ = false;
  bool trouble_told_ = false;  // the drain thread's
  bool rings_told_ = false;    // the drain thread's
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_CONTROL_SESSION_H
