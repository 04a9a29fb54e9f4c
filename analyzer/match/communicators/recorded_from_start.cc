// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/recorded_from_start.h"

namespace ringside::match {
namespace {

// Plugins up to November 2026 noted the time of the first communicator before that of the window
// that its creation opened. Recording was on at load, and the list of events was taken when the
// first communicator was created: it is empty if no window was open then. (In a dump it was taken
// later.)
bool opened_the_first_window(const model::Process& process, std::uint32_t context) {
  return context == 1 && process.starts_at_load && process.has_events && !process.dump &&
         process.segment == 1;
}

}  // namespace

bool is_recorded_from_start(const model::TraceFile& file, std::uint32_t context) {
  const auto found = file.contexts.find(context);
  if (found == file.contexts.end() || !found->second.created_ns || file.windows.empty() ||
      file.windows.begin()->first != 1) {
    return false;
  }
  return file.windows.begin()->second.start_ns <= *found->second.created_ns ||
         opened_the_first_window(file.process, context);
}

}  // namespace ringside::match
