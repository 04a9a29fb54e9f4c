// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/unfinished_file.h"

#include <array>
#include <atomic>
#include <csignal>
#include <unistd.h>
#include <utility>

namespace ringside::report {
namespace {

// One command has at most a file for each table of an export, and its database.
constexpr std::size_t kMostFiles = 32;
constexpr std::size_t kMostPath = 4096;  // PATH_MAX of the kernel

// The path is in a fixed place that is never given back: a handler may be reading it.
struct Place {
  std::atomic<bool> is_taken;
  std::atomic<bool> is_set;
  std::atomic<bool> is_directory;
  std::array<char, kMostPath> path;
};
std::array<Place, kMostFiles> unfinished;
static_assert(std::atomic<bool>::is_always_lock_free);

// This calls only functions that a signal handler may call.
void remove_and_end(int signal) {
  for (const Place& place : unfinished) {
    if (place.is_set && !place.is_directory) {
      ::unlink(place.path.data());
    }
  }
  for (const Place& place : unfinished) {
    if (place.is_set && place.is_directory) {
      ::rmdir(place.path.data());
    }
  }
  ::raise(signal);  // which ends the process, since its handling is the default again
}

void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ}) {
    struct sigaction before {};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      struct sigaction action {};
      action.sa_handler = remove_and_end;
      action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
      ::sigaction(signal, &action, nullptr);
    }
  }
}

}  // namespace

UnfinishedFile::UnfinishedFile(std::string path, Kind kind) : path_(std::move(path)), kind_(kind) {
  while (place_ < kMostFiles && unfinished[place_].is_taken.exchange(true)) {
    ++place_;
  }
  if (place_ < kMostFiles && path_.size() < kMostPath) {
    path_.copy(unfinished[place_].path.data(), kMostPath);
    unfinished[place_].path[path_.size()] = '\0';
    unfinished[place_].is_directory = kind == Kind::kDirectory;
    unfinished[place_].is_set = true;
  }
  handle_signals();
}

UnfinishedFile::~UnfinishedFile() {
  if (is_ours_) {
    if (kind_ == Kind::kDirectory) {
      ::rmdir(path_.c_str());
    } else {
      ::unlink(path_.c_str());
    }
    forget();
  }
}

void UnfinishedFile::forget() {
  is_ours_ = false;
  if (place_ < kMostFiles) {
    unfinished[place_].is_set = false;
    unfinished[place_].is_taken = false;
    place_ = kMostFiles;
  }
}

}  // namespace ringside::report
