// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/dump_writer.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "plugin/threads/background_thread.h"

namespace ringside::drain {

std::optional<Result> Dump::wait_for(std::chrono::nanoseconds time) const {
  const auto deadline = std::chrono::steady_clock::now() + time;
  threads::MutexLock lock(mutex_);
  while (state_ != State::kDone && lock.wait_until(done_, deadline)) {
  }
  return state_ == State::kDone ? std::optional(result_) : std::nullopt;
}

// Returns false if it was in another state than at work.
bool Dump::enter(State next) {
  const threads::MutexLock lock(mutex_);
  if (state_ == State::kAtWork) {
    state_ = next;
  }
  return state_ == next;
}

bool Dump::is_wanted() const {
  const threads::MutexLock lock(mutex_);
  return state_ != State::kCanceled;
}

void Dump::finish(Result result) noexcept {
  const threads::MutexLock lock(mutex_);
  if (state_ != State::kCanceled) {
    state_ = State::kDone;
    result_ = std::move(result);
  }
  done_.notify_all();
}

void DumpWriter::write(std::shared_ptr<Dump> dump, exporting::TraceSnapshot content) {
  const threads::MutexLock lock(mutex_);
  if (jobs_.size() == kMostJobs) {
    dump->finish({EBUSY, "too many dumps wait to be written"});
    return;
  }
  jobs_.push_back({std::move(dump), std::move(content)});
  if (!is_running_ && !threads::start_background_thread("ringside-dump", 0, thread_main, this)) {
    jobs_.back().dump->finish(Result(EAGAIN));
    jobs_.pop_back();
    return;
  }
  is_running_ = true;
}

bool DumpWriter::wait_until_idle(threads::Clock::time_point until) {
  threads::MutexLock lock(mutex_, until);
  if (!lock.is_held()) {
    return false;
  }
  while (is_running_ && lock.wait_until(idle_, until)) {
  }
  return !is_running_;
}

void* DumpWriter::thread_main(void* writer) noexcept {
  static_cast<DumpWriter*>(writer)->write_all();
  return nullptr;
}

void DumpWriter::write_all() noexcept {
  for (const Job* job = next_job(nullptr); job != nullptr; job = next_job(job)) {
    Result written(ENOMEM);
    try {
      written = write_file(*job);
    } catch (...) {
      // Memory was too short before there was a file.
    }
    job->dump->finish(std::move(written));
  }
}

// Returns NULL if there is no job; the thread then ends.
const DumpWriter::Job* DumpWriter::next_job(const Job* done) {
  const threads::MutexLock lock(mutex_);
  if (done != nullptr) {
    jobs_.pop_front();
  }
  if (!jobs_.empty()) {
    return &jobs_.front();
  }
  is_running_ = false;
  idle_.notify_all();
  return nullptr;
}

// Writes a dump, and names its file when it is whole, so that no part looks like a dump.
Result DumpWriter::write_file(const Job& job) const {
  const std::string& path = job.dump->path();
  struct stat found {};
  if (!job.dump->is_wanted()) {
    return Result(ECANCELED);
  }
  if (lstat(path.c_str(), &found) == 0) {
    return Result(EEXIST);
  }
  // Before the first communicator, and with a flight recorder, the directory may not exist yet.
  if (path.starts_with(directory_ + "/")) {
    if (Result made = exporting::make_directories(directory_); !made.is_ok()) {
      return made;
    }
  }
  const std::string temporary = path + part_ending_;
  exporting::TraceFile file;
  Result written = file.create(temporary);
  if (!written.is_ok()) {
    return written;
  }
  try {
    written = job.content.copy_to(file, [&] { return job.dump->is_wanted(); })
                  .then([&] { return file.store(); })
                  .then([&] {
                    return job.dump->begin_naming() ? exporting::give_name(temporary, path)
                                                    : Result(ECANCELED);
                  });
  } catch (...) {
    written = Result(ENOMEM);
  }
  if (!written.is_ok()) {
    unlink(temporary.c_str());
  }
  return written;
}

}  // namespace ringside::drain
