// SPDX-License-Identifier: Apache-2.0
#include "examples/gpu/profiler.h"

#include <cstdio>

namespace example {
namespace {

// A profiler in trouble must not end the job: it is reported, and the job goes on.
void report(int result, const char* what) {
  if (result == RINGSIDE_OK) return;
  std::fprintf(stderr, "collectives_bench: %s failed with %d (see ringside.h)\n", what, result);
}

}  // namespace

Profiler::Profiler() {
  found_ = ringside_open(&functions_) == RINGSIDE_OK;
}

void Profiler::start() {
  if (found_) report(functions_.start(nullptr), "ringside_start");
}

void Profiler::stop() {
  if (found_) report(functions_.stop(), "ringside_stop");
}

void Profiler::dump(const std::string& path) {
  if (found_) report(functions_.dump(path.c_str()), "ringside_dump");
}

std::string Profiler::describe() const {
  if (!found_) return "no profiler; set NCCL_PROFILER_PLUGIN to libnccl-profiler-ringside.so";
  ringside_status_info info{};
  info.struct_size = sizeof info;
  if (functions_.status(&info) != RINGSIDE_OK) return "Ringside gives no status";
  if (info.abi_version == 0) return "Ringside is there, but NCCL has not loaded it";
  return "trace " + std::string(info.trace_path) + ", dropped " + std::to_string(info.dropped);
}

}  // namespace example
