// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/config.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace ringside::config {
namespace {

std::string or_empty(const char* text) {
  return text != nullptr ? text : "";
}

// "NAME=value is not used: it must be ...".
std::string warning(const Variable& variable, const std::string& given, const std::string& detail) {
  return variable.name + "=" + given + " is not used: it must be " + variable.values +
         (detail.empty() ? "" : " (" + detail + ")") + "; taken instead: " + variable.default_text;
}

}  // namespace

Config read_config(const std::function<const char*(const char*)>& get) {
  Config config;
  for (const Variable& variable : variables()) {
    const char* const given = get(variable.name.c_str());
    std::string detail;
    if (given != nullptr && !variable.read(given, config, detail)) {
      config.warnings.push_back(warning(variable, given, detail));
    }
  }
  config.kernels_are_safe =
      std::all_of(kSafeForKernels.begin(), kSafeForKernels.end(),
                  [&](const char* name) { return or_empty(get(name)) == "0"; });
  config.gpu_serial = or_empty(get("GPU_SERIAL"));
  config.vm_id = or_empty(get("VM_ID"));
  for (const char* name :
       {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "TORCHELASTIC_RUN_ID"}) {
    if (config.job.empty()) {
      config.job = or_empty(get(name));
    }
  }
  if (config.job.empty()) {
    config.job = "job";
  }
  return config;
}

Config read_environment() {
  Config config = read_config([](const char* name) { return std::getenv(name); });
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    names.emplace_back(*variable);
  }
  const std::vector<std::string> trouble = trouble_with_names(names);
  config.warnings.insert(config.warnings.end(), trouble.begin(), trouble.end());
  return config;
}

std::vector<std::pair<std::string, std::string>> Config::listed() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Variable& variable : variables()) {
    if (variable.is_in_trace) {
      values.emplace_back(variable.name, variable.show(*this));
    }
  }
  return values;
}

}  // namespace ringside::config
