// SPDX-License-Identifier: Apache-2.0
#include "test/host/replay.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "test/abi/event_types.h"
#include "test/host/descriptor.h"

namespace ringside::host {
namespace {

// One int in NCCL's own data, whatever communicator is initialised.
int activation_mask = 0;

// Another process's pointers look like these here: nothing is mapped there.
constexpr std::uint64_t kForeignContext = 0x7abcdef01230;
constexpr std::uint64_t kForeignParent = 0x7abcdef04560;

constexpr std::uint64_t kUnwritten = 0x7abcdef07890;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int first_abi_with_state(int state) {
  if (state == abi::kKernelPhaseStop) return 7;
  if (state >= abi::kCeCollStart) return 6;
  if (state >= abi::kGroupStartApiStop) return 5;
  return state >= abi::kProxyOpInProgress ? 4 : 1;
}

}  // namespace

Replay::Replay(const Options& options, Recording recording)
    : options_(options),
      recording_(std::move(recording)),
      gpu_clock_(recording_),
      application_(options.plugin, options.actions, &activation_mask) {}

bool Replay::run() {
  const auto goes_on = [&](int played) {
    return options_.until.empty() ? played < options_.repeat
                                  : access(options_.until.c_str(), F_OK) != 0;
  };
  for (int i = 0; goes_on(i) && trouble_.empty(); ++i) {
    Turns turns;
    plan(turns);
    gpu_clock_ = GpuClock(recording_);
    begin_ns_ = now_ns();
    turns.run([this](std::size_t index) { perform(recording_.callbacks[index]); });
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.pause_s));
  }
  if (trouble_.empty()) application_.act(recorded_calls_);
  if (options_.status) application_.print_status();
  if (trouble_.empty()) trouble_ = application_.trouble();
  report();
  return trouble_.empty();
}

void Replay::plan(Turns& turns) const {
  int previous = 0;
  for (const Callback& callback : recording_.callbacks) {
    // The destructor in the child of a fork: the application's own thread forked it.
    const bool in_child = callback.kind == Kind::kExit && callback.pid != recording_.pid;
    const int thread = in_child ? previous : callback.thread;
    turns.add(thread);
    if (callback.thread_name != nullptr && !in_child) turns.set_name(thread, callback.thread_name);
    if (callback.main_thread) turns.set_main(thread);
    previous = thread;
  }
}

namespace {

[[noreturn]] void die(const std::string& death) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (death == "abort") std::abort();
  if (death == "segfault") {
    // As the application would, not as a sanitizer would see it.
    std::signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (death == "kill") raise(SIGKILL);
  _exit(0);
}

}  // namespace

void Replay::perform(const Callback& callback) {
  if (!trouble_.empty()) return;
  application_.act(recorded_calls_);
  if (options_.timing) wait_for(callback);
  gpu_clock_.advance(callback);
  if (callback.kind == Kind::kDlopen) {
    load();
  } else if (callback.kind == Kind::kExit) {
    exit_or_unload(callback);
  } else if (callback.kind != Kind::kFlip) {  // that was the recording plugin's own
    call(callback);
    recorded_calls_++;
    if (recorded_calls_ == options_.kill_after) die(options_.death);
  }
}

void Replay::call(Callback callback) {
  callback.gpu_timer = gpu_clock_.replayed(callback.gpu_timer);
  if (!plugin_) {
    trouble_ = "a call while no plugin is loaded";
  } else if (callback.kind == Kind::kInit) {
    init(callback);
  } else if (callback.kind == Kind::kStart) {
    start(callback);
  } else if (callback.kind == Kind::kFinalize) {
    finalize(callback);
  } else {
    stop_or_state(callback);
  }
}

void Replay::load() {
  if (library_ == nullptr) library_ = dlopen(options_.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    trouble_ = dlerror();
    return;
  }
  plugin_ = find_profiler(library_, options_.abi);
  if (!plugin_) {
    trouble_ = "the plugin has no ncclProfiler symbol of that version";
    return;
  }
  abi_ = plugin_->abi();
  // The recording plugin began to count anew.
  contexts_.clear();
  handles_.clear();
  skipped_.clear();
  foreign_.clear();
  masks_.clear();
  open_contexts_ = 0;
}

void Replay::exit_or_unload(const Callback& callback) {
  if (callback.pid != recording_.pid) {
    application_.fork_and_exit();
  } else if (open_contexts_ == 0 && !options_.no_finalize && library_ != nullptr) {
    // NCCL unloads the plugin with the last communicator; else the process was exiting.
    plugin_.reset();
    dlclose(library_);
    library_ = nullptr;
  }
}

void Replay::init(const Callback& callback) {
  void* context = nullptr;
  check(plugin_->init(callback, &context, &activation_mask), callback);
  calls_++;
  // 0: the recording plugin gave NULL, and so NCCL passes NULL; none: it failed, and NCCL forgot
  // it.
  if (callback.context.value_or(0) == 0) return;
  contexts_[*callback.context] = context;
  open_contexts_++;
}

bool Replay::is_known_to_plugin(const Callback& callback) const {
  if (callback.type != 0 && (callback.type & abi::valid_event_mask(abi_)) == 0) return false;
  if (callback.kind == Kind::kState) return abi_ >= first_abi_with_state(callback.state);
  return true;
}

// Every third proxy operation, and the steps of those.
bool Replay::make_foreign(const Callback& callback) {
  if (!options_.foreign) return false;
  if (callback.type == abi::kProxyStep) return foreign_.contains(callback.parent);
  if (callback.type != abi::kProxyOp || ++proxy_operations_ % 3 != 0) return false;
  foreign_.insert(callback.handle);
  return true;
}

// NCCL reads it where a call begins, and keeps it for all that belongs to the call.
bool Replay::is_masked(const Callback& callback) {
  if (!options_.honour_mask) return false;
  const auto parent = masks_.find(callback.parent);
  const std::uint32_t mask =
      parent != masks_.end()
          ? parent->second
          : static_cast<std::uint32_t>(__atomic_load_n(&activation_mask, __ATOMIC_RELAXED));
  masks_[callback.handle] = mask;
  return (mask & callback.type) == 0;
}

void Replay::start(const Callback& callback) {
  if (is_masked(callback) || !is_known_to_plugin(callback)) {
    skipped_.insert(callback.handle);
    return;
  }
  const bool foreign = make_foreign(callback);
  Pointers pointers;
  pointers.parent = handle_of(callback.parent);
  pointers.parent_group = handle_of(callback.parent_group);
  // Before version 5 the parent of an operation is its group.
  const bool is_operation = (callback.type & (abi::kColl | abi::kP2p)) != 0;
  if (is_operation && abi_ < 5 && recording_.abi >= 5) pointers.parent = pointers.parent_group;
  if (is_operation && abi_ >= 5 && recording_.abi < 5) {
    pointers.parent_group = std::exchange(pointers.parent, nullptr);
  }
  pointers.pid = callback.pid_is_mine ? getpid() : getpid() + 1;
  void* context = nullptr;
  const auto known = contexts_.find(callback.context.value_or(0));
  if (known != contexts_.end()) context = known->second;
  if (foreign) {
    context = address(kForeignContext);
    if (callback.type == abi::kProxyOp) {
      pointers.parent = address(kForeignParent);
      pointers.pid = getpid() + 1;
    }
  }
  void* handle = address(callback.handle_before == 0 ? kUnwritten : callback.handle_before);
  const void* const before = handle;
  check(plugin_->start(callback, pointers, context, &handle), callback);
  calls_++;
  if (handle == before) trouble_ = "startEvent did not write the handle";
  if (handle == nullptr) null_handles_++;
  // The recording plugin gave NULL or nothing, so nothing refers to this one.
  if (callback.handle != 0) handles_[callback.handle] = handle;
}

void Replay::stop_or_state(const Callback& callback) {
  void* handle = nullptr;
  if (callback.handle_is_foreign) {
    handle = address(static_cast<std::uint64_t>(callback.handle));
  } else {
    if (skipped_.contains(callback.handle) || !is_known_to_plugin(callback)) return;
    handle = handle_of(callback.handle);
    if (handle == nullptr) return;  // NCCL makes no calls for NULL
  }
  if (callback.kind == Kind::kStop) {
    check(plugin_->stop(handle), callback);
  } else {
    check(plugin_->state(callback, handle), callback);
  }
  calls_++;
}

void Replay::finalize(const Callback& callback) {
  if (options_.no_finalize) return;
  void* context = nullptr;
  const auto known = contexts_.find(callback.context.value_or(0));
  if (known != contexts_.end()) {
    context = known->second;
    open_contexts_--;
  }
  check(plugin_->finalize(context), callback);
  calls_++;
}

void* Replay::handle_of(std::int64_t number) const {
  const auto found = handles_.find(number);
  return found == handles_.end() ? nullptr : found->second;
}

void Replay::wait_for(const Callback& callback) const {
  const auto recorded_ns =
      static_cast<double>(callback.time_ns - recording_.callbacks.front().time_ns);
  const std::int64_t due_ns =
      begin_ns_ + static_cast<std::int64_t>(recorded_ns / options_.speed) - now_ns();
  if (due_ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(due_ns));
}

void Replay::check(int result, const Callback& callback) {
  if (result == 0) return;
  trouble_ = "call " + std::to_string(recorded_calls_ + 1) + " (kind " +
             std::to_string(static_cast<int>(callback.kind)) + ") returned " +
             std::to_string(result);
}

void Replay::report() const {
  std::printf(
      "{\"recording\":\"%s\",\"pid\":%d,\"abi\":%d,\"nccl_version\":%d,\"recorded_calls\":%lld,"
      "\"calls\":%lld,\"null_handles\":%lld,\"mask\":%d,\"trouble\":\"%s\"}\n",
      recording_.path.c_str(), getpid(), abi_, recording_.nccl_version,
      static_cast<long long>(recorded_calls_), static_cast<long long>(calls_),
      static_cast<long long>(null_handles_), activation_mask, trouble_.c_str());
  std::fflush(stdout);
}

}  // namespace ringside::host
