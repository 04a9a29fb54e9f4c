// SPDX-License-Identifier: Apache-2.0
//
// Writes dumps, one after the other, on a thread of its own that runs while there are any. So a
// dump of gigabytes, or a slow file system, does not keep the drain thread from the rings.
#ifndef RINGSIDE_PLUGIN_DRAIN_DUMP_WRITER_H
#define RINGSIDE_PLUGIN_DRAIN_DUMP_WRITER_H

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "plugin/export/trace_file.h"
#include "plugin/result/result.h"
#include "plugin/threads/mutex.h"

namespace ringside::drain {

/// A dump that was requested. Any thread may use it.
class Dump {
 public:
  explicit Dump(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  /// The result, once the dump is finished; EEXIST if another file has its name.
  std::optional<Result> result() const { return wait_for({}); }
  /// Waits for the result, at most for this time; nothing if that is too short.
  std::optional<Result> wait_for(std::chrono::nanoseconds time) const;
  /// Cancels the dump: no file of its name is made. Returns false if it is finished or being named.
  bool cancel() { return enter(State::kCanceled); }
  bool is_wanted() const;

  /// The file is whole and is named next. Returns false if the dump was canceled.
  bool begin_naming() { return enter(State::kNaming); }
  void finish(Result result) noexcept;

 private:
  enum class State { kAtWork, kNaming, kDone, kCanceled };
  bool enter(State next);

  const std::string path_;
  mutable threads::Mutex mutex_;
  mutable threads::Condition done_;
  State state_ RINGSIDE_GUARDED_BY(mutex_) = State::kAtWork;
  Result result_ RINGSIDE_GUARDED_BY(mutex_);
};

class DumpWriter {
 public:
  /// A dump in this directory makes the directory if it is missing. `part_ending` ends the names of
  /// unfinished dumps. No other process may have the same.
  DumpWriter(std::string directory, std::string part_ending)
      : directory_(std::move(directory)), part_ending_(std::move(part_ending)) {}
  DumpWriter(const DumpWriter&) = delete;
  DumpWriter& operator=(const DumpWriter&) = delete;

  /// Has a dump written; it is finished later, or with EBUSY now if too many wait. Throws
  /// std::bad_alloc.
  void write(std::shared_ptr<Dump> dump, exporting::TraceSnapshot content);

  /// Waits until no dump is being written. Returns false if one still is at this time.
  bool wait_until_idle(threads::Clock::time_point until);

 private:
  /// What is in flight takes up to 250 MB of each.
  static constexpr std::size_t kMostJobs = 8;

  struct Job {
    std::shared_ptr<Dump> dump;
    exporting::TraceSnapshot content;
  };
  static void* thread_main(void* writer) noexcept;
  void write_all() noexcept;
  const Job* next_job(const Job* done);
  Result write_file(const Job& job) const;

  const std::string directory_;
  const std::string part_ending_;
  threads::Mutex mutex_;
  threads::Condition idle_;
  /// The first job is being written; it keeps its address when others are added.
  std::deque<Job> jobs_ RINGSIDE_GUARDED_BY(mutex_);
  bool is_running_ RINGSIDE_GUARDED_BY(mutex_) = false;
};

}  // namespace ringside::drain

#endif  // RINGSIDE_PLUGIN_DRAIN_DUMP_WRITER_H
