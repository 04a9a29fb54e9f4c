// SPDX-License-Identifier: Apache-2.0
#include "launch/plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>
#include <unistd.h>

#include "launch/files.h"
#include "plugin/config/config.h"
#include "plugin/config/events.h"

namespace ringside::launch {
namespace {

std::string value_of(const GetVariable& get, const char* name) {
  const char* const text = get(name);
  return text != nullptr ? text : "";
}

std::string plugin_of(const PlanOptions& options, std::string& error) {
  std::string plugin = options.plugin.empty() ? find_plugin() : absolute_path(options.plugin);
  if (plugin.empty()) {
    error = std::string(kPluginName) + " is not where it is installed; name it with --plugin FILE";
  } else if (access(plugin.c_str(), R_OK) != 0) {
    error = plugin + ": there is no such plugin that can be read";
  } else if (!is_whole_library(plugin)) {
    error =
        plugin + ": the file is no library, or is cut off, and may kill the job: install it again";
  }
  return plugin;
}

// As plugin/drain/process_info.cc finds the rank.
std::optional<int> task_of(const GetVariable& get) {
  for (const char* const name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"}) {
    const std::string text = value_of(get, name);
    int task = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), task);
    if (end.ec == std::errc() && end.ptr == text.data() + text.size() && task >= 0) {
      return task;
    }
  }
  return std::nullopt;
}

// The first of these that reports of a broadcast the call alone; nullptr: none does.
const NcclLibrary* find_affected(const std::vector<NcclLibrary>& nccl) {
  const auto found = std::find_if(nccl.begin(), nccl.end(), [](const NcclLibrary& library) {
    return hides_broadcasts(library.version);
  });
  return found == nccl.end() ? nullptr : &*found;
}

// The variable makes NCCL schedule grouped broadcasts as it did before 2.29.2.
void choose_broadcasts(const GetVariable& get, const std::vector<NcclLibrary>& nccl, Plan& plan) {
  constexpr char kName[] = "NCCL_ALLGATHERV_ENABLE";
  const NcclLibrary* const affected = find_affected(nccl);
  const bool is_known = std::any_of(nccl.begin(), nccl.end(),
                                    [](const NcclLibrary& library) { return library.version > 0; });
  if (get(kName) != nullptr) {
    return;
  }
  if (affected != nullptr) {
    plan.choices.push_back({kName, "0"});
    plan.notes.push_back("NCCL " + version_text(affected->version) + " (" + affected->path +
                         "): " + kName +
                         "=0 is set, so that it reports broadcasts; set it yourself to 1 to keep "
                         "NCCL's choice");
  } else if (!is_known) {
    plan.notes.push_back(std::string("no NCCL was found that names its release, so ") + kName +
                         " is left alone; --nccl FILE names the one that the command uses");
  }
}

// With these variables, and recording from the first communicator on, kernel channels cannot hurt.
void choose_kernels(const PlanOptions& options, const GetVariable& get, bool starts,
                    const std::vector<NcclLibrary>& nccl, Plan& plan) {
  const NcclLibrary* const affected = find_affected(nccl);
  const bool is_chosen = !options.events.empty() || get("RINGSIDE_EVENTS") != nullptr;
  if (!options.with_kernels || is_chosen || options.start_off || !starts || affected == nullptr) {
    return;
  }
  std::string safe;
  for (const char* const name : config::kSafeForKernels) {
    if (const std::string value = value_of(get, name); get(name) != nullptr && value != "0") {
      plan.notes.push_back(std::string(name) + "=" + printable(value) +
                           " is set, so kernel channels, which would show what each rank's GPU "
                           "does, are not recorded");
      return;
    }
    safe += (safe.empty() ? "" : ", ") + std::string(name) + "=0";
  }
  for (const char* const name : config::kSafeForKernels) {
    const bool is_set = std::any_of(plan.choices.begin(), plan.choices.end(),
                                    [&](const Variable& one) { return one.name == name; });
    if (get(name) == nullptr && !is_set) {
      plan.choices.push_back({name, "0"});
    }
  }
  plan.choices.push_back({"RINGSIDE_EVENTS", "default,steps"});
  plan.notes.insert(plan.notes.begin(),
                    "kernel channels are recorded, too; they are safe with NCCL " +
                        version_text(affected->version) + " by " + safe +
                        " (--light: without them)");
}

void inherit(const std::vector<std::string>& variables, Plan& plan) {
  const Variables ours = plan.variables();
  for (const std::string& text : variables) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const bool is_set = std::any_of(
        ours.begin(), ours.end(), [&](const Variable& variable) { return variable.name == name; });
    if (equals != std::string::npos && name.starts_with("RINGSIDE_") && !is_set) {
      plan.inherited.push_back({name, text.substr(equals + 1)});
    }
  }
  std::sort(plan.inherited.begin(), plan.inherited.end(),
            [](const Variable& a, const Variable& b) { return a.name < b.name; });
}

}  // namespace

Variables Plan::variables() const {
  Variables all = {
      {"NCCL_PROFILER_PLUGIN", plugin}, {"RINGSIDE_DIR", directory}, {"RINGSIDE_JOB", job}};
  all.insert(all.end(), choices.begin(), choices.end());
  return all;
}

std::string timed_name() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "ringside-%Y%m%d-%H%M%S", &local);
  return text.data();
}

std::string trouble_with_sample(const std::string& sample) {
  return config::parse_sample(sample) ? std::string()
                                      : "'" + sample + "' is not " + config::kSampleValues +
                                            ": only collectives can be sampled, by their number";
}

std::string trouble_with_events(const std::string& events) {
  std::string unknown;
  if (config::parse_events(events, unknown)) {
    return {};
  }
  return unknown.empty() ? "a list of events has names (docs/environment.md, RINGSIDE_EVENTS)"
                         : "'" + unknown +
                               "' is no event: there are coll, p2p, proxy, steps, kernel, ctrl, "
                               "net, ce, phase, default, all, none";
}

Plan make_plan(const PlanOptions& options, const GetVariable& get,
               const std::vector<std::string>& variables, const std::vector<NcclLibrary>& nccl) {
  Plan plan;
  plan.plugin = plugin_of(options, plan.error);
  const config::Config config = config::read_config(get);
  const std::string directory =
      options.directory.empty() ? value_of(get, "RINGSIDE_DIR") : options.directory;
  plan.is_given_directory = !directory.empty();
  plan.directory = absolute_path(plan.is_given_directory ? directory : timed_name());
  plan.ring_directory = config.ring_directory;
  plan.job = config.job;
  // Nobody names the job: the directory does, which is the same on all nodes. One that is named by
  // the time is not.
  constexpr char kUnnamed[] = "job";  // as read_config has it
  if (config.job == kUnnamed && value_of(get, "RINGSIDE_JOB").empty() && plan.is_given_directory &&
      !base_name(plan.directory).empty()) {
    plan.job = base_name(plan.directory);
  }
  plan.is_flight_recorder = config.is_flight_recorder();
  plan.task = task_of(get);
  if (!options.events.empty()) {
    plan.choices.push_back({"RINGSIDE_EVENTS", options.events});
  }
  if (!options.sample.empty()) {
    plan.choices.push_back({"RINGSIDE_SAMPLE", options.sample});
  }
  if (!options.markers.empty()) {
    plan.choices.push_back({"RINGSIDE_MARKERS", options.markers});
  }
  if (options.duration_s > 0) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), options.duration_s);
    plan.choices.push_back({"RINGSIDE_RECORD_SECONDS", std::string(text.data(), end.ptr)});
  }
  if (options.start_off) {
    plan.choices.push_back({"RINGSIDE_START", "0"});
  }
  // A job that is watched over by nobody should at least say what it is stuck in.
  if (get("RINGSIDE_HANG_SECONDS") == nullptr) {
    plan.choices.push_back({"RINGSIDE_HANG_SECONDS", "120"});
  }
  if (const std::string other = value_of(get, "NCCL_PROFILER_PLUGIN");
      !other.empty() && other != plan.plugin) {
    plan.notes.push_back("NCCL_PROFILER_PLUGIN was " + printable(other) +
                         "; NCCL loads one profiler plugin, and for this job it is Ringside's");
  }
  if (plan.task && !plan.is_given_directory) {
    plan.notes.emplace_back(
        "a launcher has started ringside, perhaps several times: --dir DIR puts all traces into "
        "one directory");
  }
  plan.notes.insert(plan.notes.end(), config.warnings.begin(), config.warnings.end());
  const std::vector<std::string> bad_names = config::trouble_with_names(variables);
  plan.notes.insert(plan.notes.end(), bad_names.begin(), bad_names.end());
  choose_broadcasts(get, nccl, plan);
  choose_kernels(options, get, config.start, nccl, plan);
  inherit(variables, plan);
  return plan;
}

}  // namespace ringside::launch
