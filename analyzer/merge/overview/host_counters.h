// SPDX-License-Identifier: Apache-2.0
//
// The counters of a host: those of one name of all its processes, added up.
#ifndef RINGSIDE_ANALYZER_MERGE_OVERVIEW_HOST_COUNTERS_H
#define RINGSIDE_ANALYZER_MERGE_OVERVIEW_HOST_COUNTERS_H

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace ringside::merge {

/// Appends a line of a counter, with ",\n". `ids` are its members pid and tid, `thousandths` its
/// value.
void append_counter(std::string_view ids, std::int64_t line_ns, std::string_view name,
                    std::string_view unit, std::int64_t thousandths, std::string& output);
/// The value of a counter as its lines have it.
std::int64_t thousandths_of(double value);

class HostCounters {
 public:
  /// A counter of a process has a value from this time on; a process's are told in order.
  void add(std::uint32_t host, std::uint32_t process, std::string_view name, std::string_view unit,
           std::int64_t line_ns, double value);

  /// Takes what was told to others, of other processes.
  void add(HostCounters&& others);

  /// How many processes of the host have counters.
  std::size_t processes(std::uint32_t host) const;

  /// Appends the lines of this host at times that are to be kept, each with ",\n", under this pid.
  /// How many there are.
  std::uint64_t append(std::uint32_t host, std::uint32_t pid,
                       const std::function<bool(std::int64_t line_ns)>& keeps, std::string& output);

 private:
  struct Change {
    std::int64_t line_ns;
    double by;
  };
  struct Counter {
    std::vector<Change> changes;
    std::map<std::uint32_t, double> last;  // by process
  };
  std::map<std::tuple<std::uint32_t, std::string, std::string>, Counter> counters_;
  std::map<std::uint32_t, std::set<std::uint32_t>> processes_;  // by host
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_OVERVIEW_HOST_COUNTERS_H
