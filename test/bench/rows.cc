// SPDX-License-Identifier: Apache-2.0
#include "test/bench/rows.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/utsname.h>
#include <thread>

#include "test/bench/measure.h"

namespace ringside::bench {
namespace {

std::string machine() {
  std::string cpu = "unknown processor";
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) {
      cpu = line.substr(line.find(':') + 2);
      break;
    }
  }
  utsname system{};
  uname(&system);
  return cpu + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
         system.sysname + " " + system.release + ", " RINGSIDE_BENCH_BUILD;
}

}  // namespace

std::string row_line(const Row& row) {
  std::array<char, 512> line{};
  std::snprintf(line.data(), line.size(), "%s\t%d\t%d\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%llu\n",
                row.plugin.c_str(), row.version, row.threads, row.gate.c_str(),
                row.callback.c_str(), row.p50_ns, row.p99_ns, row.p999_ns, row.clock_ns,
                static_cast<unsigned long long>(row.dropped));
  return line.data();
}

Row parse_row(const std::string& line) {
  std::istringstream in(line);
  const auto field = [&] {
    std::string text;
    std::getline(in, text, '\t');
    return text;
  };
  Row row;
  row.plugin = field();
  row.version = std::stoi(field());
  row.threads = std::stoi(field());
  row.gate = field();
  row.callback = field();
  row.p50_ns = std::stod(field());
  row.p99_ns = std::stod(field());
  row.p999_ns = std::stod(field());
  row.clock_ns = std::stod(field());
  row.dropped = std::stoull(field());
  return row;
}

void print_row(const Row& row, bool json, bool first) {
  if (json) {
    std::printf(
        "%s\n{\"plugin\":\"%s\",\"abi\":%d,\"threads\":%d,\"gate\":\"%s\",\"callback\":\"%s\","
        "\"p50_ns\":%.2f,\"p99_ns\":%.2f,\"p999_ns\":%.2f,\"timestamp_ns\":%.2f,\"dropped\":%llu}",
        first ? "" : ",", row.plugin.c_str(), row.version, row.threads, row.gate.c_str(),
        row.callback.c_str(), row.p50_ns, row.p99_ns, row.p999_ns, row.clock_ns,
        static_cast<unsigned long long>(row.dropped));
  } else {
    std::printf("%-16s v%d %2d  %-8s %-19s %8.1f %8.1f %8.1f  %6.2f %6.2f %6.2f%s\n",
                row.plugin.c_str(), row.version, row.threads, row.gate.c_str(),
                row.callback.c_str(), row.p50_ns, row.p99_ns, row.p999_ns,
                row.p50_ns / row.clock_ns, row.p99_ns / row.clock_ns, row.p999_ns / row.clock_ns,
                row.dropped != 0 ? "  DROPPED" : "");
  }
  std::fflush(stdout);
}

Row median_of(const Passes& passes) {
  Row row = passes.front();
  for (double Row::*figure : {&Row::p50_ns, &Row::p99_ns, &Row::p999_ns, &Row::clock_ns}) {
    std::vector<double> values;
    for (const Row& pass : passes) {
      values.push_back(pass.*figure);
    }
    row.*figure = percentile(values, 0.5);
  }
  for (std::size_t pass = 1; pass < passes.size(); ++pass) {
    row.dropped += passes[pass].dropped;
  }
  return row;
}

void print_head(bool json, int passes) {
  if (json) {
    std::printf("{\"machine\":\"%s\",\"passes\":%d,\"rows\":[", machine().c_str(), passes);
    return;
  }
  std::printf(
      "%s\nns, and as ratios to one timestamp read; median of batches of %d calls, tails "
      "of single calls; an empty call's cost is taken off",
      machine().c_str(), kBatch);
  if (passes > 1) {
    std::printf("; of each figure the median of %d passes", passes);
  }
  std::printf("\n%-16s %s %s  %-8s %-19s %8s %8s %8s  %6s %6s %6s\n", "plugin", "abi", "th", "gate",
              "callback", "p50", "p99", "p99.9", "p50", "p99", "p99.9");
}

}  // namespace ringside::bench
