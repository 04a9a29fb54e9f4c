// SPDX-License-Identifier: Apache-2.0
//
// ringside_bench_callbacks: what a callback of a profiler plugin costs, called through the plugin's
// tables as NCCL calls them. Each table of each plugin is measured in a process of its own.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sys/wait.h>
#include <thread>

#include <CLI/CLI.hpp>

#include "include/ringside/ringside.h"
#include "plugin/config/events.h"
#include "test/bench/measure.h"
#include "test/bench/rows.h"

namespace ringside::bench {
namespace {

struct Options {
  std::vector<std::string> plugins;
  std::vector<int> versions;
  std::vector<int> threads = {1, 2};
  int calls = 64 * 1024;
  int rest_ms = 15;
  int passes = 1;
  std::string format = "table";
  std::string only;
  bool recording_only = false;
  std::string nvtx_tool;  // empty: markers are as the environment has them
};

/// How NVTX ranges are asked for; empty: the variable is left alone.
struct Markers {
  const char* label;
  std::string markers;
  std::string tool;
};

/// One process's measuring: a plugin's table, rows written to a stream.
class Run {
 public:
  Run(const Options& options, std::string label, int version, FILE* out)
      : options_(options), label_(std::move(label)), version_(version), out_(out) {}

  int measure(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const ProfilerTable* const table = find_table(library, version_);
    if (table == nullptr) {
      return 0;
    }
    // Ringside's own control, where the plugin has it.
    status_ = reinterpret_cast<decltype(status_)>(dlsym(library, "ringside_status"));
    start_ = reinterpret_cast<decltype(start_)>(dlsym(library, "ringside_start"));
    stop_ = reinterpret_cast<decltype(stop_)>(dlsym(library, "ringside_stop"));
    Target target{table, nullptr, version_, [this] { rest(); }};
    int mask = 0;
    if (init_table(*table, version_, &target.context, &mask) != 0) {
      std::fprintf(stderr, "%s: init of version %d failed\n", label_.c_str(), version_);
      return 1;
    }
    ns_per_tick_ = ns_per_tick();
    for (const int threads : options_.threads) {
      measure_base(threads);
      measure_gate(target, threads, "on");
      if (stop_ != nullptr && !options_.recording_only) {
        is_recording_ = false;
        ringside_start_options only_coll{sizeof(ringside_start_options), "coll"};
        start_(&only_coll);
        measure_gate(target, threads, "type off", abi::kProxyCtrl);
        stop_();
        measure_gate(target, threads, "stopped");
        start_(nullptr);
        is_recording_ = true;
      }
    }
    table->finalize(target.context);
    return 0;
  }

 private:
  void rest() const {
    // A new window wakes Ringside's drain thread, which empties the rings now. While calls are
    // timed it sleeps: a round takes far less than the time between its cycles.
    if (is_recording_ && stop_ != nullptr) {
      stop_();
      start_(nullptr);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(options_.rest_ms));
  }

  std::uint64_t dropped() const {
    ringside_status_info info{};
    info.struct_size = sizeof info;
    return status_ != nullptr && status_(&info) == RINGSIDE_OK ? info.dropped : 0;
  }

  void measure_base(int threads) {
    Samples clock = measure_clock(options_.calls);
    clock_ns_ = percentile(clock.batch, 0.5) * ns_per_tick_;
    empty_batch_ns_ = 0;
    empty_single_ns_ = 0;
    if (threads == options_.threads.front()) {
      print("timestamp read", threads, "", clock, 0);
    }
    const Target nothing{&empty_table(), nullptr, version_, [this] { rest(); }};
    empty_ = measure_kind(nothing, kind_of(abi::kProxyStep), threads, options_.calls);
    if (threads == options_.threads.front()) {
      Samples copy = empty_.start;
      print("empty start", threads, "", copy, 0);
    }
  }

  void measure_gate(const Target& target, int threads, const char* gate, std::uint32_t type = 0) {
    for (const Kind& kind : kKinds) {
      if (!has_kind(version_, kind) || (type != 0 && kind.type != type) ||
          (!options_.only.empty() && options_.only != kind.name)) {
        continue;
      }
      const std::uint64_t before = dropped();
      KindSamples samples = measure_kind(target, kind, threads, options_.calls);
      const std::uint64_t lost = dropped() - before;
      take_empty(empty_.start);
      print(std::string("start ") + kind.name, threads, gate, samples.start, lost);
      if (!samples.state.batch.empty()) {
        take_empty(empty_.state);
        print(std::string("state ") + kind.name, threads, gate, samples.state, lost);
      }
      take_empty(empty_.stop);
      print(std::string("stop  ") + kind.name, threads, gate, samples.stop, lost);
    }
  }

  void take_empty(Samples& empty) {
    empty_batch_ns_ = percentile(empty.batch, 0.5) * ns_per_tick_;
    empty_single_ns_ = percentile(empty.single, 0.5) * ns_per_tick_;
  }

  void print(const std::string& callback, int threads, const char* gate, Samples& samples,
             std::uint64_t lost) const {
    const Row row{label_,
                  version_,
                  threads,
                  *gate == '\0' ? "-" : gate,
                  callback,
                  percentile(samples.batch, 0.5) * ns_per_tick_ - empty_batch_ns_,
                  percentile(samples.single, 0.99) * ns_per_tick_ - empty_single_ns_,
                  percentile(samples.single, 0.999) * ns_per_tick_ - empty_single_ns_,
                  clock_ns_,
                  lost};
    std::fputs(row_line(row).c_str(), out_);
    std::fflush(out_);
  }

  const Options& options_;
  std::string label_;
  int version_;
  FILE* out_;
  int (*status_)(ringside_status_info*) = nullptr;
  int (*start_)(const ringside_start_options*) = nullptr;
  int (*stop_)() = nullptr;
  bool is_recording_ = true;  // all types
  double ns_per_tick_ = 1;
  double clock_ns_ = 1;
  KindSamples empty_;
  double empty_batch_ns_ = 0;
  double empty_single_ns_ = 0;
};

/// Runs one table in a child, and hands on its rows; false if the child failed.
bool run_child(const Options& options, const std::string& label, const std::string& path,
               int version, const Markers& markers, const std::function<void(const Row&)>& take) {
  int ends[2];
  if (pipe(ends) != 0) {
    return false;
  }
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    FILE* const out = fdopen(ends[1], "w");
    if (!markers.markers.empty()) {
      setenv("RINGSIDE_MARKERS", markers.markers.c_str(), 1);
      setenv("NVTX_INJECTION64_PATH", markers.tool.c_str(), 1);
    }
    const int result = Run(options, label, version, out).measure(path);
    std::fflush(out);
    std::exit(result);
  }
  close(ends[1]);
  FILE* const in = fdopen(ends[0], "r");
  char line[512];
  while (child > 0 && std::fgets(line, sizeof line, in) != nullptr) {
    take(parse_row(line));
  }
  std::fclose(in);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

/// Each table of each plugin once.
bool run_pass(const Options& options, const std::function<void(const Row&)>& take) {
  std::vector<Markers> markers = {{"", "", ""}};
  if (!options.nvtx_tool.empty()) {
    markers = {{"/off", "off", ""}, {"/no tool", "all", ""}, {"/tool", "all", options.nvtx_tool}};
  }
  bool good = true;
  for (const std::string& plugin : options.plugins) {
    const std::size_t equals = plugin.find('=');
    const std::string path = plugin.substr(0, equals);
    const std::string label = equals == std::string::npos
                                  ? std::filesystem::path(path).stem().string().substr(0, 10)
                                  : plugin.substr(equals + 1);
    for (const int version : options.versions) {
      for (const Markers& how : markers) {
        good = run_child(options, label + how.label, path, version, how, take) && good;
      }
    }
  }
  return good;
}

int run(const Options& options) {
  const bool json = options.format == "json";
  print_head(json, options.passes);
  bool first = true;
  bool good = true;
  std::uint64_t dropped = 0;
  const auto print = [&](const Row& row) {
    dropped += row.dropped;
    print_row(row, json, first);
    first = false;
  };
  if (options.passes == 1) {
    good = run_pass(options, print);  // as they come
  } else {
    Results results;
    for (int pass = 1; pass <= options.passes && good; ++pass) {
      std::fprintf(stderr, "pass %d of %d\n", pass, options.passes);
      good = run_pass(options, [&](const Row& row) { results.add(row); });
    }
    for (const Passes& passes : results.all()) {
      print(median_of(passes));
    }
  }
  if (json) {
    std::printf("\n]}\n");
  }
  if (first) {
    std::fprintf(stderr, "nothing was measured: no plugin has a table of these versions\n");
  }
  if (dropped != 0) {
    std::fprintf(stderr, "callbacks were dropped; the rows are marked\n");
  }
  return good && !first && dropped == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ringside::bench

int main(int argc, char** argv) {
  using namespace ringside::bench;
  Options options;
  options.versions = {1, 2, 3, 4, 5, 6, 7};
  CLI::App app{
      "Measures what a profiler plugin's callbacks cost, through the tables that NCCL uses."};
  app.add_option("--plugin", options.plugins,
                 "PATH[=LABEL] of a plugin; repeatable. Default: this build's")
      ->type_name("PATH[=LABEL]");
  app.add_option("--abi", options.versions, "versions of the interface, e.g. 2,6")
      ->delimiter(',')
      ->check(CLI::Range(1, kLastVersion));
  app.add_option("--threads", options.threads, "threads at once, e.g. 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  app.add_option("--calls", options.calls, "calls of each kind, for medians and again for tails")
      ->check(CLI::Range(kBatch, 1 << 28));
  app.add_option("--rest-ms", options.rest_ms,
                 "pause after each 1,024 calls of a kind, for the drain")
      ->check(CLI::Range(0, 10000));
  app.add_option("--kind", options.only, "only this kind of event, e.g. Coll");
  app.add_option("--passes", options.passes,
                 "measure everything so often, one pass after the other, and give the median of "
                 "each figure: a slow spell of the machine is then hardly seen")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--recording-only", options.recording_only, "without the rows of the stopped state");
  app.add_option("--nvtx-tool", options.nvtx_tool,
                 "measure each table without NVTX ranges, with RINGSIDE_MARKERS=all and no tool, "
                 "and with this tool attached (libnvtx_listener.so)")
      ->check(CLI::ExistingFile);
  app.add_option("--format", options.format, "table or json")
      ->check(CLI::IsMember({"table", "json"}));
  CLI11_PARSE(app, argc, argv);
  if (options.plugins.empty()) {
    options.plugins = {RINGSIDE_BENCH_PLUGIN "=ringside"};
  }
  // Traces go where nobody looks for them. Variables that the user has set stay.
  char directory[] = "/tmp/ringside-bench-XXXXXX";
  if (mkdtemp(directory) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }
  setenv("RINGSIDE_DIR", directory, 0);
  setenv("RINGSIDE_EVENTS", "all", 0);
  for (const char* const name : ringside::config::kSafeForKernels) {
    setenv(name, "0", 0);
  }
  setenv("RINGSIDE_DRAIN_MS", "1000", 0);
  setenv("RINGSIDE_RING_BYTES", "4M", 0);
  // Small, so that the pages of deleted segments are used again: on a virtual machine each new page
  // of the cache may be one that the host has to find first, which the drain would wait for.
  setenv("RINGSIDE_MAX_BYTES", "64M", 0);
  const int result = run(options);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return result;
}
