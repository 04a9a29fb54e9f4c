// SPDX-License-Identifier: Apache-2.0
//
// NVTX ranges (RINGSIDE_MARKERS): begun with the first communicator, before its first event, on the
// thread that inits it, since a tool may take its time to load.
#include "plugin/nvtx/markers.h"
#include "plugin/session/session.h"

namespace ringside::control {

// Whoever inits a communicator meanwhile waits, so that none of its events is missed. Without the
// session's mutex: a tool may call whatever it likes.
void Session::begin_markers(const assemble::Communicator& communicator) {
  if (config_.markers == nvtx::Scope::kOff) {
    return;
  }
  std::call_once(markers_begun_, [&] {
    const std::string& vm_id = config_.vm_id.empty() ? writer_.facts().host : config_.vm_id;
    const nvtx::Installed installed = nvtx::install(config_.markers, config_.gpu_serial, vm_id);
    if (config_.markers_text.empty()) {
      return;  // nobody has asked
    }
    const std::string variable = "RINGSIDE_MARKERS=" + config_.markers_text;
    if (installed == nvtx::Installed::kNoTool) {
      log_.info(variable + ": no tool that takes NVTX is attached, so there are no ranges");
    } else if (installed == nvtx::Installed::kNotBuilt) {
      log_.warn(variable + ": this build of Ringside has no NVTX, so there are no ranges");
    } else if (installed == nvtx::Installed::kNoMemory) {
      log_.warn(variable + ": no memory for the table of ranges, so there are none");
    }
  });
  nvtx::add_communicator(communicator);
}

void Session::tell_markers() {
  if (!markers_told_ && nvtx::ranges_without_room() != 0) {
    markers_told_ = true;
    log_.warn(
        "too many NVTX ranges are open at once: some operations have none (ringside ctl status "
        "--format json counts them); the trace is not affected");
  }
  if (!lines_told_ && writer_.lines_lost() != 0) {
    lines_told_ = true;
    log_.warn(
        "RINGSIDE_MARKERS_PRINT: nobody reads standard output fast enough, so lines are left out "
        "(ringside ctl status --format json counts them); the trace is not affected");
  }
}

}  // namespace ringside::control
