// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/job_parts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "analyzer/facts/flow.h"
#include "analyzer/facts/groups.h"
#include "analyzer/metrics/iterations/named_turns.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"
#include "analyzer/replay/exchanges.h"

namespace ringside::replay {
namespace {

using match::MatchedOperation;
using match::Part;
using match::Way;

// Those of the calls of one kernel are added up, in whatever order they were matched.
std::uint32_t signature_of(std::uint64_t function, std::uint64_t bytes, std::uint64_t ranks) {
  std::uint64_t hash = 0;
  for (const std::uint64_t part : {function, bytes, ranks}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 32U;
  }
  return static_cast<std::uint32_t>(hash);
}

// No number of a group in a trace is as large.
constexpr std::uint64_t kFirstGroupKey = std::uint64_t{1} << 63U;

// Seen to run from start to end, at times whose differences are numbers.
bool can_be_replayed(const model::Execution& execution) {
  constexpr std::int64_t kMost_ns = std::int64_t{1} << 62U;  // the year 2116
  const auto is_near = [](std::int64_t time_ns) {
    return -kMost_ns / 2 < time_ns && time_ns < kMost_ns;
  };
  return facts::ran_to_its_end(execution) && *execution.start_ns <= *execution.end_ns &&
         is_near(*execution.start_ns) && is_near(*execution.end_ns) &&
         is_near(execution.enqueue_start_ns.value_or(0));
}

bool is_any_open(std::span<const model::Execution> executions) {
  return std::any_of(executions.begin(), executions.end(),
                     [](const model::Execution& one) { return one.start_is_latest; });
}

// Puts them in one order, whichever thread or process has found them. To be called before kernels
// are joined, since which of their calls came first differs.
void sort_transfers(JobParts& parts) {
  const auto key_of = [&](const Transfer& one) {
    const SeenKernel& first = parts.kernels[parts.members[one.first_member]];
    const SeenKernel& last = parts.kernels[parts.members[one.first_member + one.member_count - 1]];
    return std::tuple(first.operation, first.rank, last.rank);
  };
  std::stable_sort(parts.transfers.begin(), parts.transfers.end(),
                   [&](const Transfer& a, const Transfer& b) { return key_of(a) < key_of(b); });
}

// Joins calls that one kernel was made of into the first of them, and returns that by call.
std::vector<std::uint32_t> join_calls(JobParts& parts, const match::Matches& matches) {
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>> grouped;
  for (std::uint32_t i = 0; i < parts.kernels.size(); ++i) {
    const SeenKernel& one = parts.kernels[i];
    if (one.group != 0) {
      grouped.emplace_back(one.group, one.rank, matches.operations[one.operation].communicator, i);
    }
  }
  std::sort(grouped.begin(), grouped.end());
  std::vector<std::uint32_t> first_of(parts.kernels.size());
  std::iota(first_of.begin(), first_of.end(), 0);
  for (std::size_t k = 1; k < grouped.size(); ++k) {
    const auto& [group, rank, communicator, i] = grouped[k];
    const auto& before = grouped[k - 1];
    if (std::tie(group, rank, communicator) ==
        std::tie(std::get<0>(before), std::get<1>(before), std::get<2>(before))) {
      first_of[i] = first_of[std::get<3>(before)];
      const SeenKernel& other = parts.kernels[i];
      SeenKernel& first = parts.kernels[first_of[i]];
      // One whose arrival was seen shows that of all.
      first.start_ns = first.is_open == other.is_open ? std::min(first.start_ns, other.start_ns)
                       : first.is_open                ? other.start_ns
                                                      : first.start_ns;
      first.end_ns = std::max(first.end_ns, other.end_ns);
      first.call_ns = std::min(first.call_ns, other.call_ns);
      first.signature += other.signature;
      first.operation = std::min(first.operation, other.operation);
      first.is_open = first.is_open && other.is_open;
    }
  }
  return first_of;
}

class Builder {
 public:
  Builder(JobParts& parts, const model::Traces& traces, const match::Matches& matches)
      : parts_(parts),
        traces_(traces),
        matches_(matches),
        who_(traces, matches),
        first_of_(join_calls(parts, matches)),
        place_of_(parts.kernels.size()) {}

  std::vector<Job> make() {
    std::vector<std::vector<std::uint32_t>> seen(who_.all().size());  // kernels of each rank
    for (std::uint32_t i = 0; i < parts_.kernels.size(); ++i) {
      if (first_of_[i] == i) {
        seen[parts_.kernels[i].rank].push_back(i);
      }
    }
    std::vector<std::uint32_t> order(seen.size());
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](std::uint32_t rank) { return seen[rank].empty(); });
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return run_of(a) < run_of(b); });
    std::vector<std::pair<std::size_t, std::uint32_t>> ranks;  // by job
    for (const std::uint32_t rank : order) {
      if (jobs_.empty() || jobs_.back().run != run_of(rank)) {
        jobs_.emplace_back().run = run_of(rank);
      }
      Job& job = jobs_.back();
      const metrics::GlobalRank& who = who_.all()[rank];
      const model::Process& process = traces_.files[who.file].process;
      ranks.emplace_back(jobs_.size() - 1, static_cast<std::uint32_t>(job.ranks.size()));
      job.ranks.push_back({who.label, process.host, process.pid, who.file, job.kernel_count(),
                           static_cast<std::uint32_t>(seen[rank].size())});
    }
    for (Job& job : jobs_) {
      job.kernels.resize(job.kernel_count());
    }
    for_each_on_cores(ranks.size(), [&](std::size_t, std::size_t i) {
      add_kernels(seen[order[i]], ranks[i].second, jobs_[ranks[i].first]);
    });
    add_transfers();
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      link(jobs_[i]);
      jobs_[i].wall_ns = find_wall_ns(jobs_[i]);
    }
    return std::move(jobs_);
  }

 private:
  std::uint32_t run_of(std::uint32_t rank) const {
    return matches_.runs.of_file[who_.all()[rank].file];
  }

  // Makes the kernels of one rank, in the order of their calls.
  void add_kernels(const std::vector<std::uint32_t>& order, std::uint32_t rank, Job& job) {
    JobRank& own = job.ranks[rank];
    std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::uint32_t>> keys;
    keys.reserve(order.size());
    for (const std::uint32_t i : order) {
      const SeenKernel& one = parts_.kernels[i];
      keys.emplace_back(one.call_ns, one.start_ns, one.operation, i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::int64_t> calls_ns;
    calls_ns.reserve(keys.size());
    std::map<std::uint32_t, std::uint32_t> last_on;  // by communicator
    std::uint32_t place = own.first_kernel;
    for (const auto& [call_ns, start_ns, operation, i] : keys) {
      const SeenKernel& one = parts_.kernels[i];
      place_of_[i] = place;
      calls_ns.push_back(call_ns);
      const auto [last, is_first] =
          last_on.try_emplace(matches_.operations[operation].communicator, place);
      Kernel& kernel = job.kernels[place];
      kernel = {start_ns, one.end_ns, call_ns, 0, kNone, one.signature, one.operation, rank};
      std::int64_t free_ns = call_ns;
      if (!is_first) {  // the network shows an end once the peers have it, too
        kernel.stream_before = std::exchange(last->second, place);
        Kernel& before = job.kernels[kernel.stream_before];
        before.end_ns = std::clamp(start_ns, before.start_ns, before.end_ns);
        free_ns = before.end_ns;
      }
      if (one.is_open) {
        kernel.start_ns = std::min(start_ns, std::max(call_ns, free_ns));
        own.hidden_ns = add_saturating(own.hidden_ns, start_ns - kernel.start_ns);
      }
      ++place;
    }
    own.step_length = metrics::calls_of_step(traces_, traces_.files[own.file], std::move(calls_ns));
  }

  void add_transfers() {
    for (const Transfer& seen : parts_.transfers) {
      const auto members = std::span(parts_.members).subspan(seen.first_member, seen.member_count);
      const std::uint32_t run = run_of(parts_.kernels[members.front()].rank);
      const auto found =
          std::lower_bound(jobs_.begin(), jobs_.end(), run,
                           [](const Job& job, std::uint32_t wanted) { return job.run < wanted; });
      Transfer transfer = seen;
      transfer.first_member = static_cast<std::uint32_t>(found->members.size());
      found->transfers.push_back(transfer);
      for (const std::uint32_t member : members) {
        found->members.push_back(place_of_[first_of_[member]]);
      }
    }
  }

  // Finds the transfers of each kernel, and how long the data of each took.
  static void link(Job& job) {
    job.first_link.resize(job.kernels.size() + 1);
    for (const std::uint32_t member : job.members) {
      ++job.first_link[member];
    }
    // They move to the first one while the links are filled in.
    std::partial_sum(job.first_link.begin(), job.first_link.end(), job.first_link.begin());
    job.links.resize(job.members.size());
    for (std::uint32_t i = 0; i < job.transfers.size(); ++i) {
      Transfer& transfer = job.transfers[i];
      std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
      for (std::uint32_t m = transfer.first_member;
           m < transfer.first_member + transfer.member_count; ++m) {
        least_ns = std::min(least_ns, job.kernels[job.members[m]].wall_ns());
        job.links[--job.first_link[job.members[m]]] = i;
      }
      transfer.time_ns = std::max<std::int64_t>(least_ns, 0);
    }
    compare_exchanges(job);
    for (std::uint32_t i = 0; i < job.kernels.size(); ++i) {
      std::int64_t longest_ns = 0;
      for (const std::uint32_t transfer : job.transfers_of(i)) {
        longest_ns = std::max(longest_ns, job.transfers[transfer].time_ns);
      }
      job.kernels[i].waited_ns = std::max<std::int64_t>(job.kernels[i].wall_ns() - longest_ns, 0);
    }
  }

  static std::int64_t find_wall_ns(const Job& job) {
    std::int64_t longest_ns = 0;
    for (const JobRank& rank : job.ranks) {
      std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
      for (const Kernel& kernel : job.kernels_of(rank)) {
        last_ns = std::max(last_ns, kernel.end_ns);
      }
      const std::int64_t began_ns =
          job.kernels[rank.first_kernel].start_ns + job.kernels[rank.first_kernel].waited_ns;
      longest_ns = std::max(longest_ns, last_ns - began_ns);
    }
    return longest_ns;
  }

  JobParts& parts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const metrics::GlobalRanks who_;
  const std::vector<std::uint32_t> first_of_;
  std::vector<std::uint32_t> place_of_;  // of the kernels seen, in their job
  std::vector<Job> jobs_;
};

}  // namespace

void JobParts::take(const JobParts& more) {
  const auto first_kernel = static_cast<std::uint32_t>(kernels.size());
  kernels.insert(kernels.end(), more.kernels.begin(), more.kernels.end());
  const auto first_member = static_cast<std::uint32_t>(members.size());
  members.reserve(members.size() + more.members.size());
  std::transform(more.members.begin(), more.members.end(), std::back_inserter(members),
                 [&](std::uint32_t member) { return first_kernel + member; });
  for (Transfer one : more.transfers) {
    one.first_member += first_member;
    transfers.push_back(one);
  }
  for (std::size_t run = 0; run < coverage.size(); ++run) {
    coverage[run].add(more.coverage[run]);
  }
}

PartsFinder::PartsFinder(const facts::Facts& facts)
    : facts_(facts),
      who_(facts.traces(), facts.matches()),
      edges_(facts.traces(), facts.matches()),
      of_thread_(core_count()) {
  for (OfThread& own : of_thread_) {
    own.parts.coverage.resize(facts.matches().runs.runs.size());
    own.parts.kernels.reserve(facts.matches().parts.size() /
                              (&own == &of_thread_.front() ? 1 : of_thread_.size()));
  }
  for (const auto& group : facts::find_groups(facts.traces(), facts.matches())) {
    for (const std::uint32_t operation : group) {
      first_of_group_[operation] = group.front();
    }
  }
}

std::uint32_t PartsFinder::add_kernel(OfThread& own, std::uint32_t index, const Part& part,
                                      const model::Execution& execution, std::uint32_t signature,
                                      bool is_open) {
  const MatchedOperation& operation = facts_.matches().operations[index];
  SeenKernel kernel;
  kernel.rank = who_.of(operation.communicator, part.member);
  kernel.signature = signature;
  kernel.operation = index;
  kernel.is_open = is_open;
  kernel.start_ns = *execution.start_ns;
  kernel.end_ns = *execution.end_ns;
  // A call launches its kernel as it ends.
  const auto& called_ns =
      is_open && execution.enqueue_end_ns ? execution.enqueue_end_ns : execution.enqueue_start_ns;
  kernel.call_ns = std::min(called_ns.value_or(kernel.start_ns), kernel.end_ns);
  own.parts.kernels.push_back(kernel);
  return static_cast<std::uint32_t>(own.parts.kernels.size() - 1);
}

void PartsFinder::add_transfer(OfThread& own, facts::Flow flow,
                               std::span<const std::uint32_t> members, std::uint64_t bytes) {
  if (members.empty()) {
    return;
  }
  own.parts.transfers.push_back({static_cast<std::uint32_t>(own.parts.members.size()),
                                 static_cast<std::uint32_t>(members.size()), flow, 0, bytes});
  own.parts.members.insert(own.parts.members.end(), members.begin(), members.end());
}

void PartsFinder::add_collective(OfThread& own, std::uint32_t index, std::span<const Part> parts,
                                 std::span<const model::Execution> executions) {
  const MatchedOperation& operation = facts_.matches().operations[index];
  const match::Communicator& communicator = facts_.matches().communicators[operation.communicator];
  const facts::Flow flow = facts::flow_of_function(facts_.traces().names.text(operation.func));
  const auto group = first_of_group_.find(index);
  const bool is_open = is_any_open(executions);
  std::optional<std::size_t> root;
  own.members.clear();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const model::Execution& execution = executions[i];
    if (!can_be_replayed(execution)) {
      continue;
    }
    const auto rank = communicator.members[parts[i].member].rank;
    if (rank && execution.root && *rank == *execution.root) {
      root = own.members.size();
    }
    const std::uint32_t kernel = add_kernel(
        own, index, parts[i], execution,
        signature_of(operation.func, execution.bytes.value_or(0), communicator.nranks), is_open);
    if (group != first_of_group_.end()) {
      own.parts.kernels[kernel].group = kFirstGroupKey + group->second;
    }
    own.members.push_back(kernel);
  }
  const bool is_rooted = root && (flow == facts::Flow::kFromRoot || flow == facts::Flow::kToRoot);
  if (is_rooted) {
    std::swap(own.members[0], own.members[*root]);
  }
  add_transfer(own, is_rooted ? flow : facts::Flow::kAll, own.members,
               executions.empty() ? 0 : executions.front().bytes.value_or(0));
}

// A message each: of a group that is a pattern, the sends find their receives by their ranks.
void PartsFinder::add_messages(OfThread& own, std::uint32_t index, std::span<const Part> parts,
                               std::span<const model::Execution> executions) {
  const MatchedOperation& operation = facts_.matches().operations[index];
  const match::Communicator& communicator = facts_.matches().communicators[operation.communicator];
  struct Message {
    std::pair<std::uint32_t, std::uint32_t> ranks;
    std::uint32_t kernel = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Message> messages;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const model::Execution& execution = executions[i];
    const auto rank = communicator.members[parts[i].member].rank;
    if (!can_be_replayed(execution) || !rank || !execution.peer) {
      continue;
    }
    const model::Operation one = match::operation_of(facts_.traces(), parts[i]);
    const bool is_send = facts_.traces().names.text(one.func) == "Send";
    const std::uint32_t peer = *execution.peer;
    const std::uint64_t bytes = execution.bytes.value_or(0);
    const std::uint32_t kernel = add_kernel(
        own, index, parts[i], execution, signature_of(one.func, 0, 2), execution.start_is_latest);
    own.parts.kernels[kernel].group = one.group.value_or(0);
    if (peer != *rank) {
      messages.push_back(
          {is_send ? std::pair(*rank, peer) : std::pair(peer, *rank), kernel, bytes});
    }
  }
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return a.ranks < b.ranks; });
  own.members.clear();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    own.members.push_back(messages[i].kernel);
    if (i + 1 == messages.size() || messages[i + 1].ranks != messages[i].ranks) {
      add_transfer(own, facts::Flow::kAll, own.members, messages[i].bytes);
      own.members.clear();
    }
  }
}

// By the network's times a collective that needs all ranks ends for all ranks of a host with the
// last of them: what its GPUs send each other is not seen. So does one of which only the call is
// known, which may have come at any time since then; in a message it ends as its peer or another
// one of its calls does.
void PartsFinder::complete(OfThread& own, const MatchedOperation& operation,
                           std::span<const Part> parts,
                           std::span<const model::Execution> executions) const {
  const align::Alignment& alignment = facts_.alignment();
  const auto& members = facts_.matches().communicators[operation.communicator].members;
  const bool is_message = operation.way == Way::kPair || operation.way == Way::kGroup;
  const std::string_view function = facts_.traces().names.text(operation.func);
  const bool needs_all = !is_message && facts::flow_of_function(function) == facts::Flow::kAll;
  own.completed.assign(executions.begin(), executions.end());
  const auto end = [&](std::size_t i, std::int64_t host_ns) {
    model::Execution& one = own.completed[i];
    const std::int64_t end_ns = host_ns - alignment.to_host_ns(parts[i].file, 0);
    if (can_be_replayed(one)) {
      if (needs_all && one.times_from == model::TimesFrom::kProxy) {
        one.end_ns = model::OptionalNumber(std::max(*one.end_ns, end_ns));
      }
    } else if (!one.in_flight && one.enqueue_start_ns) {
      const auto& called_ns = one.enqueue_end_ns ? one.enqueue_end_ns : one.enqueue_start_ns;
      one.end_ns = model::OptionalNumber(std::max(end_ns, *called_ns));
      one.start_ns = one.end_ns;
      one.times_from = model::TimesFrom::kProxy;
      one.state = model::State::kCompleted;
      one.start_is_latest = true;
    }
  };
  std::map<std::uint32_t, std::int64_t> last_ns;  // by host, on its clock
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const model::Execution& other = executions[k];
    if (!can_be_replayed(other) || other.times_from != model::TimesFrom::kProxy) {
      continue;
    }
    const std::int64_t end_ns = alignment.to_host_ns(parts[k].file, *other.end_ns);
    const std::uint32_t host = alignment.host_of(parts[k].file);
    last_ns[host] = std::max(last_ns.try_emplace(host, end_ns).first->second, end_ns);
    for (std::size_t i = 0; i < parts.size() && is_message; ++i) {
      if (host == alignment.host_of(parts[i].file) &&
          (operation.way == Way::kPair || parts[k].file == parts[i].file ||
           (executions[i].peer == members[parts[k].member].rank &&
            other.peer == members[parts[i].member].rank))) {
        end(i, end_ns);
      }
    }
  }
  for (std::size_t i = 0; i < parts.size() && !is_message; ++i) {
    const auto last = last_ns.find(alignment.host_of(parts[i].file));
    if (last != last_ns.end()) {
      end(i, last->second);
    }
  }
}

void PartsFinder::add(std::size_t thread, std::uint32_t index, std::span<const Part> parts,
                      std::span<const model::Execution> executions) {
  OfThread& own = of_thread_[thread];
  const MatchedOperation& operation = facts_.matches().operations[index];
  if (edges_.hold(parts, executions)) {
    ++own.parts.coverage[facts_.matches().communicators[operation.communicator].run].at_edges;
    return;
  }
  const std::size_t expected = match::ranks_expected(facts_.matches(), operation);
  const auto count_seen = [](std::span<const model::Execution> some) {
    return static_cast<std::size_t>(std::count_if(some.begin(), some.end(), can_be_replayed));
  };
  std::size_t seen = count_seen(executions);
  if (std::any_of(executions.begin(), executions.end(), [](const model::Execution& one) {
        return one.times_from == model::TimesFrom::kProxy;
      })) {
    complete(own, operation, parts, executions);
    executions = own.completed;
    seen = count_seen(executions);
  }
  // Nobody knows which ranks take part if only one is seen and none says how many there are.
  const bool is_known = expected > 1;
  if (is_known || facts_.matches().communicators[operation.communicator].nranks_inferred) {
    Coverage& coverage =
        own.parts.coverage[facts_.matches().communicators[operation.communicator].run];
    ++coverage.operations;
    coverage.seen += is_known && seen >= expected ? 1 : 0;
    coverage.seen_on_some += 0 < seen && !(is_known && seen >= expected) ? 1 : 0;
  }
  if (operation.way == Way::kPair || operation.way == Way::kGroup) {
    add_messages(own, index, parts, executions);
  } else {
    add_collective(own, index, parts, executions);
  }
}

JobParts PartsFinder::take() {
  JobParts all = std::move(of_thread_.front().parts);
  for (std::size_t i = 1; i < of_thread_.size(); ++i) {
    all.take(std::exchange(of_thread_[i], {}).parts);
  }
  for (std::size_t run = 0; run < all.coverage.size(); ++run) {
    all.coverage[run].operations += facts_.matches().runs.runs[run].unmatched;
  }
  return all;
}

JobParts find_parts(const facts::Facts& facts) {
  PartsFinder finder(facts);
  constexpr std::size_t kPortion = 4096;
  const std::size_t count = facts.matches().operations.size();
  for_each_on_cores((count + kPortion - 1) / kPortion, [&](std::size_t thread, std::size_t i) {
    const std::vector<std::uint32_t> some = match::portion_of(i * kPortion, kPortion, count);
    match::Executions memory;
    match::read_parts(facts.traces(), facts.matches(), some, memory,
                      [&](std::size_t one, std::span<const Part> parts,
                          std::span<const model::Execution> executions) {
                        finder.add(thread, some[one], parts, executions);
                      });
  });
  return finder.take();
}

std::vector<Job> make_jobs(JobParts&& parts, const model::Traces& traces,
                           const match::Matches& matches) {
  JobParts own = std::move(parts);  // and gone before what is made of the jobs takes memory
  sort_transfers(own);
  return Builder(own, traces, matches).make();
}

}  // namespace ringside::replay
