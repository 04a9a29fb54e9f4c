// SPDX-License-Identifier: Apache-2.0
//
// Load, fork and exit; and the cold calls of NCCL's interface. The library is linked so that it is
// never unloaded (-z nodelete): NCCL lets it go after the last communicator and may load it again.
#include <pthread.h>

#include "plugin/posix/uncancelled.h"
#include "plugin/process/profiler.h"
#include "plugin/record/host_side.h"
#include "plugin/record/recorder.h"

namespace ringside::process {
namespace {

// The child has none of our threads. It neither records, writes nor deletes anything that its
// parent has begun. Profiler::get says when it begins anew.
void in_child() {
  const posix::Uncancelled uncancelled;
  record::g_recorder.close_in_child();
  record::g_recorder.wipe();
  Profiler::close_in_child();
}

__attribute__((constructor)) void on_load() {
  const posix::Uncancelled uncancelled;
  record::g_recorder.prepare();
  record::g_recorder.wipe_on_fork();
  pthread_atfork(nullptr, nullptr, in_child);
}

__attribute__((destructor)) void on_exit() {
  const posix::Uncancelled uncancelled;
  if (Profiler* const profiler = Profiler::existing(); profiler != nullptr) {
    profiler->shut_down();
  }
}

}  // namespace
}  // namespace ringside::process

namespace ringside::record {

void* open_communicator(const CommunicatorInit& init) noexcept {
  const posix::Uncancelled uncancelled;
  try {
    if (auto* const profiler = process::Profiler::get(); profiler != nullptr) {
      return profiler->session().open_communicator(init);
    }
    process::Profiler::tell_in_child();
  } catch (...) {
    // NCCL must not see any error: a failing init makes it crash or unload the plugin.
  }
  return g_recorder.context_handle(g_recorder.new_context());
}

void close_communicator(void* context) noexcept {
  const posix::Uncancelled uncancelled;
  try {
    if (auto* const profiler = process::Profiler::existing(); profiler != nullptr) {
      profiler->session().close_communicator(context);
    }
  } catch (...) {
    // Nothing depends on finalize.
  }
}

}  // namespace ringside::record
