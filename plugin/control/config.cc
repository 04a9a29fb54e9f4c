// SPDX-License-Identifier: Apache-2.0
#include "plugin/control/config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>

#include "plugin/assemble/journal.h"
#include "plugin/control/thread_place.h"
#include "plugin/record/ring_pool.h"

namespace ringside::control {
namespace {

constexpr double kLeast_s = 0.1;
constexpr double kMost_s = 30.0 * 24 * 3600;

// The shortest text that gives the same number.
std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return end.ec == std::errc{} ? std::string(text.data(), end.ptr) : std::string();
}

class Reader {
 public:
  Reader(const std::function<const char*(const char*)>& get, Config& config)
      : get_(get), config_(config) {}

  /// An integer between two bounds; K, M and G are binary multiples where the unit is bytes.
  void integer(const char* name, std::uint64_t least, std::uint64_t most, bool is_bytes,
               std::uint64_t& value) {
    const char* text = get_(name);
    if (text == nullptr) {
      return;
    }
    const std::string_view given(text);
    std::uint64_t parsed = 0;
    const auto end = std::from_chars(given.data(), given.data() + given.size(), parsed);
    std::string_view rest(end.ptr, static_cast<std::size_t>(given.data() + given.size() - end.ptr));
    std::uint64_t unit = 1;
    if (is_bytes && rest.size() == 1) {
      constexpr std::string_view kUnits = "KMG";
      const std::size_t which = kUnits.find(static_cast<char>(rest[0] & ~0x20));
      if (which != std::string_view::npos) {
        unit = std::uint64_t{1} << (10 * (which + 1));
        rest = {};
      }
    }
    const bool fits = parsed <= std::numeric_limits<std::uint64_t>::max() / unit &&
                      parsed * unit >= least && parsed * unit <= most;
    if (end.ec != std::errc{} || !rest.empty() || !fits) {
      warn(name, text,
           "an integer from " + std::to_string(least) + " to " + std::to_string(most) +
               (is_bytes ? " (K, M or G may follow)" : ""),
           std::to_string(value));
      return;
    }
    value = parsed * unit;
  }

  /// Seconds, fractions allowed, from kLeast_s to kMost_s; 0 is off.
  void seconds_or_off(const char* name, double& value) {
    const char* text = get_(name);
    if (text == nullptr) {
      return;
    }
    const std::string_view given(text);
    double parsed = 0;
    const auto end = std::from_chars(given.data(), given.data() + given.size(), parsed);
    const bool fits = parsed == 0 || (parsed >= kLeast_s && parsed <= kMost_s);
    if (end.ec != std::errc{} || end.ptr != given.data() + given.size() || !fits) {
      warn(name, text, "0 or seconds from " + number_text(kLeast_s) + " to " + number_text(kMost_s),
           number_text(value));
      return;
    }
    value = parsed;
  }

  void warn(const char* name, std::string_view given, const std::string& wanted,
            const std::string& used) {
    config_.warnings.push_back(std::string(name) + "=" + std::string(given) +
                               " is not used: it must be " + wanted + "; taken instead: " + used);
  }

 private:
  const std::function<const char*(const char*)>& get_;
  Config& config_;
};

std::string or_empty(const char* text) {
  return text != nullptr ? text : "";
}

// How much is kept, and where. A trace has four segments at least, of a MiB at least.
void read_bounds(const std::function<const char*(const char*)>& get, Reader& reader,
                 Config& config) {
  constexpr std::uint64_t kLeastBytes = 4U << 20;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
  constexpr std::uint64_t kMostSeconds = 30ULL * 24 * 3600;
  constexpr std::uint64_t kDefaultFlightBytes = 32U << 20;
  const auto is_zero = [&](const char* name) { return or_empty(get(name)) == "0"; };
  if (is_zero("RINGSIDE_MAX_BYTES")) {
    config.max_bytes = 0;
  } else {
    reader.integer("RINGSIDE_MAX_BYTES", kLeastBytes, kMostBytes, true, config.max_bytes);
  }
  std::uint64_t compress = 0;
  reader.integer("RINGSIDE_COMPRESS", 0, 1, false, compress);
  config.compress = compress == 1;
  reader.integer("RINGSIDE_FLIGHT_SECONDS", 0, kMostSeconds, false, config.flight_seconds);
  if (config.flight_seconds != 0) {
    config.flight_bytes = kDefaultFlightBytes;
  }
  if (!is_zero("RINGSIDE_FLIGHT_BYTES")) {
    reader.integer("RINGSIDE_FLIGHT_BYTES", kLeastBytes, kMostBytes, true, config.flight_bytes);
  }
  if (const std::string directory = or_empty(get("RINGSIDE_RING_DIR")); !directory.empty()) {
    config.ring_directory = directory == "none" ? "" : directory;
  }
}

void read_markers(const std::function<const char*(const char*)>& get, Reader& reader,
                  Config& config) {
  constexpr std::pair<std::string_view, nvtx::Scope> kScopes[] = {
      {"off", nvtx::Scope::kOff},
      {"all", nvtx::Scope::kAll},
      {"cross_node", nvtx::Scope::kCrossNode}};
  if (const std::string text = or_empty(get("RINGSIDE_MARKERS")); !text.empty()) {
    const auto* const scope = std::find_if(std::begin(kScopes), std::end(kScopes),
                                           [&](const auto& known) { return known.first == text; });
    if (scope != std::end(kScopes)) {
      config.markers = scope->second;
      config.markers_text = text;
    } else {
      reader.warn("RINGSIDE_MARKERS", text, "off, all or cross_node", "all, if a tool is attached");
    }
  }
  std::uint64_t print = 0;
  reader.integer("RINGSIDE_MARKERS_PRINT", 0, 1, false, print);
  config.markers_print = print == 1;
  config.gpu_serial = or_empty(get("GPU_SERIAL"));
  config.vm_id = or_empty(get("VM_ID"));
}

}  // namespace

Config read_config(const std::function<const char*(const char*)>& get) {
  Config config;
  Reader reader(get, config);
  if (const std::string directory = or_empty(get("RINGSIDE_DIR")); !directory.empty()) {
    config.directory = directory;
  }
  std::uint64_t start = 1;
  reader.integer("RINGSIDE_START", 0, 1, false, start);
  config.start = start == 1;
  if (const char* events = get("RINGSIDE_EVENTS"); events != nullptr) {
    std::string unknown;
    if (const auto choice = parse_events(events, unknown)) {
      config.events = *choice;
      config.events_text = events;
    } else {
      reader.warn("RINGSIDE_EVENTS", events,
                  "a list of coll, p2p, kernel, proxy, steps, ctrl, net, ce, phase, all, default, "
                  "none" +
                      (unknown.empty() ? std::string() : " ('" + unknown + "' is none of them)"),
                  "default");
    }
  }
  if (const std::string sample = or_empty(get("RINGSIDE_SAMPLE")); !sample.empty()) {
    if (const auto sampling = parse_sampling(sample)) {
      config.sampling = *sampling;
      config.sample_text = sample;
    } else {
      reader.warn("RINGSIDE_SAMPLE", sample,
                  "a list such as coll:1/16,p2p:1/4,window:1s/60s,min:64K", "everything");
    }
  }
  reader.integer("RINGSIDE_RING_BYTES", record::RingPool::kLeastBytes, record::RingPool::kMostBytes,
                 true, config.ring_bytes);
  auto drain_ms = static_cast<std::uint64_t>(config.drain_ms);
  reader.integer("RINGSIDE_DRAIN_MS", 1, 1000, false, drain_ms);
  config.drain_ms = static_cast<int>(drain_ms);
  reader.integer("RINGSIDE_JOURNAL_BYTES", assemble::Journal::kLeastBytes, std::uint64_t{4} << 30,
                 true, config.journal_bytes);
  read_bounds(get, reader, config);
  if (const std::string cpus = or_empty(get("RINGSIDE_DRAIN_CPU")); parse_cpu_list(cpus)) {
    config.drain_cpus = cpus;
  } else if (!cpus.empty()) {
    reader.warn("RINGSIDE_DRAIN_CPU", cpus, "a list of CPUs such as 3 or 0-3,8", "any");
  }
  auto drain_nice = static_cast<std::uint64_t>(config.drain_nice);
  reader.integer("RINGSIDE_DRAIN_NICE", 0, 19, false, drain_nice);
  config.drain_nice = static_cast<int>(drain_nice);
  reader.seconds_or_off("RINGSIDE_RECORD_SECONDS", config.record_seconds);
  reader.seconds_or_off("RINGSIDE_HANG_SECONDS", config.hang_seconds);
  config.on_hang = or_empty(get("RINGSIDE_ON_HANG"));
  if (const std::string control = or_empty(get("RINGSIDE_CONTROL")); control == "off") {
    config.control = false;
  } else if (!control.empty() && control != "on") {
    reader.warn("RINGSIDE_CONTROL", control, "on or off", "on");
  }
  read_markers(get, reader, config);
  if (const std::string log = or_empty(get("RINGSIDE_LOG")); !log.empty()) {
    config.log = log;
  }
  for (const char* name : {"RINGSIDE_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID",
                           "TORCHELASTIC_RUN_ID"}) {
    if (config.job = or_empty(get(name)); !config.job.empty()) {
      break;
    }
  }
  if (config.job.empty()) {
    config.job = "job";
  }
  return config;
}

std::vector<std::pair<std::string, std::string>> Config::listed() const {
  return {{"RINGSIDE_DIR", directory},
          {"RINGSIDE_START", start ? "1" : "0"},
          {"RINGSIDE_EVENTS", events_text},
          {"RINGSIDE_SAMPLE", sample_text},
          {"RINGSIDE_RING_BYTES", std::to_string(ring_bytes)},
          {"RINGSIDE_DRAIN_MS", std::to_string(drain_ms)},
          {"RINGSIDE_MAX_BYTES", std::to_string(max_bytes)},
          {"RINGSIDE_COMPRESS", compress ? "1" : "0"},
          {"RINGSIDE_FLIGHT_SECONDS", std::to_string(flight_seconds)},
          {"RINGSIDE_FLIGHT_BYTES", std::to_string(flight_bytes)},
          {"RINGSIDE_RING_DIR", ring_directory.empty() ? "none" : ring_directory},
          {"RINGSIDE_JOURNAL_BYTES", std::to_string(journal_bytes)},
          {"RINGSIDE_DRAIN_CPU", drain_cpus.empty() ? "any" : drain_cpus},
          {"RINGSIDE_DRAIN_NICE", std::to_string(drain_nice)},
          {"RINGSIDE_RECORD_SECONDS", number_text(record_seconds)},
          {"RINGSIDE_HANG_SECONDS", number_text(hang_seconds)},
          {"RINGSIDE_ON_HANG", on_hang},
          {"RINGSIDE_CONTROL", control ? "on" : "off"},
          {"RINGSIDE_MARKERS", markers_text},
          {"RINGSIDE_MARKERS_PRINT", markers_print ? "1" : "0"},
          {"RINGSIDE_LOG", log}};
}

}  // namespace ringside::control
