// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/announcement.h"

#include "plugin/config/version.h"
#include "plugin/export/lines/chrome_trace.h"

namespace ringside::session {
namespace {

std::string trace_place(const config::Config& config, const std::string& trace_path) {
  if (!config.is_flight_recorder()) {
    return "trace " + trace_path;
  }
  return "flight recorder: the last " + std::to_string(config.flight_bytes) +
         " bytes are kept in memory and written by ringside_dump; nothing remains at exit";
}

}  // namespace

std::vector<Line> announcement(const config::Config& config, const Recording& recording,
                               const RingDirectory& directory, const std::string& trace_path) {
  std::vector<Line> lines;
  const config::NcclFacts& facts = recording.nccl();
  const std::string nccl =
      facts.version != 0 ? exporting::nccl_version_text(facts.version) : "of unknown version";
  lines.push_back(
      {false, "Ringside " + std::string(config::kVersion) + ", NCCL " + nccl +
                  ", profiler interface v" + std::to_string(facts.abi_version) + ", events " +
                  config::event_names_text(recording.wanted()) +
                  (recording.is_started() ? "" : " (not started)") +
                  (config.sampled_of > 1 ? ", sampled " + config.sample_text : std::string()) +
                  ", " + trace_place(config, trace_path) + directory.description(config)});
  constexpr int kFirstWithKernels = 3;
  if (facts.abi_version < kFirstWithKernels || !config::kernels_can_hurt(facts)) {
    return lines;
  }
  const std::uint32_t kernels = record::bit(record::EventType::kKernelCh);
  const bool is_asked = (recording.choice().types & kernels) != 0;
  if ((recording.wanted() & kernels) != 0) {
    lines.push_back({true, "kernel channels are recorded as asked, but NCCL " + nccl +
                               " can hang or crash in ncclCommDestroy with them, after broadcasts "
                               "(prevented by NCCL_ALLGATHERV_ENABLE=0)"});
  } else if (recording.is_started() && (is_asked || recording.choice().use_default)) {
    lines.push_back({is_asked, "kernel channels (GPU times) are off: NCCL " + nccl +
                                   " can hang or crash with them unless recording begins with the "
                                   "job and NCCL_ALLGATHERV_ENABLE, NCCL_COMM_SPLIT_SHARE_RESOURCES"
                                   " and NCCL_COMM_SHRINK_SHARE_RESOURCES are 0 (`ringside run`)"});
  }
  return lines;
}

void say(const std::vector<Line>& lines, record::NcclLogger logger, posix::Log& log) {
  for (const Line& line : lines) {
    if (line.is_warning) {
      log.warn(line.text);
    } else if (logger != nullptr) {
      logger(record::kLogInfo, record::kLogSubsystemInit | record::kLogSubsystemProfile, "ringside",
             0, "PROFILER/Ringside: %s", line.text.c_str());
    } else {
      log.info(line.text);
    }
  }
}

}  // namespace ringside::session
