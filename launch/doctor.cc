// SPDX-License-Identifier: Apache-2.0
#include "launch/doctor.h"

#include <algorithm>
#include <set>

#include "launch/files.h"
#include "plugin/session/memory_share.h"

namespace ringside::launch {
namespace {

// The application's thread and those of NCCL that call the plugin, for a few communicators.
constexpr std::uint64_t kThreads = 8;

constexpr char kMoreMemory[] =
    "make it larger (docker run --shm-size=8g, or --ipc=host), or free it (`ringside recover` "
    "takes "
    "what dead processes left)";

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

class Judge {
 public:
  explicit Judge(const Facts& facts) : facts_(facts) {}

  std::vector<Check> all() {
    plugin();
    nccl();
    other_plugin();
    variables();
    rings();
    output();
    clock();
    gpu();
    topology();
    limits();
    for (const auto& [name, processes] : facts_.beside_nccl) {
      note("processes",
           name + " is loaded in process " + std::to_string(processes.front()) +
               (processes.size() == 1 ? ""
                                      : " and " + std::to_string(processes.size() - 1) + " more"),
           "what it sends is in no trace of NCCL; a PyTorch profile shows its kernels "
           "(docs/what-is-seen.md)");
    }
    if (!facts_.container.empty()) {
      note("container", "this is a container (" + facts_.container + ")",
           "the plugin and the directory of the traces must be there inside; rings last as long as "
           "its /dev/shm");
    }
    return std::move(checks_);
  }

 private:
  void ok(const char* subject, std::string text) {
    checks_.push_back({Health::kOk, subject, std::move(text), {}});
  }
  void note(const char* subject, std::string text, std::string advice = {}) {
    checks_.push_back({Health::kNote, subject, std::move(text), std::move(advice)});
  }
  void problem(const char* subject, std::string text, std::string advice) {
    checks_.push_back({Health::kProblem, subject, std::move(text), std::move(advice)});
  }

  void plugin() {
    if (facts_.plugin_path.empty()) {
      problem("plugin", std::string(kPluginName) + " is not next to this program, nor in its lib",
              "install it, or name it with --plugin FILE");
    } else if (!facts_.plugin.error.empty()) {
      const bool is_too_new = facts_.plugin.error.find("version `GLIBC") != std::string::npos;
      problem("plugin", facts_.plugin_path + " cannot be loaded: " + facts_.plugin.error,
              is_too_new ? "build it on this system, or on the oldest that is to run it"
              : !is_whole_library(facts_.plugin_path)
                  ? "install it again"
                  : "`ldd` of it says what is missing; build it on this system");
    } else if (!facts_.plugin.is_ringside || facts_.plugin.interfaces.empty()) {
      problem("plugin", facts_.plugin_path + " loads, but is not Ringside's plugin",
              "name libnccl-profiler-ringside.so with --plugin FILE");
    } else {
      ok("plugin", facts_.plugin_path + " loads; it has NCCL's profiler interface v" +
                       std::to_string(facts_.plugin.interfaces.front()) + " to v" +
                       std::to_string(facts_.plugin.interfaces.back()));
    }
  }

  void nccl() {
    if (facts_.nccl.empty()) {
      note("nccl", "no libnccl.so.2 is found by the loader or in python3's packages",
           "that is as it should be if the program has it inside or by a path of its own; name it "
           "with --nccl FILE");
      return;
    }
    std::set<int> versions;
    for (const NcclLibrary& library : facts_.nccl) {
      one_nccl(library);
      if (library.version > 0) {
        versions.insert(library.version);
      }
    }
    if (versions.size() > 1) {
      note("nccl", "there are several releases; which one a program takes is its own choice",
           "its log says so with NCCL_DEBUG=VERSION");
    }
    if (!versions.empty() && hides_broadcasts(*versions.rbegin()) && facts_.broadcasts != "0") {
      note(
          "nccl", "NCCL from 2.29.2 on reports only the call of a broadcast",
          "NCCL_ALLGATHERV_ENABLE=0 brings the rest; `ringside run` sets it" +
              std::string(facts_.broadcasts ? ", where you have not set it as you have here" : ""));
    }
  }

  void one_nccl(const NcclLibrary& library) {
    const std::string what = library.path + " (found by " + library.found_by + ")";
    if (library.version == 0) {
      problem(
          "nccl", what + ": " + library.error,
          "a program that takes this one cannot use NCCL; see LD_LIBRARY_PATH and the packages");
      return;
    }
    const std::string release = "NCCL " + version_text(library.version) + ", " + what;
    int used = 0;
    for (const int interface : facts_.plugin.interfaces) {
      used = interface <= interface_of(library.version) ? std::max(used, interface) : used;
    }
    if (interface_of(library.version) == 0) {
      problem("nccl", release + ", loads no profiler plugins", "use NCCL 2.23 or newer");
    } else if (used == 0) {
      note("nccl", release + ", knows profiler interfaces up to v" +
                       std::to_string(interface_of(library.version)));
    } else {
      ok("nccl", release + ": it will use profiler interface v" + std::to_string(used));
    }
  }

  void other_plugin() {
    const std::string name = printable(facts_.other_plugin);
    if (facts_.is_plugin_set) {
      ok("variable", "NCCL_PROFILER_PLUGIN names this plugin");
    } else if (!facts_.other_plugin.empty() && facts_.other.is_ringside) {
      note("variable", "NCCL_PROFILER_PLUGIN=" + name + " is another copy of Ringside",
           "`ringside run` sets it to " + facts_.plugin_path);
    } else if (!facts_.other_plugin.empty()) {
      problem("variable",
              "NCCL_PROFILER_PLUGIN=" + name +
                  (facts_.other.error.empty()
                       ? " names another profiler plugin, and NCCL loads one only"
                       : " names a profiler plugin that cannot be loaded here"),
              "unset it, or use `ringside run`, which replaces it for its command");
    } else if (!facts_.fallback_plugin.empty()) {
      note("variable",
           "NCCL_PROFILER_PLUGIN is not set, and NCCL then loads " + facts_.fallback_plugin,
           "`ringside run` sets it");
    } else {
      ok("variable",
         "NCCL_PROFILER_PLUGIN is not set, so nothing is in the way; `ringside run` "
         "sets it");
    }
  }

  void variables() {
    for (const std::string& sentence : facts_.bad_values) {
      problem("variable", printable(sentence),
              "docs/environment.md has the values of each variable");
    }
    for (const std::string& sentence : facts_.bad_names) {
      problem("variable", printable(sentence),
              "docs/environment.md has the names of all variables");
    }
    if (facts_.bad_values.empty() && facts_.bad_names.empty()) {
      ok("variable", "all RINGSIDE_ variables that are set are good");
    }
  }

  void rings() {
    if (!facts_.rings) {
      note("rings", "RINGSIDE_RING_DIR=none: rings are plain memory",
           "what a process has not written when it is killed is lost; unset it to keep that");
      return;
    }
    const Place& place = *facts_.rings;
    const session::MemoryShare share =
        session::share_of_memory(place.free_bytes, {facts_.journal_bytes, facts_.ring_bytes, 0});
    const std::uint64_t a_process =
        share.journal_bytes + std::min(kThreads * share.ring_bytes, share.rings_bytes);
    if (!place.exists || !place.is_writable) {
      problem(
          "rings",
          place.path + (place.exists ? " cannot be written: " + place.error : " is not there"),
          "a killed process would lose what it has not written; name a directory in memory with "
          "RINGSIDE_RING_DIR");
    } else if (share.journal_bytes == 0) {
      problem("rings",
              place.path + " has " + mebibytes(place.free_bytes) + " free of " +
                  mebibytes(place.size_bytes) + ", and " + mebibytes(session::kLeastFree_bytes) +
                  " are needed: a process that is killed loses what it has not written",
              kMoreMemory);
    } else if (share.journal_bytes < facts_.journal_bytes || share.ring_bytes < facts_.ring_bytes) {
      note("rings",
           place.path + " has " + mebibytes(place.free_bytes) + " free of " +
               mebibytes(place.size_bytes) + ": a process takes " + mebibytes(a_process) +
               " only, so that NCCL finds room, and of one that is killed in the midst of much "
               "something may be lost",
           kMoreMemory);
    } else if (!place.is_memory) {
      problem("rings", place.path + " is not in memory, so a disk may hold up NCCL's threads",
              "name a tmpfs with RINGSIDE_RING_DIR; the default is /dev/shm");
    } else {
      ok("rings", place.path + " has " + mebibytes(place.free_bytes) + " free of " +
                      mebibytes(place.size_bytes) + "; a process takes about " +
                      mebibytes(a_process));
    }
  }

  void output() {
    const Place& place = facts_.output;
    if (!place.error.empty() || !place.is_writable) {
      problem("output",
              "traces cannot be written to " + place.path +
                  (place.error.empty() ? "" : ": " + place.error),
              "name another directory with --dir DIR or RINGSIDE_DIR");
      return;
    }
    const std::string free_text = place.path + (place.exists ? "" : " (to be made)") +
                                  " can be written; " + mebibytes(place.free_bytes) + " are free";
    const auto processes = static_cast<std::uint64_t>(std::max(1, facts_.gpus));
    if (facts_.max_trace_bytes == 0 || place.free_bytes / processes < facts_.max_trace_bytes) {
      note("output",
           free_text + ", and a process may write " +
               (facts_.max_trace_bytes == 0 ? "without bound" : mebibytes(facts_.max_trace_bytes)),
           "RINGSIDE_MAX_BYTES bounds it");
    } else {
      ok("output", free_text);
    }
  }

  void clock() {
    const std::string kernel =
        facts_.kernel_clock.empty() ? "" : "; the kernel's is " + printable(facts_.kernel_clock);
    if (facts_.clock == record::ClockSource::kClockGettime) {
      note("clock", "the plugin will use clock_gettime: there is no invariant TSC" + kernel,
           "an event costs more; on a virtual machine, have the host show the invariant TSC");
    } else {
      ok("clock",
         std::string("the plugin will use the ") +
             (facts_.clock == record::ClockSource::kTsc ? "invariant TSC" : "processor's counter") +
             kernel);
    }
  }

  void gpu() {
    if (facts_.driver.empty() && !facts_.has_libcuda) {
      note("gpu", "no NVIDIA driver is seen here: no /proc/driver/nvidia, no libcuda.so.1",
           "look on a node with GPUs, or start the container with them (docker run --gpus all)");
      return;
    }
    const std::string seen = facts_.driver.empty() ? "the driver's version is not known"
                                                   : "driver " + printable(facts_.driver) + ", " +
                                                         std::to_string(facts_.gpus) +
                                                         (facts_.gpus == 1 ? " GPU" : " GPUs");
    if (!facts_.has_libcuda || !facts_.has_nvml) {
      problem("gpu",
              seen + ", but " + (facts_.has_libcuda ? "libnvidia-ml.so.1" : "libcuda.so.1") +
                  " cannot be loaded",
              "install the driver's libraries; in a container NVIDIA_DRIVER_CAPABILITIES must have "
              "compute and utility");
    } else {
      ok("gpu", seen + "; libcuda and NVML load");
    }
  }

  void topology() {
    if (!facts_.machine.error.empty()) {
      problem("topology", "the plugin's probe learns nothing: " + printable(facts_.machine.error),
              "see whether `nvidia-smi` answers; RINGSIDE_TOPOLOGY=0 leaves the probe out");
      return;
    }
    for (const std::string& trouble : facts_.machine.troubles) {
      problem(
          "topology", printable(trouble),
          "`nvidia-smi nvlink -s` and `nvidia-smi -q` say more; reset or replace what is broken");
    }
    if (!facts_.machine.summary.empty()) {
      ok("topology", printable(facts_.machine.summary));
    }
  }

  void limits() {
    constexpr std::uint64_t kFewDescriptors = 1024;
    const bool is_small =
        facts_.most_file_bytes &&
        (facts_.max_trace_bytes == 0 || *facts_.most_file_bytes < facts_.max_trace_bytes);
    if (is_small) {
      problem("limits", "files may have " + mebibytes(*facts_.most_file_bytes) + " at most",
              "`ulimit -f unlimited`, or RINGSIDE_MAX_BYTES below that: what does not fit is lost");
    }
    if (facts_.most_descriptors && *facts_.most_descriptors < kFewDescriptors) {
      note("limits",
           "a process may have " + std::to_string(*facts_.most_descriptors) + " open files",
           "`ulimit -n 4096` raises that: NCCL itself opens many");
    } else if (!is_small) {
      ok("limits", "sizes of files and open files are enough");
    }
  }

  const Facts& facts_;
  std::vector<Check> checks_;
};

}  // namespace

std::vector<Check> judge(const Facts& facts) {
  return Judge(facts).all();
}

}  // namespace ringside::launch
