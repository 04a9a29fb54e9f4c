// SPDX-License-Identifier: Apache-2.0
//
// The facts that `ringside doctor` collects, and its conclusions. The conclusions follow from the
// facts alone, so that tests can give it any machine.
#ifndef RINGSIDE_ANALYZER_LAUNCH_DOCTOR_H
#define RINGSIDE_ANALYZER_LAUNCH_DOCTOR_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/machine_look.h"
#include "launch/nccl.h"
#include "launch/plan.h"
#include "plugin/record/clock.h"

namespace ringside::launch {

/// A directory, or the nearest one above it that exists.
struct Place {
  std::string path;
  bool exists = false;
  bool is_writable = false;  ///< of the nearest that exists: a directory can be made there
  bool is_memory = false;    ///< a tmpfs
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::string error;  ///< why it cannot be looked at
};

struct Facts {
  std::string plugin_path;  ///< "": not found
  ProfilerPlugin plugin;
  std::vector<NcclLibrary> nccl;
  std::optional<std::string> broadcasts;  ///< NCCL_ALLGATHERV_ENABLE, if set

  std::string other_plugin;     ///< NCCL_PROFILER_PLUGIN, unless it is plugin_path
  ProfilerPlugin other;         ///< what that is
  bool is_plugin_set = false;   ///< NCCL_PROFILER_PLUGIN is plugin_path
  std::string fallback_plugin;  ///< what NCCL loads where the variable is not set; "": nothing

  std::vector<std::string> bad_values;  ///< sentences
  std::vector<std::string> bad_names;   ///< sentences on RINGSIDE_* that do not exist

  std::optional<Place> rings;  ///< nothing: RINGSIDE_RING_DIR=none
  std::uint64_t ring_bytes = 0;
  std::uint64_t journal_bytes = 0;
  Place output;
  std::uint64_t max_trace_bytes = 0;  ///< of one process; 0: no bound

  record::ClockSource clock = record::ClockSource::kClockGettime;
  std::string kernel_clock;  ///< the kernel's own clock source; "": not known

  std::string driver;  ///< version of NVIDIA's kernel module; "": none
  int gpus = 0;
  bool has_libcuda = false;
  bool has_nvml = false;
  MachineLook machine;  ///< what the plugin's probe reads

  std::optional<std::uint64_t> most_file_bytes;   ///< RLIMIT_FSIZE; nothing: unlimited
  std::optional<std::uint64_t> most_descriptors;  ///< RLIMIT_NOFILE
  std::string container;                          ///< how one is known; "": none is seen

  /// Libraries that communicate without NCCL, by their names, and the processes with NCCL that have
  /// loaded them.
  std::map<std::string, std::vector<std::int64_t>> beside_nccl;
};

/// Looks at this machine. `nccl_file`: --nccl, or "".
Facts gather_facts(const PlanOptions& options, const std::string& nccl_file, const GetVariable& get,
                   const std::vector<std::string>& variables);

enum class Health : std::uint8_t { kOk, kNote, kProblem };

struct Check {
  Health health = Health::kOk;
  std::string subject;  ///< a word: plugin, nccl, rings, ...
  std::string text;     ///< a sentence
  std::string advice;   ///< what to do; every problem has it
};

/// Concludes from the facts only what they prove. The checks come in a fixed order.
std::vector<Check> judge(const Facts& facts);

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_DOCTOR_H
