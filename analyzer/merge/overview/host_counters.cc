// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/overview/host_counters.h"

#include <algorithm>
#include <cmath>

#include "analyzer/merge/line.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::merge {

void append_counter(std::string_view ids, std::int64_t line_ns, std::string_view name,
                    std::string_view unit, std::int64_t thousandths, std::string& output) {
  output.append(R"({"ph":"C",)").append(ids).append(",\"ts\":");
  append_microseconds(line_ns, output);
  output += ",\"name\":";
  append_quoted(name, output);
  output += ",\"args\":{";
  append_quoted(unit, output);
  output += ':' + report::fixed(static_cast<double>(thousandths) / 1000, 3) + "}},\n";
}

std::int64_t thousandths_of(double value) {
  constexpr double kMost = 4e15;
  return std::llround(std::clamp(value, -kMost, kMost) * 1000);
}

void HostCounters::add(std::uint32_t host, std::uint32_t process, std::string_view name,
                       std::string_view unit, std::int64_t line_ns, double value) {
  processes_[host].insert(process);
  Counter& counter = counters_[{host, std::string(name), std::string(unit)}];
  double& last = counter.last[process];
  if (value != last) {
    counter.changes.push_back({line_ns, value - last});
    last = value;
  }
}

void HostCounters::add(HostCounters&& others) {
  for (auto& [key, counter] : others.counters_) {
    Counter& own = counters_[key];
    own.changes.insert(own.changes.end(), counter.changes.begin(), counter.changes.end());
    own.last.merge(counter.last);
  }
  for (auto& [host, processes] : others.processes_) {
    processes_[host].merge(processes);
  }
}

std::size_t HostCounters::processes(std::uint32_t host) const {
  const auto found = processes_.find(host);
  return found != processes_.end() ? found->second.size() : 0;
}

std::uint64_t HostCounters::append(std::uint32_t host, std::uint32_t pid,
                                   const std::function<bool(std::int64_t)>& keeps,
                                   std::string& output) {
  std::uint64_t lines = 0;
  const std::string ids = "\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(pid);
  for (auto at = counters_.lower_bound({host, {}, {}});
       at != counters_.end() && std::get<0>(at->first) == host; ++at) {
    std::vector<Change>& changes = at->second.changes;
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.line_ns < b.line_ns; });
    // Thousandths, as in the lines: they add up without a rest that grows.
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      sum += thousandths_of(changes[i].by);
      if (i + 1 < changes.size() && changes[i + 1].line_ns == changes[i].line_ns) {
        continue;
      }
      if (!keeps(changes[i].line_ns)) {
        continue;
      }
      append_counter(ids, changes[i].line_ns, std::get<1>(at->first), std::get<2>(at->first), sum,
                     output);
      ++lines;
    }
  }
  return lines;
}

}  // namespace ringside::merge
