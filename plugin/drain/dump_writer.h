// SPDX-License-Identifier: Apache-2.0
//
// Writes dumps, one after the other, on a thread of its own that is there as long as there are any:
// a dump of gigabytes, or a slow file system behind it, does not keep the drain thread from the
// rings.
#ifndef RINGSIDE_PLUGIN_DRAIN_DUMP_WRITER_H
#define RINGSIDE_PLUGIN_DRAIN_DUMP_WRITER_H

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "plugin/export/trace_snapshot.h"
#include "plugin/result/result.h"
#include "plugin/threads/mutex.h"

namespace ringside::control {

/// A dump that somebody has asked for. Any thread.
class Dump {
 public:
  explicit Dump(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  /// Success once the file is there, or why there will be none; EEXIST if another file has the
  /// name.
  std::optional<Result> result() const;
  /// The same, once it is known; nothing if that takes longer.
  std::optional<Result> wait_for(std::chrono::nanoseconds time) const;
  /// It is not wanted any more, and no file of this name is made. False if there is a result
  /// already, or will be in a moment.
  bool cancel();
  bool is_wanted() const;

  /// The file is whole and is given its name now. False if it is not wanted.
  bool begin_naming();
  void finish(Result result) noexcept;

 private:
  enum class State { kAtWork, kNaming, kDone, kCanceled };

  const std::string path_;
  mutable threads::Mutex mutex_;
  mutable std::condition_variable done_;
  State state_ RINGSIDE_GUARDED_BY(mutex_) = State::kAtWork;
  Result result_ RINGSIDE_GUARDED_BY(mutex_);
};

class DumpWriter {
 public:
  /// Dumps in this directory have it made if it is missing.
  explicit DumpWriter(std::string directory) : directory_(std::move(directory)) {}
  DumpWriter(const DumpWriter&) = delete;
  DumpWriter& operator=(const DumpWriter&) = delete;

  /// The dump is finished at some later time. Throws std::bad_alloc.
  void write(std::shared_ptr<Dump> dump, exporting::TraceSnapshot content);

  /// False if there are still some at work after that time.
  bool wait_until_idle(std::chrono::steady_clock::time_point until);

 private:
  struct Job {
    std::shared_ptr<Dump> dump;
    exporting::TraceSnapshot content;
  };
  static void* thread_main(void* writer) noexcept;
  void write_all() noexcept;
  const Job* next_job();
  void end_job();
  Result write_file(const Job& job) const;

  const std::string directory_;
  threads::Mutex mutex_;
  std::condition_variable idle_;
  /// The first one is being written; it stays where it is when others are added.
  std::deque<Job> jobs_ RINGSIDE_GUARDED_BY(mutex_);
  bool is_running_ RINGSIDE_GUARDED_BY(mutex_) = false;
};

}  // namespace ringside::control

#endif  // RINGSIDE_PLUGIN_DRAIN_DUMP_WRITER_H
