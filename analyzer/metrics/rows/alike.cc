// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/alike.h"

#include <algorithm>
#include <map>

namespace ringside::metrics {
namespace {

constexpr std::size_t kAlike = 4;

// Without the number that frameworks give each group of a kind.
std::string kind_of(const std::string& name) {
  return name.substr(0, name.find_last_not_of("0123456789 _:.-") + 1);
}

std::string likeness_of(const match::Communicator& communicator, const CommunicatorRows& rows) {
  std::string likeness = kind_of(communicator.name) + '\n' + std::to_string(communicator.run) +
                         '\n' + std::to_string(communicator.nranks) + '\n';
  for (const Row& row : rows.rows) {
    for (const std::string& part :
         {row.by, row.function, row.datatype, row.algorithm, row.protocol,
          std::to_string(row.bytes_min.value_or(0)), std::to_string(row.bytes_max.value_or(0)),
          std::to_string(row.count), std::to_string(static_cast<int>(row.times_from))}) {
      likeness += part + '\n';
    }
  }
  return likeness;
}

double time_of(const CommunicatorRows& rows) {
  double sum_ns = 0;
  for (const Row& row : rows.rows) {
    sum_ns += row.total_busy_ns();
  }
  return sum_ns;
}

}  // namespace

std::vector<Alike> find_alike(const std::vector<match::Communicator>& communicators,
                              const std::vector<CommunicatorRows>& rows,
                              const std::vector<std::vector<std::string>>& remarks) {
  std::vector<std::string> likeness;
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    likeness.push_back(remarks[i].empty() && !rows[i].rows.empty()
                           ? likeness_of(communicators[i], rows[i])
                           : std::to_string(i));
    groups[likeness.back()].push_back(i);
  }
  std::vector<Alike> all;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    std::vector<std::size_t> group = groups[likeness[i]];
    if (group.size() < kAlike) {
      all.push_back({1, "", i, {}});
    } else if (group.front() == i) {
      std::stable_sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) {
        return time_of(rows[a]) < time_of(rows[b]);
      });
      const std::string kind = kind_of(communicators[i].name);
      Alike& alike = all.emplace_back();
      alike.count = group.size();
      alike.kind = kind.empty() ? "" : kind + ' ';
      alike.median = group[(group.size() - 1) / 2];
      if (time_of(rows[group.back()]) > 0) {
        alike.slowest = group.back();
      }
    }
  }
  return all;
}

}  // namespace ringside::metrics
