// SPDX-License-Identifier: Apache-2.0
//
// Makes the calls of one recording, in this process.
#ifndef RINGSIDE_TEST_HOST_REPLAY_H
#define RINGSIDE_TEST_HOST_REPLAY_H

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "test/host/application.h"
#include "test/host/gpu_clock.h"
#include "test/host/options.h"
#include "test/host/profiler_plugin.h"
#include "test/host/recording.h"
#include "test/host/turns.h"

namespace ringside::host {

class Replay {
 public:
  Replay(const Options& options, Recording recording);

  /// False if something was wrong. Prints a line of JSON.
  bool run();

 private:
  void plan(Turns& turns) const;
  void perform(const Callback& callback);
  void call(Callback callback);
  void load();
  void exit_or_unload(const Callback& callback);
  void init(const Callback& callback);
  void start(const Callback& callback);
  void stop_or_state(const Callback& callback);
  void finalize(const Callback& callback);
  bool is_known_to_plugin(const Callback& callback) const;
  bool make_foreign(const Callback& callback);
  bool is_masked(const Callback& callback);
  void* handle_of(std::int64_t number) const;
  void wait_for(const Callback& callback) const;
  void check(int result, const Callback& callback);
  void report() const;

  const Options& options_;
  Recording recording_;
  GpuClock gpu_clock_;
  Application application_;
  void* library_ = nullptr;
  std::unique_ptr<ProfilerPlugin> plugin_;
  int abi_ = 0;

  std::unordered_map<std::int64_t, void*> contexts_;
  std::unordered_map<std::int64_t, void*> handles_;
  std::unordered_set<std::int64_t> skipped_;  // handles of events that the plugin was not told of
  std::unordered_set<std::int64_t> foreign_;
  std::unordered_map<std::int64_t, std::uint32_t> masks_;  // by handle, as it was for its call
  int open_contexts_ = 0;
  int proxy_operations_ = 0;
  std::int64_t begin_ns_ = 0;

  std::int64_t recorded_calls_ = 0;
  std::int64_t calls_ = 0;
  std::int64_t null_handles_ = 0;
  std::string trouble_;  // the first
};

}  // namespace ringside::host

#endif  // RINGSIDE_TEST_HOST_REPLAY_H
