// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/communicators/communicators.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/match/communicators/recorded_from_start.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint32_t kNoContext = 0;  // the context of operations without one

// One context, with the values by which contexts are grouped.
struct Candidate {
  Member member;
  const model::Context* context = nullptr;
  std::string_view group;       // the name of its process group, if that is known
  std::uint32_t order = 0;      // index among the contexts of its file
  std::int64_t created_ns = 0;  // since the epoch, because bases of files differ
  std::uint32_t run = 0;
  std::int64_t end_ns = 0;  // end of its process
};

// The contexts whose last call never finished: their communicator was given up, and NCCL refuses
// what is called after that without telling a profiler.
std::set<std::uint32_t> given_up_contexts(const model::TraceFile& file) {
  std::set<std::uint32_t> given_up;
  const model::Operations& operations = file.operations;
  if (!operations.may_have_in_flight()) {
    return given_up;
  }
  std::map<std::uint32_t, std::pair<std::int64_t, std::uint64_t>> latest;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::uint32_t context = operations.context(i);
    const std::pair order(operations.call_ns(i), operations.id(i));
    const auto [known, is_new] = latest.try_emplace(context, order);
    if (!is_new && order < known->second) {
      continue;
    }
    known->second = order;
    if (operations.terms(i).in_flight) {
      given_up.insert(context);
    } else {
      given_up.erase(context);
    }
  }
  return given_up;
}

// By context, the first number behind which no collective is missing: calls that are made together
// have one number, and the first ones may be overwritten.
std::map<std::uint32_t, std::uint64_t> first_whole_numbers(const model::TraceFile& file) {
  struct Numbers {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool do_follow = true;  // none is left out or goes back
  };
  std::map<std::uint32_t, std::uint64_t> first_whole;
  if (!file.process.has_common_numbers || file.windows.contains(1)) {
    return first_whole;
  }
  std::map<std::uint32_t, Numbers> of_context;
  for (const model::Operation& operation : file.operations) {
    if (operation.kind == model::Kind::kCollective && operation.seq) {
      const std::uint64_t number = *operation.seq;
      const std::uint64_t whole = number + (operation.group.value_or(0) == 0 ? 0 : 1);
      Numbers& numbers =
          of_context.try_emplace(operation.context, Numbers{whole, number}).first->second;
      numbers.do_follow =
          numbers.do_follow && (number == numbers.last || number == numbers.last + 1);
      numbers.last = number;
    }
  }
  for (const auto& [context, numbers] : of_context) {
    if (numbers.do_follow) {
      first_whole[context] = numbers.first;
    }
  }
  return first_whole;
}

// `first_whole`: of the context, in first_whole_numbers().
void set_completeness(const model::TraceFile& file, const model::Context& context, bool is_given_up,
                      std::optional<std::uint64_t> first_whole, Member& member) {
  const model::Account& account = file.account;
  const bool has_all_segments =
      account.rotated == 0 && file.process.segment == 1 && file.segments_missing == 0;
  // Sampling by number or size omits the same operations on all ranks, so it loses nothing. At the
  // edges of sampled windows of time, ranks differ.
  const model::Sampling& sampling = file.process.sampling;
  const bool is_sampled = account.sampled_out > 0 || !(sampling == model::Sampling{});
  const bool is_sampled_alike = !(sampling == model::Sampling{}) && sampling.period_ns == 0;
  member.is_lossless = has_all_segments && file.bad_lines == 0 && account.dropped.empty() &&
                       (!is_sampled || is_sampled_alike) &&
                       file.operations_written.value_or(0) <= file.operations.size();
  // Lines are in the order in which operations finished. In a file that was not closed, an
  // operation called before the last one may be absent.
  const bool has_all_so_far = file.closed && !file.torn && account.in_rings == 0 &&
                              !file.next_segment &&
                              file.operations_written == file.operations.size();
  member.is_from_start = is_recorded_from_start(file, member.context);
  if (!file.windows.empty() && context.created_ns) {
    const model::Window& last = file.windows.rbegin()->second;
    member.is_to_end =
        has_all_so_far && !file.process.dump && !file.recovered && !is_given_up &&
        (!last.end_ns || (context.finalized_ns && *context.finalized_ns <= *last.end_ns));
  }
  member.is_complete_so_far = member.is_lossless && !is_sampled && member.is_from_start &&
                              has_all_so_far && file.windows.size() == 1;
  member.is_complete = member.is_complete_so_far && member.is_to_end;
  if (file.bad_lines == 0 && has_all_so_far && account.dropped.empty()) {
    member.recorded_from = first_whole;
  }
}

// By context, the name of the process group that its calls are of, as annotate(), a dump or a
// profile has it. A group whose name is a number is left out: NCCL's name says as much.
std::map<std::uint32_t, std::string_view> group_names(const model::NameTable& names,
                                                      const model::TraceFile& file) {
  std::map<std::uint32_t, std::string_view> named;
  for (const auto& [context, id] : file.operations.process_groups()) {
    const std::string_view name = names.text(id);
    if (name.find_first_not_of("0123456789") != name.npos && name != "undefined") {
      named[context] = name;
    }
  }
  return named;
}

std::vector<Candidate> find_candidates(const model::Traces& traces, const Runs& runs) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::TraceFile& file = traces.files[i];
    std::uint32_t order = 0;
    const std::set<std::uint32_t> given_up = given_up_contexts(file);
    const std::map<std::uint32_t, std::uint64_t> first_whole = first_whole_numbers(file);
    std::map<std::uint32_t, std::string_view> groups = group_names(traces.names, file);
    for (const auto& [number, context] : file.contexts) {
      Member member;
      member.file = static_cast<std::uint32_t>(i);
      member.context = number;
      member.rank = context.rank;
      const auto first = first_whole.find(number);
      set_completeness(file, context, given_up.contains(number),
                       first == first_whole.end() ? std::nullopt : std::optional(first->second),
                       member);
      const std::int64_t created_ns =
          since_epoch(file.process, context.created_ns.value_or(file.process.start_ns));
      candidates.push_back({member, &context, groups[number], number == kNoContext ? 0 : ++order,
                            created_ns, runs.of_file[i], end_of(file)});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return std::tie(a.created_ns, a.member.file, a.member.context) <
                            std::tie(b.created_ns, b.member.file, b.member.context);
                   });
  return candidates;
}

using Candidates = std::vector<Candidate>;

// NCCL runs nothing for one rank, so one that is seen alone has others.
std::string why_alone_of(const Candidates& group, Identity identity, bool is_inferred) {
  const Candidate& first = group.front();
  return !first.context->why_alone.empty()    ? first.context->why_alone
         : first.member.context == kNoContext ? "NCCL gave no context with these operations"
         : identity == Identity::kAlone       ? "the order of creation contradicts itself"
         : is_inferred && group.size() == 1   ? "no record says how many ranks there are"
                                              : "";
}

Communicator make_communicator(const Candidates& group, Identity identity) {
  Communicator communicator;
  communicator.identity = identity;
  communicator.order = group.front().order;
  std::uint32_t ranks_seen = 0;
  std::uint32_t reported = 0;
  std::string_view group_name;
  for (const Candidate& candidate : group) {
    if (candidate.context->comm) {
      communicator.hash = *candidate.context->comm;
    }
    if (communicator.name.empty()) {
      communicator.name = candidate.context->name;
    }
    if (group_name.empty()) {
      group_name = candidate.group;
    }
    reported = std::max(reported, candidate.context->nranks.value_or(0));
    if (candidate.member.rank) {
      ranks_seen = std::max(ranks_seen, *candidate.member.rank + 1);
    }
    communicator.run = std::max(communicator.run, candidate.run);
    communicator.members.push_back(candidate.member);
  }
  if (!group_name.empty()) {
    communicator.name = group_name;
  }
  ranks_seen = std::max(ranks_seen, static_cast<std::uint32_t>(group.size()));
  communicator.nranks_inferred = reported == 0;
  communicator.nranks = std::max(reported, ranks_seen);
  communicator.why_alone = why_alone_of(group, identity, communicator.nranks_inferred);
  std::stable_sort(communicator.members.begin(), communicator.members.end(),
                   [](const Member& a, const Member& b) { return a.rank < b.rank; });
  return communicator;
}

bool has_operations(const Candidates& group) {
  return std::any_of(group.begin(), group.end(),
                     [](const Candidate& c) { return c.context->operations > 0; });
}

// True if a communicator spans two runs, because only some processes of the job were restarted.
bool is_one_in_spite_of_runs(const Candidates& group) {
  std::set<std::optional<std::uint32_t>> ranks;
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& candidate : group) {
    if (!ranks.insert(candidate.member.rank).second) {
      return false;
    }
    first_end_ns = std::min(first_end_ns, candidate.end_ns);
  }
  return group.back().created_ns <= first_end_ns;
}

// Groups members of one hash. A rank that occurs again belongs to the next run of the job.
void add_by_hash(const Candidates& group, std::vector<std::pair<Candidates, Communicator>>& found) {
  const bool is_one = is_one_in_spite_of_runs(group);
  std::map<std::pair<std::uint32_t, std::uint32_t>, Candidates>
      instances;  // by run and repetition of the rank
  std::map<std::pair<std::uint32_t, std::optional<std::uint32_t>>, std::uint32_t> seen;
  for (const Candidate& candidate : group) {
    const std::uint32_t run = is_one ? 0 : candidate.run;
    instances[{run, seen[{run, candidate.member.rank}]++}].push_back(candidate);
  }
  std::uint32_t instance = 0;
  for (const auto& [place, members] : instances) {
    Communicator communicator = make_communicator(members, Identity::kHash);
    communicator.instance = instance++;
    found.emplace_back(members, std::move(communicator));
  }
}

bool is_permutation_from_zero(std::vector<std::int64_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<std::int64_t>(i)) {
      return false;
    }
  }
  return true;
}

// True if the group has all contexts of a run, and they must be of one communicator. Each
// communicator has a rank 0, and here is one only. Another one's rank 0 can only be in a process
// without a trace: there is none if the ranks in the communicator, and those of the launcher, are
// all there from 0 on.
bool is_sole(const model::Traces& traces, const Candidates& group) {
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> launcher_ranks;
  for (const Candidate& candidate : group) {
    const model::TraceFile& file = traces.files[candidate.member.file];
    if (!candidate.member.rank || !file.process.launcher_rank || file.bad_lines > 0) {
      return false;
    }
    ranks.push_back(*candidate.member.rank);
    launcher_ranks.push_back(*file.process.launcher_rank);
  }
  return is_permutation_from_zero(std::move(ranks)) &&
         is_permutation_from_zero(std::move(launcher_ranks));
}

// Groups members that are at one place in the order of creation. If two have the same rank, they
// cannot be of one communicator, and it is not known which members belong together. `is_only`: no
// other place in the order has contexts of this run.
void add_by_order(const model::Traces& traces, const Candidates& group, bool is_only,
                  std::vector<std::pair<Candidates, Communicator>>& found) {
  std::set<std::uint32_t> ranks;
  const bool is_contradictory = std::any_of(group.begin(), group.end(), [&](const Candidate& c) {
    return c.member.rank && !ranks.insert(*c.member.rank).second;
  });
  const bool is_of_none = group.front().member.context == kNoContext;
  if (!is_contradictory && !is_of_none) {
    const bool is_certain = is_only && is_sole(traces, group);
    found.emplace_back(group,
                       make_communicator(group, is_certain ? Identity::kSole : Identity::kOrder));
    return;
  }
  for (const Candidate& candidate : group) {
    found.emplace_back(Candidates{candidate}, make_communicator({candidate}, Identity::kAlone));
  }
}

}  // namespace

std::int64_t since_epoch(const model::Process& process, std::int64_t time_ns) {
  constexpr std::int64_t kMaxSeconds = std::numeric_limits<std::int64_t>::max() / kNsPerSecond / 2;
  const std::int64_t base_s = std::clamp<std::int64_t>(process.base_time_s, 0, kMaxSeconds);
  const std::int64_t limit_ns = std::numeric_limits<std::int64_t>::max() / 2;
  return base_s * kNsPerSecond + std::clamp<std::int64_t>(time_ns, 0, limit_ns);
}

namespace {

// A hash, or the number of a communicator without one. A Flight Recorder dump tells the ranks in
// place of a hash, behind a long number of PyTorch's: "aaa4f203 [0, 1]".
std::string distinction_of(const Communicator& one, const std::vector<Communicator*>& same_name) {
  if (one.hash.empty()) {
    return '#' + std::to_string(one.order);
  }
  const auto ranks_of = [](const Communicator& other) {
    return other.hash.substr(std::min(other.hash.find('['), other.hash.size()));
  };
  const std::string ranks = ranks_of(one);
  const auto with_them =
      std::count_if(same_name.begin(), same_name.end(),
                    [&](const Communicator* other) { return ranks_of(*other) == ranks; });
  return ranks.empty() || with_them > 1 ? one.hash : ranks;
}

// A framework may give the groups of one kind one name. Pairs of a group that send and receive have
// communicators of their own, with its name: it is the only one of its size then.
void note_shared_names(std::vector<Communicator>& communicators) {
  std::map<std::tuple<std::string_view, std::uint32_t, std::uint32_t>, std::vector<Communicator*>>
      by_name;
  for (Communicator& one : communicators) {
    if (!one.name.empty() && (one.identity != Identity::kAlone || !one.hash.empty())) {
      by_name[{one.name, one.run, one.instance}].push_back(&one);
    }
  }
  for (const auto& [name, group] : by_name) {
    std::uint32_t largest = 0;
    std::size_t count = 0;
    for (const Communicator* const one : group) {
      count = one->nranks > largest ? 1 : count + (one->nranks == largest ? 1 : 0);
      largest = std::max(largest, one->nranks);
    }
    for (Communicator* const one : group) {
      const bool is_whole = one->nranks == largest && count == 1;
      one->distinction = is_whole ? "" : distinction_of(*one, group);
    }
  }
}

}  // namespace

std::vector<Communicator> find_communicators(const model::Traces& traces, const Runs& runs) {
  std::map<std::string, Candidates> by_hash;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Candidates> by_order;  // run and order
  std::vector<std::pair<Candidates, Communicator>> found;
  for (const Candidate& candidate : find_candidates(traces, runs)) {
    if (!candidate.context->why_alone.empty()) {
      found.emplace_back(Candidates{candidate}, make_communicator({candidate}, Identity::kAlone));
    } else if (candidate.context->comm) {
      by_hash[*candidate.context->comm].push_back(candidate);
    } else {
      by_order[{candidate.run, candidate.order}].push_back(candidate);
    }
  }
  std::map<std::uint32_t, std::size_t> places;  // in the order of creation, by run
  for (const auto& [place, group] : by_order) {
    ++places[place.first];
  }
  for (const auto& [hash, group] : by_hash) {
    add_by_hash(group, found);
  }
  for (const auto& [place, group] : by_order) {
    add_by_order(traces, group, places.at(place.first) == 1, found);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first.front().created_ns < b.first.front().created_ns;
  });
  std::vector<Communicator> communicators;
  for (auto& [group, communicator] : found) {
    if (has_operations(group)) {
      const model::Process& process = traces.files[group.front().member.file].process;
      communicator.process = process.host + ':' + std::to_string(process.pid);
      communicators.push_back(std::move(communicator));
    }
  }
  note_shared_names(communicators);
  return communicators;
}

std::string distinct_name(const Communicator& communicator) {
  return communicator.distinction.empty() ? communicator.name
                                          : communicator.name + ' ' + communicator.distinction;
}

std::string why_alone(const std::vector<Communicator>& communicators) {
  std::set<std::string_view> reasons;
  std::string text;
  for (const Communicator& one : communicators) {
    if (!one.why_alone.empty() && reasons.insert(one.why_alone).second) {
      text.append(text.empty() ? "" : "; ").append(one.why_alone);
    }
  }
  return text;
}

std::vector<std::uint32_t> ranks_without_trace(const Communicator& communicator) {
  std::set<std::uint32_t> seen;
  for (const Member& member : communicator.members) {
    if (!member.rank) {
      return {};
    }
    seen.insert(*member.rank);
  }
  std::vector<std::uint32_t> ranks;
  // A damaged line may claim any number of ranks, so the list is bounded.
  constexpr std::uint32_t kListed = 1U << 20;
  for (std::uint32_t rank = 0; rank < std::min(communicator.nranks, kListed); ++rank) {
    // The others of one that is alone are somewhere, but nobody knows where.
    if (communicator.why_alone.empty() && !seen.contains(rank)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::size_t most_ranks_without_trace(const std::vector<Communicator>& communicators) {
  std::size_t most = 0;
  for (const Communicator& communicator : communicators) {
    most = std::max(most, ranks_without_trace(communicator).size());
  }
  return most;
}

}  // namespace ringside::match
