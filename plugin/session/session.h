// SPDX-License-Identifier: Apache-2.0
//
// The profiler of this process: configuration, communicators, windows, and the drain thread that
// takes the rings empty and writes the trace.
//
// Threads: init, finalize and the C API come from any thread and only leave notes for the drain
// thread, under a mutex that is held for moments; they never wait for it, except ringside_dump,
// whose caller wants to. All that assembles and writes is the drain thread's own and needs no lock.
// The hot path (record/) knows nothing of all this.
#ifndef RINGSIDE_PLUGIN_SESSION_SESSION_H
#define RINGSIDE_PLUGIN_SESSION_SESSION_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/config/config.h"
#include "plugin/doors/control_socket.h"
#include "plugin/doors/flat_json.h"
#include "plugin/doors/hang_command.h"
#include "plugin/doors/hang_watch.h"
#include "plugin/drain/dump_writer.h"
#include "plugin/drain/trace_writer.h"
#include "plugin/record/host_side.h"
#include "plugin/session/activation_masks.h"
#include "plugin/session/log.h"
#include "plugin/session/note_room.h"
#include "plugin/session/ring_directory.h"
#include "plugin/session/window_plan.h"
#include "ringside/ringside.h"

namespace ringside::control {

class Session {
 public:
  /// The process's session; made at the first use, never destroyed. NULL where it cannot be made,
  /// and in the child of a process that had opened a communicator, or begun to write, before the
  /// fork. The child of one that had not is a process of its own: it has a session of its own.
  static Session* get() noexcept;
  /// The same, but not made for the asking.
  static Session* existing() noexcept;
  /// For the child of a fork: closes what the parent's clients would otherwise hang on.
  static void close_in_child() noexcept;
  /// Says, once, why nothing is recorded in the child of a fork.
  static void tell_in_child();

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
  void shut_down() noexcept;

 private:
  /// The rank in the largest communicator so far.
  struct CommunicatorRank {
    std::uint64_t hash = 0;
    std::int32_t rank = -1;  ///< -1: not known, or this process has several
    std::int32_t nranks = 0;
  };
  using Note = std::function<void(TraceWriter&)>;

  /// Leaves word for the drain thread. Under the mutex.
  template <typename Told>
  void note(Told told) {
    notes_.push_back([told = std::move(told)](TraceWriter& writer) { writer.apply(told); });
  }
  int note_mark(assemble::UserMark::What what, const char* text, const char* source);
  template <typename Told>
  void note_window(const Told& told) {
    window_room_.added();
    note(told);
  }
  bool has_room_to_start(bool has_events) const;
  void prepare_rings();
  void make_ring_directory(std::string& left_over);
  RingDirectory& control_directory() {
    return ring_directory_.is_open() ? ring_directory_ : control_only_;
  }
  bool ensure_thread();
  static void* thread_main(void* session) noexcept;
  void drain_loop() noexcept;
  template <typename Step>
  bool survives(Step step) noexcept;
  void end_drain() noexcept;
  void place_thread();
  std::chrono::milliseconds drain_wait(int idle_cycles) const;
  bool cycle(bool final);
  void write_dumps(std::size_t due);
  void write_dump(const std::shared_ptr<Dump>& dump);
  void look_for_hangs();
  void follow_hang_dump();
  void start_with(const EventChoice& choice);
  void end_window();
  void order_first_window();
  std::shared_ptr<Dump> order_dump(const std::string& path);

  // session_plan.cc
  PlanTime plan_time() const;
  void carry_out_plan();

  // session_markers.cc
  void begin_markers(const assemble::Communicator& communicator);
  void tell_markers();

  // session_notes.cc
  bool take_notes();
  void tell_lost_marks();

  // session_control.cc: the control socket's thread, but for begin_control
  void begin_control();
  ControlSocket::Answer answer(std::string_view request);
  ControlSocket::Answer answer_start(const std::vector<FlatMember>& request);
  ControlSocket::Answer answer_stop(const std::vector<FlatMember>& request);
  ControlSocket::Answer answer_mark(const std::vector<FlatMember>& request);
  ControlSocket::Answer answer_dump(const std::vector<FlatMember>& request);
  ControlSocket::Answer answer_live();
  ControlSocket::Answer answer_metrics(const std::vector<FlatMember>& request);
  /// `make` gives the members of the answer; it is called by the drain thread, which alone knows
  /// what is assembled.
  ControlSocket::Answer answer_of_drain(std::string verb,
                                        std::function<std::string(TraceWriter&)> make);
  /// `more`: members behind those of every answer, each with a comma before it.
  std::string status_line(std::string_view verb, std::string_view more = {});

  std::string next_dump_path();
  struct Line {
    bool is_warning;
    std::string text;
  };
  std::vector<Line> announcement();
  void say(const std::vector<Line>& lines, record::NcclLogger logger);
  std::string kept_where() const;
  std::string rings_where();
  /// What NCCL's masks hold: as it is, where it is right, or written in any case.
  enum class Masks : std::uint8_t { kKept, kWritten };
  void apply_gate(Masks masks);
  void look_at_masks();
  void warn_of_masks(const std::vector<ActivationMasks::Change>& changes);
  void warn_later(std::string line);
  void set_recorded(std::uint64_t end_ticks, bool mask_changed);

  const Config config_;
  Log log_;
  TraceWriter writer_;  // the drain thread's, but for its thread-safe figures
  DumpWriter dump_writer_;
  RingDirectory ring_directory_;
  RingDirectory control_only_;  ///< elsewhere, where that one cannot be made
  HangWatch hang_watch_;        // the drain thread's, as the next two
  HangCommand hang_command_;
  int hang_dumps_ = 0;
  std::shared_ptr<Dump> hang_dump_;  // that is being written
  ControlSocket control_;

  std::mutex mutex_;  // guards what follows, up to the next blank line
  std::condition_variable wake_;
  std::condition_variable answered_;
  std::vector<Note> notes_;
  MarkRoom mark_room_;
  WindowRoom window_room_;
  std::deque<std::shared_ptr<Dump>> dumps_;
  WindowPlan plan_;
  bool plan_new_ = false;               ///< since the drain thread looked
  std::uint64_t operations_begun_ = 0;  ///< as the drain thread has last seen
  bool thread_running_ = false;
  bool thread_wanted_ = true;
  bool thread_ended_ = false;
  bool started_;
  EventChoice choice_;
  NcclFacts nccl_;
  ActivationMasks masks_;
  std::uint32_t windows_ = 0;
  std::uint32_t wanted_ = 0;        ///< of any NCCL
  std::uint32_t recorded_ = 0;      ///< of that, what no mask lacks
  std::uint64_t looked_ticks_ = 0;  ///< when the masks held what is recorded, for the last time
  int mask_changes_told_ = 0;
  int default_dumps_ = 0;
  CommunicatorRank rank_;
  bool announced_ = false;
  bool kernel_risk_told_ = false;
  bool trouble_told_ = false;      // the drain thread's
  bool memory_told_ = false;       // the drain thread's
  bool rings_told_ = false;        // the drain thread's
  bool markers_told_ = false;      // the drain thread's
  bool lines_told_ = false;        // the drain thread's
  bool marks_told_ = false;        // the drain thread's
  std::vector<Note> taken_notes_;  // the drain thread's
  std::size_t next_note_ = 0;      // of these, the drain thread's
  int note_attempts_ = 0;          // to apply that one, the drain thread's
  std::once_flag markers_begun_;
  std::once_flag rings_made_;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_SESSION_SESSION_H
