// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/summary/job_ranks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/numbers_in.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

// The reader of dumps has them in the communicator's identity: "name [1, 3]".
std::vector<std::uint32_t> job_ranks(const model::Traces& traces,
                                     const match::Communicator& communicator) {
  if (communicator.members.empty() ||
      traces.files[communicator.members.front().file].process.tells_begin) {
    return {};
  }
  const std::string_view text = communicator.hash;
  const std::vector<std::uint32_t> ranks =
      model::numbers_in(text.substr(std::min(text.rfind('['), text.size())));
  bool is_other = false;
  for (std::uint32_t i = 0; i < ranks.size(); ++i) {
    is_other = is_other || ranks[i] != i;
  }
  return is_other && ranks.size() == communicator.nranks ? ranks : std::vector<std::uint32_t>();
}

}  // namespace

JobRanks::JobRanks(const model::Traces& traces,
                   const std::vector<match::Communicator>& communicators)
    : communicators_(communicators) {
  for (const match::Communicator& communicator : communicators) {
    of_job_.push_back(job_ranks(traces, communicator));
  }
}

std::vector<std::uint32_t> JobRanks::of_job(std::uint32_t communicator,
                                            const std::vector<std::uint32_t>& ranks) const {
  const std::vector<std::uint32_t>& of_job = of_job_[communicator];
  std::vector<std::uint32_t> found;
  for (const std::uint32_t rank : ranks) {
    if (rank < of_job.size()) {
      found.push_back(of_job[rank]);
    }
  }
  return found;
}

std::string JobRanks::text(std::uint32_t communicator, std::vector<std::uint32_t> ranks) const {
  constexpr std::uint32_t kNamed = 8;
  const std::vector<std::uint32_t>& of_job = of_job_[communicator];
  if (communicators_[communicator].nranks <= kNamed) {
    ranks.resize(of_job.size());
    std::iota(ranks.begin(), ranks.end(), 0U);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::erase_if(ranks, [&](std::uint32_t rank) { return rank >= of_job.size(); });
  if (ranks.empty()) {
    return {};
  }
  std::string own;
  std::string others;
  const std::size_t count = std::min<std::size_t>(ranks.size(), kNamed);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const between = i == 0 ? "" : ", ";
    own += between + std::to_string(ranks[i]);
    others += between + std::to_string(of_job[ranks[i]]);
  }
  const bool is_one = count == 1;
  return std::string(is_one ? "Rank " : "Ranks ") + own + " of " +
         label_of(communicators_[communicator]) + (is_one ? " is rank " : " are ranks ") + others +
         " of the job";
}

std::vector<std::uint32_t> launched_ranks(const model::Traces& traces,
                                          const match::Communicator& communicator,
                                          const std::vector<std::uint32_t>& ranks) {
  std::map<std::uint32_t, std::size_t> of_file;  // one process may drive several GPUs
  for (const match::Member& member : communicator.members) {
    ++of_file[member.file];
  }
  std::vector<std::uint32_t> found;
  for (const match::Member& member : communicator.members) {
    if (member.rank && std::find(ranks.begin(), ranks.end(), *member.rank) != ranks.end()) {
      const auto& launched = traces.files[member.file].process.launcher_rank;
      found.push_back(launched && of_file[member.file] == 1 ? static_cast<std::uint32_t>(*launched)
                                                            : *member.rank);
    }
  }
  return found;
}

}  // namespace ringside::report
