// SPDX-License-Identifier: Apache-2.0
//
// The configuration, from the environment. docs/environment.md is the reference for users.
#ifndef RINGSIDE_PLUGIN_CONFIG_CONFIG_H
#define RINGSIDE_PLUGIN_CONFIG_CONFIG_H

#include <cstdint>
#include <functional>
#include <optional>
#include <sched.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/config/events.h"
#include "plugin/nvtx/markers.h"

namespace ringside::config {

struct Config {
  std::string directory = "ringside-traces";
  bool start = true;
  EventChoice events;
  std::string events_text = "default";
  bool kernels_are_safe = false;  ///< NCCL's own variables see to it (kSafeForKernels)
  std::uint64_t sampled_of = 1;   ///< the trace has one of so many collectives
  std::string sample_text;        ///< the value as set; empty: everything is kept
  std::uint64_t ring_bytes = 2U << 20;
  int drain_ms = 10;
  std::uint64_t max_bytes = std::uint64_t{2} << 30;  ///< 0: no bound
  bool compress = false;
  std::uint64_t flight_bytes = 0;           ///< 0: not a flight recorder
  std::string ring_directory = "/dev/shm";  ///< empty: rings in anonymous memory
  std::uint64_t journal_bytes = std::uint64_t{32} << 20;
  std::string drain_cpus;     ///< a list that parse_cpu_list takes; empty: any
  int exit_seconds = 20;      ///< schedulers allow 30 between the signal to end and SIGKILL
  double record_seconds = 0;  ///< 0: until recording is stopped
  double hang_seconds = 0;    ///< 0: no watch
  std::string on_hang;        ///< a shell's command; empty: none
  bool control = true;        ///< the control socket
  bool topology = true;       ///< the machine's GPUs, links and adapters are read
  std::string sysfs = "/sys";
  nvtx::Scope markers = nvtx::Scope::kAll;
  std::string markers_text;       ///< the value as set; empty: ranges if a tool is attached
  std::string gpu_serial, vm_id;  ///< the user's names of GPU and host; empty: none
  std::string log = "stderr";
  std::string job;

  /// True if the trace is kept in memory, and written only by a dump.
  bool is_flight_recorder() const { return flight_bytes != 0; }

  /// One sentence for each value that could not be used.
  std::vector<std::string> warnings;

  std::vector<std::pair<std::string, std::string>> listed() const;
};

inline constexpr char kSampleValues[] = "coll:1/N with N from 1 to 1000000";
/// Parses RINGSIDE_SAMPLE. Returns N of "coll:1/N"; nothing if the text is not valid.
std::optional<std::uint64_t> parse_sample(std::string_view text);

/// Reads the configuration of this process, with a warning for each RINGSIDE_ name that does not
/// exist.
Config read_environment();

/// Reads the configuration. `get` returns a variable's value or NULL, as getenv does.
Config read_config(const std::function<const char*(const char*)>& get);

// The table of environment variables. Reading them, the advice of `ringside doctor`, the overview
// in docs/environment.md and the messages about names that do not exist all come from it.

/// Parses a value into `config`. Returns false if it is not valid; `detail` may then have a reason.
using Read = std::function<bool(std::string_view text, Config& config, std::string& detail)>;
using Show = std::function<std::string(const Config& config)>;

struct Variable {
  std::string name;
  std::string meaning;       ///< what it sets, for the overview
  std::string values;        ///< the allowed values, in words
  std::string default_text;  ///< the default as a value, or in words
  bool is_in_trace = true;   ///< Config::listed() includes it
  Read read;
  Show show;
};

/// Returns all variables in the order in which they are read. A later one may depend on an earlier
/// one.
const std::vector<Variable>& variables();

/// Parses a list of CPUs such as "3" or "0-3,8". Returns nothing if it is not valid.
std::optional<cpu_set_t> parse_cpu_list(std::string_view text);

/// Returns a sentence for each name that is no variable of Ringside. It has the nearest variable.
/// `names` may be "NAME=value", as in an environment.
std::vector<std::string> trouble_with_names(const std::vector<std::string>& names);

}  // namespace ringside::config

#endif  // RINGSIDE_PLUGIN_CONFIG_CONFIG_H
