// SPDX-License-Identifier: Apache-2.0
//
// The facts of the process in the first line of a trace. drain/process_info fills them in.
#ifndef RINGSIDE_PLUGIN_EXPORT_LINES_PROCESS_FACTS_H
#define RINGSIDE_PLUGIN_EXPORT_LINES_PROCESS_FACTS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside::exporting {

struct ProcessFacts {
  std::string plugin_version;
  std::uint64_t run_id = 0;
  std::string job, host, boot_id;
  int pid = 0;
  int launcher_rank = -1;  ///< -1: the launcher set none
  std::string launcher_rank_from;
  std::int64_t base_time_s = 0;
  std::int64_t start_ns = 0;
  std::uint32_t segment = 1;  ///< number of this file's segment, or of the oldest one in a dump
  std::int64_t segment_start_ns = 0;  ///< the file has nothing that was written earlier
  int nccl_version = 0;               ///< as ncclGetVersion gives it; 0: not known
  int abi_version = 0;
  std::string_view clock;
  std::vector<std::string_view> events;
  std::uint64_t sampled_of = 1;  ///< the trace has one of so many collectives
  std::vector<std::pair<std::string, std::string>> config;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Returns "2.29.7" for 22907.
std::string nccl_version_text(int version);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LINES_PROCESS_FACTS_H
