// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/global_ranks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace ringside::metrics {
namespace {

// A GPU of a process: the file, and its place among the file's members of a communicator.
using GpuPlace = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::uint64_t kNoRank = std::numeric_limits<std::uint64_t>::max();

struct Known {
  std::size_t ranks = 0;  // of the largest communicator that it is in
  std::optional<std::uint32_t> rank;
};

}  // namespace

GlobalRanks::GlobalRanks(const model::Traces& traces, const match::Matches& matches) {
  std::map<GpuPlace, Known> known;
  std::vector<std::uint32_t> most(traces.files.size(), 1);  // members in one communicator
  std::vector<std::vector<GpuPlace>> places;
  for (const match::Communicator& communicator : matches.communicators) {
    std::map<std::uint32_t, std::uint32_t> of_file;
    auto& here = places.emplace_back();
    for (const match::Member& member : communicator.members) {
      const std::uint32_t place = of_file[member.file]++;
      most[member.file] = std::max(most[member.file], place + 1);
      here.emplace_back(member.file, place);
      Known& facts = known[here.back()];
      if (communicator.nranks > facts.ranks && member.rank) {
        facts = {communicator.nranks, member.rank};
      }
    }
  }
  // By their ranks; those without one come last.
  std::vector<std::pair<std::uint64_t, GpuPlace>> in_order;
  for (const auto& [place, facts] : known) {
    const auto& of_launcher = traces.files[place.first].process.launcher_rank;
    const auto rank = of_launcher && most[place.first] == 1 ? *of_launcher : facts.rank;
    in_order.emplace_back(rank ? *rank : kNoRank, place);
  }
  std::sort(in_order.begin(), in_order.end());
  std::map<GpuPlace, std::uint32_t> numbers;
  for (const auto& [rank, place] : in_order) {
    const model::Process& process = traces.files[place.first].process;
    numbers[place] = static_cast<std::uint32_t>(all_.size());
    all_.push_back({rank == kNoRank ? process.host + ':' + std::to_string(process.pid)
                                    : "rank " + std::to_string(rank),
                    place.first});
  }
  for (const auto& here : places) {
    auto& of = of_.emplace_back();
    for (const GpuPlace& place : here) {
      of.push_back(numbers[place]);
    }
  }
}

}  // namespace ringside::metrics
