// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/job.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/facts/facts.h"
#include "analyzer/facts/groups.h"

namespace ringside::replay {
namespace {

using match::MatchedOperation;
using match::Part;
using match::Way;
using model::TimesFrom;

Needs needs_of(std::string_view function) {
  const facts::Flow flow = facts::flow_of_function(function);
  return flow == facts::Flow::kFromRoot ? Needs::kFromRoot
         : flow == facts::Flow::kToRoot ? Needs::kToRoot
                                        : Needs::kAll;
}

// A kernel while the order of its rank's kernels is not known.
struct Found {
  std::uint32_t rank = 0;
  Kernel kernel;
  // The rank may have come at any time between its call and the start: data that the network sends
  // waits for the receiver, too.
  bool is_open = false;
};

// A member of a transfer: the kernel, and when its own part of the transfer ended.
struct Taken {
  std::uint32_t kernel = 0;
  std::int64_t end_ns = 0;
};

// A rank, a communicator, and calls that were made together.
using GroupKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

class Builder {
 public:
  Builder(const model::Traces& traces, const match::Matches& matches,
          const metrics::GlobalRanks& ranks, std::uint32_t run)
      : traces_(traces), matches_(matches), ranks_(ranks), run_(run) {
    for (const auto& group : facts::find_groups(traces, matches)) {
      for (const std::uint32_t operation : group) {
        first_of_group_[operation] = group.front();
      }
    }
  }

  Job make() {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t i = 0; i < matches_.operations.size(); ++i) {
      if (matches_.communicators[matches_.operations[i].communicator].run == run_) {
        chosen.push_back(i);
      }
    }
    match::Executions memory;
    match::read_parts(traces_, matches_, chosen, memory,
                      [&](std::size_t i, std::span<const Part> parts,
                          std::span<const model::Execution> executions) {
                        const MatchedOperation& operation = matches_.operations[chosen[i]];
                        if (operation.way == Way::kPair || operation.way == Way::kGroup) {
                          add_messages(operation, parts, executions);
                        } else {
                          add_collective(chosen[i], operation, parts, executions);
                        }
                      });
    put_in_order();
    return std::move(job_);
  }

 private:
  static std::int64_t call_of(const model::Execution& execution) {
    return execution.enqueue_start_ns ? *execution.enqueue_start_ns : *execution.start_ns;
  }

  // Those of the calls of one kernel are added up, in whatever order they were matched.
  static std::uint32_t signature(std::uint64_t function, std::uint64_t bytes, std::uint64_t ranks) {
    std::uint64_t hash = 0;
    for (const std::uint64_t part : {function, bytes, ranks}) {
      hash = (hash ^ part) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 32U;
    }
    return static_cast<std::uint32_t>(hash);
  }

  // The kernel of a rank that already has one with that key, or a new one.
  std::uint32_t kernel_of(std::optional<GroupKey> key, const MatchedOperation& operation,
                          const Part& part, const model::Execution& execution,
                          std::uint32_t signature) {
    if (key) {
      const auto [known, is_new] = by_key_.try_emplace(*key, kernel_count());
      if (!is_new) {
        Kernel& kernel = found_[known->second].kernel;
        kernel.start_ns = std::min(kernel.start_ns, *execution.start_ns);
        kernel.end_ns = std::max(kernel.end_ns, *execution.end_ns);
        kernel.signature += signature;
        return known->second;
      }
    }
    Kernel kernel;
    kernel.start_ns = *execution.start_ns;
    kernel.end_ns = *execution.end_ns;
    kernel.call_ns = call_of(execution);
    kernel.communicator = operation.communicator;
    kernel.signature = signature;
    found_.push_back(
        {ranks_.of(operation.communicator, part.member), kernel, execution.start_is_latest});
    return kernel_count() - 1;
  }

  std::uint32_t kernel_count() const { return static_cast<std::uint32_t>(found_.size()); }

  void add_collective(std::uint32_t index, const MatchedOperation& operation,
                      std::span<const Part> parts, std::span<const model::Execution> executions) {
    const Needs needs = needs_of(traces_.names.text(operation.func));
    const auto group = first_of_group_.find(index);
    std::vector<Taken> taken;
    std::optional<std::size_t> root;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const model::Execution& execution = executions[i];
      if (!facts::ran_to_its_end(execution)) {
        continue;
      }
      const match::Communicator& communicator = matches_.communicators[operation.communicator];
      const auto rank = communicator.members[parts[i].member].rank;
      if (rank && execution.root && *rank == *execution.root) {
        root = taken.size();
      }
      std::optional<GroupKey> key;
      if (group != first_of_group_.end()) {
        key = {ranks_.of(operation.communicator, parts[i].member), operation.communicator,
               kFirstGroupKey + group->second};
      }
      const std::uint32_t alike =
          signature(operation.func, execution.bytes ? *execution.bytes : 0, communicator.nranks);
      taken.push_back({kernel_of(key, operation, parts[i], execution, alike), *execution.end_ns});
    }
    if (needs != Needs::kAll && root) {
      std::swap(taken[0], taken[*root]);
    }
    add_transfer(needs != Needs::kAll && !root ? Needs::kAll : needs, taken);
  }

  // A message each: of a group that is a pattern, the sends find their receives by their ranks.
  void add_messages(const MatchedOperation& operation, std::span<const Part> parts,
                    std::span<const model::Execution> executions) {
    const match::Communicator& communicator = matches_.communicators[operation.communicator];
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Taken>> messages;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const model::Execution& execution = executions[i];
      const auto rank = communicator.members[parts[i].member].rank;
      if (!facts::ran_to_its_end(execution) || !rank || !execution.peer) {
        continue;
      }
      const model::Operation one = match::operation_of(traces_, parts[i]);
      const bool is_send = traces_.names.text(one.func) == "Send";
      const std::uint32_t peer = *execution.peer;
      std::optional<GroupKey> key;
      if (one.group) {
        key = {ranks_.of(operation.communicator, parts[i].member), operation.communicator,
               *one.group};
      }
      const std::uint32_t alike = signature(one.func, execution.bytes ? *execution.bytes : 0, 2);
      const std::uint32_t kernel = kernel_of(key, operation, parts[i], execution, alike);
      if (peer != *rank) {
        messages[is_send ? std::pair(*rank, peer) : std::pair(peer, *rank)].push_back(
            {kernel, *execution.end_ns});
      }
    }
    for (const auto& [ends, taken] : messages) {
      add_transfer(Needs::kAll, taken);
    }
  }

  void add_transfer(Needs needs, const std::vector<Taken>& taken) {
    if (taken.empty()) {
      return;
    }
    Transfer transfer{static_cast<std::uint32_t>(job_.members.size()),
                      static_cast<std::uint32_t>(taken.size()), needs, 0};
    job_.transfers.push_back(transfer);
    for (const Taken& one : taken) {
      job_.members.push_back(one.kernel);
      ends_ns_.push_back(one.end_ns);
    }
  }

  void put_in_order() {
    std::vector<std::uint32_t> order(found_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Found& one = found_[a];
      const Found& other = found_[b];
      return std::tie(one.rank, one.kernel.start_ns, one.kernel.end_ns, a) <
             std::tie(other.rank, other.kernel.start_ns, other.kernel.end_ns, b);
    });
    std::vector<std::uint32_t> place_of(order.size());
    std::map<std::uint32_t, std::uint32_t> last_on;  // by communicator
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const Found& one = found_[order[i]];
      place_of[order[i]] = i;
      if (i == 0 || found_[order[i - 1]].rank != one.rank) {
        last_on.clear();
        const metrics::GlobalRank& who = ranks_.all()[one.rank];
        job_.ranks.push_back({who.label, traces_.files[who.file].process.host, i, 0});
      }
      ++job_.ranks.back().kernel_count;
      Kernel kernel = one.kernel;
      const auto [last, is_first] = last_on.try_emplace(kernel.communicator, i);
      kernel.stream_before = is_first ? kNone : std::exchange(last->second, i);
      if (one.is_open) {
        const std::int64_t free_ns =
            is_first ? kernel.call_ns : job_.kernels[kernel.stream_before].end_ns;
        kernel.start_ns = std::min(kernel.start_ns, std::max(kernel.call_ns, free_ns));
      }
      job_.kernels.push_back(kernel);
    }
    link(place_of);
  }

  void link(const std::vector<std::uint32_t>& place_of) {
    for (std::uint32_t& member : job_.members) {
      member = place_of[member];
      ++job_.kernels[member].first_link;
    }
    std::uint32_t end = 0;
    for (Kernel& kernel : job_.kernels) {
      end += kernel.first_link;
      kernel.first_link = end;  // moves to the first one while they are filled in
    }
    job_.links.resize(job_.members.size());
    for (std::uint32_t i = 0; i < job_.transfers.size(); ++i) {
      Transfer& transfer = job_.transfers[i];
      std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
      for (std::uint32_t m = transfer.first_member;
           m < transfer.first_member + transfer.member_count; ++m) {
        Kernel& kernel = job_.kernels[job_.members[m]];
        least_ns = std::min(least_ns, ends_ns_[m] - kernel.start_ns);
        job_.links[--kernel.first_link] = i;
      }
      transfer.time_ns = std::max<std::int64_t>(least_ns, 0);
    }
  }

  // No number of a group in a trace is as large.
  static constexpr std::uint64_t kFirstGroupKey = std::uint64_t{1} << 63U;

  const model::Traces& traces_;
  const match::Matches& matches_;
  const metrics::GlobalRanks& ranks_;
  const std::uint32_t run_;
  std::map<std::uint32_t, std::uint32_t> first_of_group_;  // of collectives in one kernel
  std::map<GroupKey, std::uint32_t> by_key_;
  std::vector<Found> found_;
  std::vector<std::int64_t> ends_ns_;  // as Job::members
  Job job_;
};

}  // namespace

std::int64_t Job::waited_ns(std::uint32_t kernel) const {
  std::int64_t longest_ns = 0;
  for (const std::uint32_t transfer : transfers_of(kernel)) {
    longest_ns = std::max(longest_ns, transfers[transfer].time_ns);
  }
  return std::max<std::int64_t>(kernels[kernel].wall_ns() - longest_ns, 0);
}

std::int64_t Job::wall_ns() const {
  std::int64_t longest_ns = 0;
  for (const JobRank& rank : ranks) {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (const Kernel& kernel : kernels_of(rank)) {
      last_ns = std::max(last_ns, kernel.end_ns);
    }
    longest_ns = std::max(longest_ns, last_ns - kernels[rank.first_kernel].start_ns);
  }
  return longest_ns;
}

Job make_job(const model::Traces& traces, const match::Matches& matches,
             const metrics::GlobalRanks& ranks, std::uint32_t run) {
  return Builder(traces, matches, ranks, run).make();
}

}  // namespace ringside::replay
