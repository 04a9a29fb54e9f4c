// SPDX-License-Identifier: Apache-2.0
#include "test/host/application.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#define RINGSIDE_NO_OPEN
#include "include/ringside/ringside.h"

namespace {

// The child of a fork has only the stack of the thread that forked: what the others held looks
// leaked.
bool leaks_mean_nothing = false;

}  // namespace

// Asked for by the leak sanitizer, if there is one.
extern "C" int __lsan_is_turned_off() {  // NOLINT: its name
  return leaks_mean_nothing ? 1 : 0;
}

namespace ringside::host {
namespace {

template <class Function>
Function* as(void* symbol) {
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace

void Application::act(std::int64_t calls) {
  while (next_ < actions_.size() && actions_[next_].after_calls <= calls) {
    do_action(actions_[next_++]);
  }
}

void Application::do_action(const Action& action) {
  const char* text = action.text.empty() ? nullptr : action.text.c_str();
  switch (action.what) {
    case Action::What::kStart:
      if (void* start = function("ringside_start")) {
        const ringside_start_options options = {sizeof options, text};
        expect("ringside_start",
               as<int(const ringside_start_options*)>(start)(text != nullptr ? &options : nullptr),
               0);
      }
      break;
    case Action::What::kStop:
      if (void* stop = function("ringside_stop")) {
        expect("ringside_stop", as<int()>(stop)(), 0);
      }
      break;
    case Action::What::kDump:
      if (void* dump = function("ringside_dump")) {
        expect("ringside_dump", as<int(const char*)>(dump)(text), 0);
      }
      break;
    case Action::What::kMark:
      if (void* mark = function("ringside_mark")) {
        expect("ringside_mark", as<int(const char*)>(mark)(text), 0);
      }
      break;
    case Action::What::kPush:
      if (void* push = function("ringside_push")) {
        expect("ringside_push", as<int(const char*, const char*)>(push)(text, "application.cc:1"),
               0);
      }
      break;
    case Action::What::kPop:
      if (void* pop = function("ringside_pop")) {
        expect("ringside_pop", as<int()>(pop)(), 0);
      }
      break;
    case Action::What::kFork:
      fork_and_exit();
      break;
    case Action::What::kMask:
      mask_before_ = __atomic_exchange_n(
          mask_, action.text == "back" ? mask_before_ : std::atoi(action.text.c_str()),
          __ATOMIC_RELAXED);
      break;
    case Action::What::kSleep:
      std::this_thread::sleep_for(
          std::chrono::duration<double>(std::strtod(action.text.c_str(), nullptr)));
      break;
  }
}

void Application::fork_and_exit() {
  // A plugin that is none of ours has no C API; the child then only exits.
  void* library = dlopen(plugin_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void* start = library == nullptr ? nullptr : dlsym(library, "ringside_start");
  if (library != nullptr) dlclose(library);  // NCCL still has it
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    leaks_mean_nothing = true;
    const int result = start == nullptr ? RINGSIDE_ERROR_DISABLED
                                        : as<int(const ringside_start_options*)>(start)(nullptr);
    std::exit(result == RINGSIDE_ERROR_DISABLED ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    trouble_ = "fork failed";
  } else if (!WIFEXITED(status)) {
    trouble_ = "the child of the fork died";
  } else {
    expect("the child of the fork: ringside_start is not disabled,", WEXITSTATUS(status), 0);
  }
}

void Application::print_status() {
  ringside_status_info info = {};
  info.struct_size = sizeof info;
  void* status = function("ringside_status");
  if (status == nullptr) return;
  expect("ringside_status", as<int(ringside_status_info*)>(status)(&info), 0);
  std::printf(
      "{\"pid\":%d,\"started\":%d,\"abi_version\":%d,\"nccl_version\":%d,\"wanted_mask\":%d,"
      "\"actual_mask\":%d,\"communicators\":%d,\"windows\":%" PRIu64 ",\"callbacks\":%" PRIu64
      ",\"operations\":%" PRIu64 ",\"dropped\":%" PRIu64
      ",\"trouble\":%d,\"trace_path\":\"%s\","
      "\"bytes_written\":%" PRIu64 ",\"bytes_kept\":%" PRIu64 ",\"rotated\":%" PRIu64
      ",\"flight_recorder\":%d}\n",
      getpid(), info.started, info.abi_version, info.nccl_version, info.wanted_mask,
      info.actual_mask, info.communicators, info.windows, info.callbacks, info.operations,
      info.dropped, info.trouble, info.trace_path, info.bytes_written, info.bytes_kept,
      info.rotated, info.flight_recorder);
}

std::string Application::trouble() const {
  if (trouble_.empty() && next_ < actions_.size()) {
    return "the recording ends before call " + std::to_string(actions_[next_].after_calls);
  }
  return trouble_;
}

// As an application that does not link with the plugin finds it, whether NCCL has loaded it or not.
void* Application::function(const char* name) {
  if (library_ == nullptr) library_ = dlopen(plugin_.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* found = library_ == nullptr ? nullptr : dlsym(library_, name);
  if (found == nullptr) trouble_ = std::string(name) + " cannot be found";
  return found;
}

void Application::expect(const std::string& what, int result, int expected) {
  if (result != expected) {
    trouble_ = what + " returned " + std::to_string(result);
  }
}

}  // namespace ringside::host
