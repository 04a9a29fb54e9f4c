// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/global_ranks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace ringside::metrics {
namespace {

// A GPU of a process: the file, and its place among the file's members of a communicator.
using GpuPlace = std::pair<std::uint32_t, std::uint32_t>;

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
  std::map<GpuPlace, std::uint32_t> numbers;
  for (const auto& [place, facts] : known) {
    const model::Process& process = traces.files[place.first].process;
    numbers[place] = static_cast<std::uint32_t>(all_.size());
    GlobalRank rank{{}, place.first};
    if (process.launcher_rank && most[place.first] == 1) {
      rank.label = "rank " + std::to_string(*process.launcher_rank);
    } else if (facts.rank) {
      rank.label = "rank " + std::to_string(*facts.rank);
    } else {
      rank.label = process.host + ':' + std::to_string(process.pid);
    }
    all_.push_back(std::move(rank));
  }
  for (const auto& here : places) {
    auto& of = of_.emplace_back();
    for (const GpuPlace& place : here) {
      of.push_back(numbers[place]);
    }
  }
}

}  // namespace ringside::metrics
