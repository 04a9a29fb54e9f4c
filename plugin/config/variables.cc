// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include "plugin/config/config.h"
#include "plugin/config/nearest_name.h"
#include "plugin/journal/journal.h"
#include "plugin/record/ring_pool.h"
#include "ringside/ringside.h"

namespace ringside::config {
namespace {

// A trace has at least four segments of at least 1 MiB.
constexpr std::uint64_t kLeastTrace_bytes = 4U << 20;
constexpr std::uint64_t kMostTrace_bytes = std::uint64_t{1} << 50;
constexpr std::uint64_t kMost_s = 30ULL * 24 * 3600;
constexpr double kLeast_s = 0.1;
constexpr std::string_view kSampleOf = "coll:1/";  // a number follows
constexpr std::uint64_t kMaxSampledOf = 1'000'000;

// Returns the shortest text that is parsed to the same number.
std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return end.ec == std::errc{} ? std::string(text.data(), end.ptr) : std::string();
}

struct Bounds {
  std::uint64_t least, most;
  bool is_bytes = false;  ///< K, M or G (binary multiples) may follow
};

bool read_integer(std::string_view text, const Bounds& bounds, std::uint64_t& value) {
  std::uint64_t parsed = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), parsed);
  std::string_view rest(end.ptr, static_cast<std::size_t>(text.data() + text.size() - end.ptr));
  std::uint64_t unit = 1;
  if (bounds.is_bytes && rest.size() == 1) {
    constexpr std::string_view kUnits = "KMG";
    const std::size_t which = kUnits.find(static_cast<char>(rest[0] & ~0x20));
    if (which != std::string_view::npos) {
      unit = std::uint64_t{1} << (10 * (which + 1));
      rest = {};
    }
  }
  if (end.ec != std::errc{} || !rest.empty() ||
      parsed > std::numeric_limits<std::uint64_t>::max() / unit || parsed * unit < bounds.least ||
      parsed * unit > bounds.most) {
    return false;
  }
  value = parsed * unit;
  return true;
}

std::string describe(const Bounds& bounds) {
  return "an integer from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most) +
         (bounds.is_bytes ? " (K, M or G may follow)" : "");
}

// A variable whose default is that of Config.
Variable variable(const char* name, const char* meaning, std::string values, Read read,
                  const Show& show) {
  return {name, meaning, std::move(values), show(Config{}), true, std::move(read), show};
}

// `Integer` is the type of Config's member. It must hold all values between the bounds.
template <typename Integer>
Variable integer(const char* name, const char* meaning, Integer Config::*member, Bounds bounds) {
  return variable(
      name, meaning, describe(bounds),
      [member, bounds](std::string_view text, Config& config, std::string&) {
        std::uint64_t value = 0;
        const bool is_read = read_integer(text, bounds, value);
        config.*member = is_read ? static_cast<Integer>(value) : config.*member;
        return is_read;
      },
      [member](const Config& config) {
        return std::to_string(static_cast<std::uint64_t>(config.*member));
      });
}

Variable flag(const char* name, const char* meaning, bool Config::*member) {
  return integer(name, meaning, member, {0, 1});
}

Variable bytes_or_none(const char* name, const char* meaning, std::uint64_t Config::*member) {
  Variable made = integer(name, meaning, member, {kLeastTrace_bytes, kMostTrace_bytes, true});
  made.values = "0 or " + made.values;
  made.read = [read = made.read, member](std::string_view text, Config& config,
                                         std::string& detail) {
    if (text != "0") {
      return read(text, config, detail);
    }
    config.*member = 0;
    return true;
  };
  return made;
}

Variable seconds_or_off(const char* name, const char* meaning, double Config::*member) {
  const auto most_s = static_cast<double>(kMost_s);
  return variable(
      name, meaning, "0 or seconds from " + number_text(kLeast_s) + " to " + number_text(most_s),
      [member, most_s](std::string_view text, Config& config, std::string&) {
        double parsed = 0;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), parsed);
        const bool fits = parsed == 0 || (parsed >= kLeast_s && parsed <= most_s);
        const bool is_read = end.ec == std::errc{} && end.ptr == text.data() + text.size() && fits;
        config.*member = is_read ? parsed : config.*member;
        return is_read;
      },
      [member](const Config& config) { return number_text(config.*member); });
}

// Makes a variable of any text. An empty one counts as not set. `default_text` describes the
// default where Config has an empty text.
Variable text(const char* name, const char* meaning, const char* values,
              std::string Config::*member, const char* default_text) {
  const auto read = [member](std::string_view given, Config& config, std::string&) {
    config.*member = given.empty() ? config.*member : std::string(given);
    return true;
  };
  const auto show = [member](const Config& config) { return config.*member; };
  return {name, meaning, values, default_text, true, read, show};
}

Variable events() {
  Variable made = text("RINGSIDE_EVENTS", "the events that are recorded",
                       "a list of " RINGSIDE_EVENT_NAMES, &Config::events_text, "default");
  made.read = [](std::string_view given, Config& config, std::string& detail) {
    std::string unknown;
    const auto choice = parse_events(given, unknown);
    if (!choice) {
      detail = unknown.empty() ? "" : "'" + unknown + "' is none of them";
      return false;
    }
    config.events = *choice;
    config.events_text = given;
    return true;
  };
  return made;
}

Variable sample() {
  Variable made = text("RINGSIDE_SAMPLE", "the collectives that the trace has", kSampleValues,
                       &Config::sample_text, "everything");
  made.read = [](std::string_view given, Config& config, std::string& detail) {
    const auto of = parse_sample(given);
    if (of) {
      config.sampled_of = *of;
      config.sample_text = given;
    } else {
      detail = "only collectives can be sampled, by their number";
    }
    return of.has_value();
  };
  return made;
}

Variable drain_cpus() {
  Variable made = text("RINGSIDE_DRAIN_CPU", "the CPUs of the drain thread",
                       "a list of CPUs such as 3 or 0-3,8", &Config::drain_cpus, "any");
  made.read = [](std::string_view given, Config& config, std::string&) {
    if (!given.empty() && !parse_cpu_list(std::string(given))) {
      return false;
    }
    config.drain_cpus = given;
    return true;
  };
  made.show = [](const Config& config) {
    return config.drain_cpus.empty() ? "any" : config.drain_cpus;
  };
  return made;
}

Variable ring_directory() {
  Variable made =
      text("RINGSIDE_RING_DIR", "the directory of rings and journal, which outlive the process",
           "a directory in memory, or none", &Config::ring_directory, "/dev/shm");
  made.read = [](std::string_view given, Config& config, std::string&) {
    config.ring_directory = given.empty() ? config.ring_directory : given == "none" ? "" : given;
    return true;
  };
  made.show = [](const Config& config) {
    return config.ring_directory.empty() ? "none" : config.ring_directory;
  };
  return made;
}

Variable control_socket() {
  return variable(
      "RINGSIDE_CONTROL", "whether there is a control socket", "on or off",
      [](std::string_view given, Config& config, std::string&) {
        config.control = given != "off";
        return given.empty() || given == "on" || given == "off";
      },
      [](const Config& config) { return config.control ? "on" : "off"; });
}

Variable markers() {
  Variable made =
      text("RINGSIDE_MARKERS", "NVTX ranges for a tool such as Nsight Systems",
           "off, all or cross_node", &Config::markers_text, "all, if a tool is attached");
  made.read = [](std::string_view given, Config& config, std::string&) {
    constexpr std::pair<std::string_view, nvtx::Scope> kScopes[] = {
        {"off", nvtx::Scope::kOff},
        {"all", nvtx::Scope::kAll},
        {"cross_node", nvtx::Scope::kCrossNode}};
    for (const auto& [name, scope] : kScopes) {
      if (given == name) {
        config.markers = scope;
        config.markers_text = given;
        return true;
      }
    }
    return given.empty();
  };
  return made;
}

Variable job() {
  Variable made = text("RINGSIDE_JOB", "the name of the job", "a text", &Config::job,
                       "the scheduler's, else job");
  made.is_in_trace = false;  // the trace has it in another member
  return made;
}

// Parses a CPU's number at the start of `text`, and removes it from there.
std::optional<unsigned> take_cpu(std::string_view& text) {
  unsigned cpu = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), cpu);
  if (end.ec != std::errc() || cpu >= CPU_SETSIZE) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
  return cpu;
}

constexpr std::string_view kPrefix = "RINGSIDE_";

constexpr std::array<std::string_view, 3> kOwn = {"RINGSIDE_LAUNCH", "RINGSIDE_HANG_DUMP",
                                                  "RINGSIDE_HANG_PID"};
constexpr std::array<std::string_view, 2> kOfTests = {"RINGSIDE_TEST_", "RINGSIDE_BENCH_"};

// Kubernetes sets such variables in each pod for a service whose name begins with "ringside".
bool is_of_kubernetes(std::string_view name) {
  return name.ends_with("_SERVICE_HOST") || name.ends_with("_PORT") ||
         name.find("_SERVICE_PORT") != std::string_view::npos ||
         name.find("_PORT_") != std::string_view::npos;
}

std::string_view nearest_to(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Variable& variable : variables()) {
    names.push_back(variable.name);
  }
  return nearest_name(name, names, kPrefix.size());
}

bool is_known(std::string_view name) {
  const auto& table = variables();
  return std::any_of(table.begin(), table.end(),
                     [&](const Variable& variable) { return variable.name == name; }) ||
         std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end() ||
         std::any_of(kOfTests.begin(), kOfTests.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         is_of_kubernetes(name);
}

std::string sentence_on(const std::string& name) {
  const std::string nearest(nearest_to(name));
  return name + " is not a variable of Ringside; " +
         (nearest.empty() ? "docs/environment.md has their names"
                          : "did you mean " + nearest + "?");
}

}  // namespace

std::optional<std::uint64_t> parse_sample(std::string_view text) {
  std::uint64_t of = 1;
  const bool is_number = text.starts_with(kSampleOf) &&
                         read_integer(text.substr(kSampleOf.size()), {1, kMaxSampledOf, false}, of);
  return is_number || text.empty() ? std::optional(of) : std::nullopt;
}

std::optional<cpu_set_t> parse_cpu_list(std::string_view text) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  while (true) {
    const auto first = take_cpu(text);
    auto last = first;
    if (first && text.substr(0, 1) == "-") {
      text.remove_prefix(1);
      last = take_cpu(text);
    }
    if (!first || !last || *last < *first) {
      return std::nullopt;
    }
    for (unsigned cpu = *first; cpu <= *last; ++cpu) {
      CPU_SET(cpu, &cpus);
    }
    if (text.empty()) {
      return cpus;
    }
    if (text.front() != ',') {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
}

const std::vector<Variable>& variables() {
  // The table is never destroyed, because the drain thread may outlive static objects.
  static const auto& table = *new std::vector<Variable>{
      text("RINGSIDE_DIR", "the directory of traces", "a directory", &Config::directory,
           "ringside-traces"),
      flag("RINGSIDE_START", "whether recording starts with NCCL", &Config::start),
      events(),
      sample(),
      integer("RINGSIDE_RING_BYTES", "the size of the ring of each thread", &Config::ring_bytes,
              {record::RingPool::kLeastBytes, record::RingPool::kMostBytes, true}),
      integer("RINGSIDE_DRAIN_MS", "the milliseconds between two readings of the rings",
              &Config::drain_ms, {1, 1000}),
      bytes_or_none("RINGSIDE_MAX_BYTES", "the most bytes of one process on disk; 0: no bound",
                    &Config::max_bytes),
      flag("RINGSIDE_COMPRESS", "whether the trace is compressed", &Config::compress),
      bytes_or_none("RINGSIDE_FLIGHT_BYTES", "flight recorder: the bytes that are kept in memory",
                    &Config::flight_bytes),
      ring_directory(),
      integer("RINGSIDE_JOURNAL_BYTES", "the size of the journal", &Config::journal_bytes,
              {journal::Journal::kLeastBytes, std::uint64_t{4} << 30, true}),
      drain_cpus(),
      integer("RINGSIDE_EXIT_SECONDS",
              "the most seconds for which the exit waits until the trace is complete",
              &Config::exit_seconds, {1, kMost_s}),
      seconds_or_off("RINGSIDE_RECORD_SECONDS",
                     "the seconds after which recording ends; 0: it does not",
                     &Config::record_seconds),
      seconds_or_off(
          "RINGSIDE_HANG_SECONDS",
          "hang detector: an operation in flight for longer is logged and dumped; 0: off",
          &Config::hang_seconds),
      text("RINGSIDE_ON_HANG", "a command that runs after a dump of the hang detector",
           "a command for /bin/sh -c", &Config::on_hang, "none"),
      control_socket(),
      flag("RINGSIDE_TOPOLOGY", "whether GPUs, their links and network adapters are read",
           &Config::topology),
      text("RINGSIDE_SYSFS", "the directory where sysfs is mounted", "a directory", &Config::sysfs,
           "/sys"),
      markers(),
      text("RINGSIDE_LOG", "the destination of messages", "stderr, or the path of a file",
           &Config::log, "stderr"),
      job()};
  return table;
}

std::vector<std::string> trouble_with_names(const std::vector<std::string>& names) {
  std::vector<std::string> sentences;
  for (const std::string& text : names) {
    // This bounds the time of the search for the nearest name.
    constexpr std::size_t kMostName = 100;
    const std::string name = text.substr(0, std::min(text.find('='), kMostName));
    if (name.starts_with(kPrefix) && !is_known(name)) {
      sentences.push_back(sentence_on(name));
    }
  }
  std::sort(sentences.begin(), sentences.end());
  sentences.erase(std::unique(sentences.begin(), sentences.end()), sentences.end());
  return sentences;
}

}  // namespace ringside::config
