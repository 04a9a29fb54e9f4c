// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/marker_setup.h"

#include "plugin/nvtx/markers.h"

namespace ringside::session {

void MarkerSetup::add_communicator(const assemble::Communicator& communicator,
                                   const config::Config& config, const std::string& host,
                                   posix::Log& log) {
  if (config.markers == nvtx::Scope::kOff) {
    return;
  }
  std::call_once(once_, [&] {
    const nvtx::Installed installed = nvtx::install(config.markers, config.gpu_serial,
                                                    config.vm_id.empty() ? host : config.vm_id);
    if (config.markers_text.empty()) {
      return;  // nobody has asked
    }
    const std::string variable = "RINGSIDE_MARKERS=" + config.markers_text;
    if (installed == nvtx::Installed::kNoTool) {
      log.info(variable + ": no tool that takes NVTX is attached, so there are no ranges");
    } else if (installed == nvtx::Installed::kNotBuilt) {
      log.warn(variable + ": this build of Ringside has no NVTX, so there are no ranges");
    } else if (installed == nvtx::Installed::kNoMemory) {
      log.warn(variable + ": no memory for the table of ranges, so there are none");
    }
  });
  nvtx::add_communicator(communicator);
}

}  // namespace ringside::session
