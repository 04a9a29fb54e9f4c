// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/process_info.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/random.h>
#include <unistd.h>

#include "plugin/config/version.h"
#include "plugin/posix/descriptors.h"
#include "plugin/record/clock.h"

namespace ringside::drain {
namespace {

std::string name_part(std::string text) {
  for (char& c : text) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    c = fits ? c : '_';
  }
  constexpr std::size_t kMost = 64;
  return text.substr(0, kMost);
}

}  // namespace

exporting::ProcessFacts read_process_facts(const config::Config& config) {
  exporting::ProcessFacts facts;
  facts.plugin_version = config::kVersion;
  if (getrandom(&facts.run_id, sizeof facts.run_id, GRND_NONBLOCK) !=
      static_cast<ssize_t>(sizeof facts.run_id)) {
    facts.run_id = record::clock_ns(CLOCK_REALTIME) * 0x9E3779B97F4A7C15U ^
                   static_cast<std::uint64_t>(getpid());
  }
  facts.job = config.job;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  facts.host = host.data();
  std::array<char, 64> boot_id{};
  const std::string_view line = posix::read_begin("/proc/sys/kernel/random/boot_id", boot_id);
  facts.boot_id = line.substr(0, line.find('\n'));
  facts.pid = getpid();
  for (const char* name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"}) {
    const char* text = getenv(name);
    if (text == nullptr) {
      continue;
    }
    int rank = -1;
    const auto end = std::from_chars(text, text + std::strlen(text), rank);
    if (end.ec == std::errc{} && *end.ptr == '\0' && rank >= 0) {
      facts.launcher_rank = rank;
      facts.launcher_rank_from = name;
      break;
    }
  }
  facts.config = config.listed();
  facts.sampled_of = config.sampled_of;
  constexpr std::size_t kMostVariables = 100;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (text.substr(0, 5) == "NCCL_" && equals != std::string_view::npos &&
        facts.environment.size() < kMostVariables) {
      constexpr std::size_t kMostBytes = 400;
      facts.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1, kMostBytes));
    }
  }
  std::sort(facts.environment.begin(), facts.environment.end());
  return facts;
}

std::string absolute_path(const std::string& path) {
  std::array<char, 4096> here{};
  if (path.starts_with('/') || getcwd(here.data(), here.size()) == nullptr) {
    return path;
  }
  return std::string(here.data()) + "/" + path;
}

std::string trace_name(const config::Config& config, const exporting::ProcessFacts& facts) {
  // Containers may have equal host names and process ids, and begin in the same microsecond. Only a
  // part of the random run id keeps their names apart.
  const std::uint64_t start_us = record::clock_ns(CLOCK_REALTIME) / 1000;
  std::array<char, 9> random{};
  snprintf(random.data(), random.size(), "%08x", static_cast<unsigned>(facts.run_id));
  return "ringside." + name_part(config.job) + "." + name_part(facts.host) + "." +
         std::to_string(facts.pid) + "." + std::to_string(start_us) + "-" + random.data() + ".json";
}

}  // namespace ringside::drain
