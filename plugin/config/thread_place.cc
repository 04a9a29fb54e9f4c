// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/thread_place.h"

#include <charconv>
#include <pthread.h>

namespace ringside::config {
namespace {

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

}  // namespace

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

Result run_on_cpus(const cpu_set_t& cpus) {
  return Result(pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus));
}

}  // namespace ringside::config
