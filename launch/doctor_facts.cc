// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <memory>
#include <string_view>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "launch/doctor.h"
#include "launch/files.h"
#include "launch/process_files.h"
#include "plugin/config/config.h"

namespace ringside::launch {
namespace {

Place place_of(const std::string& path) {
  Place place;
  place.path = absolute_path(path);
  place.exists = access(place.path.c_str(), F_OK) == 0;
  std::string nearest = place.path;
  while (nearest.size() > 1 && access(nearest.c_str(), F_OK) != 0 && errno == ENOENT) {
    nearest.resize(std::max<std::size_t>(nearest.rfind('/'), 1));
  }
  struct statvfs space {};
  struct statfs system {};
  if (statvfs(nearest.c_str(), &space) != 0 || statfs(nearest.c_str(), &system) != 0) {
    place.error = std::strerror(errno);
    return place;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(nearest.c_str()), closedir);
  if (directory == nullptr && errno == ENOTDIR) {
    place.error = nearest + " is a file";
    return place;
  }
  place.is_writable = access(nearest.c_str(), W_OK | X_OK) == 0;
  place.error = place.is_writable ? "" : nearest + ": " + std::strerror(errno);
  // Root may "write" there, but make no file.
  if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) {
    place.is_writable = false;
    place.error = nearest + " holds no files of programs";
  }
  place.is_memory = system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
  place.size_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
  place.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  return place;
}

std::optional<std::uint64_t> limit_of(__rlimit_resource_t what) {
  rlimit limit{};
  if (getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::nullopt;
  }
  return limit.rlim_cur;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...": the first word of digits
// and dots.
std::string driver_version(const std::string& line) {
  constexpr std::string_view kDigits = "0123456789.";
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    std::string word = line.substr(at, end - at);
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of(kDigits) == std::string::npos) {
      return word;
    }
    at = end + 1;
  }
  return {};
}

std::string container_of(const GetVariable& get) {
  for (const char* const path : {"/.dockerenv", "/run/.containerenv", "/.singularity.d"}) {
    if (access(path, F_OK) == 0) {
      return path;
    }
  }
  for (const char* const name :
       {"KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "ENROOT_ROOTFS"}) {
    if (get(name) != nullptr) {
      return name;
    }
  }
  return {};
}

// NCCL takes the value as a library's name, then as the part of one.
void look_at_variable(const GetVariable& get, Facts& facts) {
  const char* const value = get("NCCL_PROFILER_PLUGIN");
  if (value == nullptr || *value == '\0') {
    facts.fallback_plugin = find_library("libnccl-profiler.so");
    return;
  }
  facts.is_plugin_set = value == facts.plugin_path;
  if (facts.is_plugin_set) {
    return;
  }
  facts.other_plugin = value;
  facts.other = look_at_plugin(value);
  if (!facts.other.error.empty() && facts.other_plugin.find('/') == std::string::npos) {
    facts.other = look_at_plugin("libnccl-profiler-" + facts.other_plugin + ".so");
  }
}

// Which files of libraries communicate without NCCL, by a part of their paths.
constexpr std::pair<std::string_view, const char*> kBesideNccl[] = {
    {"/libnvshmem", "NVSHMEM"},           {"/deep_ep", "DeepEP"},
    {"/flashinfer", "FlashInfer"},        {"/sgl_kernel", "SGLang's custom all-reduce"},
    {"/libmscclpp", "MSCCL++"},           {"/vllm/_C.", "vLLM's custom all-reduce"},
    {"/libnccl_ep", "NCCL EP"},           {"/libth_common", "TensorRT-LLM's custom all-reduce"},
    {"/libtensorrt_llm", "TensorRT-LLM"}, {"/libucp.so", "UCX"}};

void look_at_processes(Facts& facts) {
  for (const std::string& name : names_with_prefix("/proc", "")) {
    std::int64_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) {
      continue;
    }
    const std::string maps = process_file(pid, "maps");
    if (maps.find("/libnccl") == maps.npos && maps.find("/librccl") == maps.npos) {
      continue;
    }
    for (const auto& [part, library] : kBesideNccl) {
      if (maps.find(part) != maps.npos) {
        facts.beside_nccl[library].push_back(pid);
      }
    }
  }
}

}  // namespace

Facts gather_facts(const PlanOptions& options, const std::string& nccl_file, const GetVariable& get,
                   const std::vector<std::string>& variables) {
  Facts facts;
  facts.plugin_path = options.plugin.empty() ? find_plugin() : absolute_path(options.plugin);
  if (!facts.plugin_path.empty()) {
    facts.plugin = look_at_plugin(facts.plugin_path);
  }
  facts.nccl = find_nccl(nccl_file);
  if (const char* const broadcasts = get("NCCL_ALLGATHERV_ENABLE"); broadcasts != nullptr) {
    facts.broadcasts = broadcasts;
  }
  look_at_variable(get, facts);
  const config::Config config = config::read_config(get);
  facts.bad_values = config.warnings;
  facts.bad_names = config::trouble_with_names(variables);
  if (!config.ring_directory.empty()) {
    facts.rings = place_of(config.ring_directory);
  }
  facts.ring_bytes = config.ring_bytes;
  facts.journal_bytes = config.journal_bytes;
  const char* const directory = get("RINGSIDE_DIR");
  const bool is_set = directory != nullptr && *directory != '\0';
  facts.output = place_of(!options.directory.empty() ? options.directory : is_set ? directory : "");
  facts.max_trace_bytes = config.max_bytes;
  facts.clock = record::find_clock_source();
  facts.kernel_clock =
      first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.driver = driver_version(first_line("/proc/driver/nvidia/version"));
  for (const std::string& name : names_with_prefix("/proc/driver/nvidia/gpus", "")) {
    facts.gpus += name.starts_with('.') ? 0 : 1;
  }
  facts.has_libcuda = !find_library("libcuda.so.1").empty();
  facts.has_nvml = !find_library("libnvidia-ml.so.1").empty();
  if (facts.has_nvml && config.topology) {
    facts.machine = look_at_machine(config.sysfs);
  }
  facts.most_file_bytes = limit_of(RLIMIT_FSIZE);
  facts.most_descriptors = limit_of(RLIMIT_NOFILE);
  facts.container = container_of(get);
  look_at_processes(facts);
  return facts;
}

}  // namespace ringside::launch
