// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/unfinished_file.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace ringside::report {
namespace {

// One command has at most a file for each table of an export, and its database.
constexpr std::size_t kMostFiles = 32;
std::array<std::atomic<char*>, kMostFiles> unfinished_paths;
static_assert(std::atomic<char*>::is_always_lock_free);

// Only what a signal handler may call.
void remove_and_end(int signal) {
  for (const auto& path : unfinished_paths) {
    if (const char* const name = path.load(); name != nullptr) {
      ::unlink(name);
    }
  }
  ::raise(signal);  // which ends the process, since its handling is the default again
}

void handle_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
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

UnfinishedFile::UnfinishedFile(std::string path) : path_(std::move(path)) {
  char* const name = ::strdup(path_.c_str());  // never freed: a handler may be reading it
  for (auto& place : unfinished_paths) {
    char* nothing = nullptr;
    if (place.compare_exchange_strong(nothing, name)) {
      break;
    }
  }
  handle_signals();
}

UnfinishedFile::~UnfinishedFile() {
  if (is_ours_) {
    ::unlink(path_.c_str());
    forget();
  }
}

void UnfinishedFile::forget() {
  is_ours_ = false;
  for (auto& place : unfinished_paths) {
    if (const char* const name = place.load(); name != nullptr && path_ == name) {
      place.store(nullptr);
    }
  }
}

}  // namespace ringside::report
