// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/stragglers.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/metrics/cascade.h"
#include "analyzer/metrics/charge_blocks.h"
#include "analyzer/metrics/charges.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using facts::RankTimes;
using Among = ChargeBlocks::Among;

// In so many of the jobs in which all are alike somebody is called late, at most.
constexpr double kFalseAlarms = 0.003;
// A single late arrival is told if it costs so much, and so much more than any of another rank.
constexpr double kLeastShareOnce = 0.02;
constexpr std::int64_t kTimesOthers = 10;

void raise(std::int64_t& sum_ns, std::int64_t by_ns) {
  sum_ns = add_saturating(sum_ns, by_ns);
}

struct Candidate {
  Lateness facts;
  std::uint32_t host = 0;
  bool is_late_in_host = false;        // beside the others of its host
  std::int64_t cost_elsewhere_ns = 0;  // what ranks of other hosts waited because of it
  std::int64_t most_elsewhere_ns = 0;
  std::int64_t caused_elsewhere_ns = 0;
  std::vector<LateEvent> events;
};

// What one rank is charged in one operation.
struct OfRow {
  std::int64_t direct_ns = 0;
  std::int64_t kept_ns = 0;
  std::int64_t kept_in_host_ns = 0;
  std::int64_t passed_in_host_ns = 0;
  std::int64_t margin_ns = std::numeric_limits<std::int64_t>::max();
};

class Finder {
 public:
  explicit Finder(const facts::Facts& facts)
      : facts_(facts),
        matches_(facts.matches()),
        who_(facts.traces(), matches_),
        charges_(facts),
        cascade_(facts, who_),
        blocks_(matches_, facts.alignment(), who_),
        ranks_(who_.all().size()),
        hosts_(facts.alignment().hosts().size()) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::uint32_t file = who_.all()[i].file;
      const model::Process& process = facts.traces().files[file].process;
      ranks_[i].facts.label = who_.all()[i].label;
      ranks_[i].facts.host = process.host;
      ranks_[i].facts.pid = process.pid;
      ranks_[i].host = facts.alignment().host_of(file);
    }
    for (const match::Communicator& communicator : matches_.communicators) {
      ready_ns_.emplace_back(communicator.members.size(), std::numeric_limits<std::int64_t>::min());
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i].facts.label = hosts_[i].facts.host = facts.alignment().hosts()[i].host;
    }
  }

  Stragglers find() {
    for (const std::uint32_t operation : in_order()) {
      add(operation);
    }
    measure_time();
    sum_up_hosts();
    expect(ranks_);
    expect(hosts_);
    judge();
    describe();
    result_.ranks = finish(std::move(ranks_));
    result_.hosts = finish(std::move(hosts_));
    return std::move(result_);
  }

 private:
  // Of a run, by host. A host's own clock measures it, and that of the host that was there longest
  // counts: so the hosts' clocks need not be known.
  struct Span {
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  };

  void add_span(const match::MatchedOperation& matched) {
    auto& spans = spans_[matches_.communicators[matched.communicator].run];
    for (const RankTimes& row : rows_) {
      Span& span = spans[row.host];
      span.first_ns = std::min(span.first_ns, row.arrival_ns);
      span.last_ns = std::max(span.last_ns, row.end_ns);
    }
  }

  // All ranks of a run have its whole time, whenever they took part in something.
  void measure_time() {
    std::map<std::uint32_t, std::set<std::uint32_t>> ranks;  // by run
    for (std::uint32_t i = 0; i < matches_.communicators.size(); ++i) {
      const match::Communicator& communicator = matches_.communicators[i];
      for (std::uint32_t member = 0; member < communicator.members.size(); ++member) {
        if (ranks_[who_.of(i, member)].facts.took_part > 0) {
          ranks[communicator.run].insert(who_.of(i, member));
        }
      }
    }
    for (const auto& [run, spans] : spans_) {
      std::int64_t longest_ns = 0;
      for (const auto& [host, span] : spans) {
        longest_ns = std::max(longest_ns, subtract_saturating(span.last_ns, span.first_ns));
      }
      raise(result_.all_time_ns,
            multiply_saturating(longest_ns, static_cast<std::int64_t>(ranks[run].size())));
    }
  }

  // A rank has come to an operation after it had left those before.
  std::vector<std::uint32_t> in_order() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < matches_.operations.size(); ++i) {
      if (match::ranks_expected(matches_, matches_.operations[i]) > 1) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return facts_.operations()[a].last_arrival_ns < facts_.operations()[b].last_arrival_ns;
    });
    return order;
  }

  void add(std::uint32_t operation) {
    const match::MatchedOperation& matched = matches_.operations[operation];
    ++result_.operations;
    blocks_.begin(matched.communicator);
    count_parts(matched);
    const facts::OperationFacts& known = facts_.operations()[operation];
    facts_.ranks_of(operation, rows_);
    if (!known.is_impossible) {
      add_span(matched);
    }
    if (!known.has_all_ranks) {
      ++result_.partial;  // an absent rank may have been the last
    } else if (known.is_impossible) {
      ++result_.impossible;
    } else {
      if (known.basis != facts::Basis::kExecution) {
        ++result_.by_call;
        if (facts_.flow_of(operation, rows_).flow != facts::Flow::kAll) {
          return;
        }
        take_calls(matched.communicator);
      }
      note_ends(matched.communicator);
      charge(operation, charges_.find(operation, rows_));
    }
  }

  // Of some ranks only the call is known, so the calls of all are compared, and those that called
  // before the last one count as waiting from then on. A communicator runs its operations in their
  // order: what a rank waited in the one before is not counted again.
  void take_calls(std::uint32_t communicator) {
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    for (RankTimes& row : rows_) {
      const auto call_ns =
          match::operation_of(facts_.traces(), matches_.parts[row.part]).enqueue_start_ns;
      if (row.has_execution && call_ns) {
        row.arrival_ns = facts_.alignment().to_common_ns(row.file, *call_ns);
      }
      row.arrival_ns = std::max(row.arrival_ns, ready_ns_[communicator][row.member]);
      row.error = align::kCallError;
      last_ns = std::max(last_ns, row.arrival_ns);
    }
    for (RankTimes& row : rows_) {
      row.end_ns = last_ns;
      row.wait = {};
      row.waits_for = RankTimes::kNobody;
    }
  }

  // From when on each rank can begin the next operation of the communicator. An operation that the
  // network told of began when its data moved: what its ranks waited before is not in it.
  void note_ends(std::uint32_t communicator) {
    for (const RankTimes& row : rows_) {
      const model::Operation one = match::operation_of(facts_.traces(), matches_.parts[row.part]);
      if (one.times_from == model::TimesFrom::kProxy) {
        continue;
      }
      std::int64_t& ready_ns = ready_ns_[communicator][row.member];
      ready_ns = std::max(ready_ns, row.end_ns);
    }
  }

  // Whatever comes of it: of a host if another one takes part, too.
  void count_parts(const match::MatchedOperation& operation) {
    const auto parts = match::parts_of(matches_, operation);
    std::vector<std::uint32_t>& hosts = hosts_of_parts_;
    hosts.clear();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == 0 || parts[i].member != parts[i - 1].member) {
        Candidate& rank = ranks_[who_.of(operation.communicator, parts[i].member)];
        ++rank.facts.took_part;
        hosts.push_back(rank.host);
      }
    }
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    for (const std::uint32_t host : hosts) {
      hosts_[host].facts.took_part += hosts.size() > 1 ? 1 : 0;
    }
  }

  std::uint32_t rank_of(const match::MatchedOperation& operation, std::uint32_t row) const {
    return who_.of(operation.communicator, rows_[row].member);
  }

  void charge(std::uint32_t operation, const OperationCharges& charges) {
    const match::MatchedOperation& matched = matches_.operations[operation];
    of_rows_.assign(rows_.size(), {});
    origins_.resize(std::max(origins_.size(), rows_.size()));
    for (auto& origins : origins_) {
      origins.clear();
    }
    for (const RankTimes& row : rows_) {
      raise(result_.waited_most_ns, row.wait.most_ns);
    }
    for (const Charge& one : charges.surely) {
      const std::int64_t kept_ns = cascade_.divide(operation, rows_, one, origins_[one.waiter]);
      take(matched, one, kept_ns);
    }
    cascade_.remember(operation, rows_, origins_);
    const bool is_decided =
        std::count_if(charges.possibly.begin(), charges.possibly.end(),
                      [](const PossibleCharge& possible) { return possible.most_ns > 0; }) == 1 &&
        !charges.surely.empty();
    ++(is_decided ? result_.decided : result_.undecided);
    for (const PossibleCharge& possible : charges.possibly) {
      take_possible(matched, possible);
      add_to_blocks(charges.likeness, possible);
    }
    note_last(matched);
  }

  void take(const match::MatchedOperation& matched, const Charge& one, std::int64_t kept_ns) {
    const std::uint32_t waiter = rank_of(matched, one.waiter);
    const std::uint32_t charged = rank_of(matched, one.charged);
    const bool is_in_host = rows_[one.waiter].host == rows_[one.charged].host;
    raise(result_.waited_ns, one.waited_ns);
    raise(ranks_[waiter].facts.waited_ns, one.waited_ns);
    raise(ranks_[charged].facts.caused_wait_ns, one.waited_ns);
    raise(ranks_[charged].facts.passed_on_ns, one.waited_ns - kept_ns);
    raise(ranks_[charged].caused_elsewhere_ns, is_in_host ? 0 : one.waited_ns);
    for (const Origin& origin : origins_[one.waiter]) {
      Candidate& rank = ranks_[origin.rank];
      raise(rank.facts.cost_ns, origin.waited_ns);
      // What it is charged for others' operations is possible as well.
      const std::int64_t passed_ns = origin.rank == charged ? 0 : origin.waited_ns;
      raise(rank.facts.cost_most_ns, passed_ns);
      if (rank.host != rows_[one.waiter].host) {
        raise(rank.cost_elsewhere_ns, origin.waited_ns);
        raise(rank.most_elsewhere_ns, passed_ns);
      }
    }
    OfRow& row = of_rows_[one.charged];
    raise(row.direct_ns, one.waited_ns);
    raise(row.kept_ns, kept_ns);
    raise(row.kept_in_host_ns, is_in_host ? kept_ns : 0);
    raise(row.passed_in_host_ns, is_in_host ? one.waited_ns - kept_ns : 0);
    row.margin_ns = std::min(row.margin_ns, one.waited_ns);
  }

  void take_possible(const match::MatchedOperation& matched, const PossibleCharge& possible) {
    Candidate& rank = ranks_[rank_of(matched, possible.charged)];
    const OfRow& row = of_rows_[possible.charged];
    const std::int64_t passed_ns = row.direct_ns - row.kept_ns;
    raise(rank.facts.cost_most_ns, std::max<std::int64_t>(possible.most_ns - passed_ns, 0));
    raise(
        rank.most_elsewhere_ns,
        std::max<std::int64_t>(
            possible.most_ns - possible.most_in_host_ns - (passed_ns - row.passed_in_host_ns), 0));
  }

  void add_to_blocks(Likeness likeness, const PossibleCharge& possible) {
    if (likeness == Likeness::kNone) {
      return;
    }
    const OfRow& row = of_rows_[possible.charged];
    const std::int64_t passed_ns = row.direct_ns - row.kept_ns;
    const BlockCharge charge{
        static_cast<double>(row.kept_ns), static_cast<double>(row.kept_in_host_ns),
        static_cast<double>(std::max(possible.most_ns - passed_ns, row.kept_ns)),
        static_cast<double>(
            std::max(possible.most_in_host_ns - row.passed_in_host_ns, row.kept_in_host_ns))};
    const std::uint32_t member = rows_[possible.charged].member;
    if (likeness == Likeness::kRooted) {
      blocks_.add_root(member, charge, static_cast<double>(possible.mirrored_ns));
    } else {
      blocks_.add(member, charge);
    }
  }

  // Who was the last, and when: of the one for which most was waited.
  void note_last(const match::MatchedOperation& matched) {
    const auto most =
        std::max_element(of_rows_.begin(), of_rows_.end(),
                         [](const OfRow& a, const OfRow& b) { return a.direct_ns < b.direct_ns; });
    if (most->direct_ns <= 0) {
      return;
    }
    const auto row = static_cast<std::uint32_t>(most - of_rows_.begin());
    Candidate& rank = ranks_[rank_of(matched, row)];
    Lateness& facts = rank.facts;
    ++facts.last;
    ++facts.last_in[matched.communicator];
    raise(facts.delay_ns, most->margin_ns);
    if (most->margin_ns > facts.most_margin_ns) {
      facts.most_margin_ns = most->margin_ns;
      facts.most_at_ns = rows_[row].arrival_ns;
    }
    facts.most_cost_ns = std::max(facts.most_cost_ns, most->kept_ns);
    rank.events.push_back({rows_[row].arrival_ns, facts.took_part, most->kept_ns, most->margin_ns});
    if (std::any_of(rows_.begin(), rows_.end(),
                    [&](const RankTimes& other) { return other.host != rank.host; })) {
      Lateness& host = hosts_[rank.host].facts;
      ++host.last;
      ++host.last_in[matched.communicator];
      raise(host.delay_ns, most->margin_ns);
      host.most_margin_ns = std::max(host.most_margin_ns, most->margin_ns);
      hosts_[rank.host].events.push_back(
          {rows_[row].arrival_ns, host.took_part, most->kept_ns, most->margin_ns});
    }
  }

  // A host is charged for what ranks of others waited.
  void sum_up_hosts() {
    for (const Candidate& rank : ranks_) {
      Candidate& host = hosts_[rank.host];
      raise(host.facts.caused_wait_ns, rank.caused_elsewhere_ns);
      raise(host.facts.cost_ns, rank.cost_elsewhere_ns);
      raise(host.facts.cost_most_ns, rank.most_elsewhere_ns);
    }
  }

  // What one would cost if it was like the others are on average.
  void expect(std::vector<Candidate>& candidates) const {
    double sum = 0;
    double count = 0;
    for (Candidate& one : candidates) {
      // Limits of several operations at once may exceed all there is.
      one.facts.cost_most_ns =
          std::max(std::min(one.facts.cost_most_ns, result_.all_time_ns), one.facts.cost_ns);
      if (one.facts.took_part > 0) {
        sum += static_cast<double>(one.facts.cost_ns);
        count += 1;
      }
    }
    for (Candidate& one : candidates) {
      if (count > 1) {
        one.facts.expected_ns =
            static_cast<std::int64_t>((sum - static_cast<double>(one.facts.cost_ns)) / (count - 1));
      }
    }
  }

  bool is_enough(const Lateness& facts) const { return result_.share_of(facts) >= kLeastShare; }

  // One after the other: who was found is taken out, so that the next is not hidden behind it.
  void judge() {
    std::vector<bool> is_found(ranks_.size());
    std::size_t tests = 0;
    for (std::uint32_t family = 0; family < blocks_.families(); ++family) {
      for (const Among among : ChargeBlocks::kAmong) {
        const ExchangeInput input = blocks_.input(family, among, is_found);
        tests += input.blocks.empty() && input.mirrors.empty() ? 0 : 1;
      }
    }
    const double level = kFalseAlarms / static_cast<double>(std::max<std::size_t>(tests, 1));
    bool is_more = true;
    while (is_more) {
      is_more = false;
      for (const Among among : {Among::kRanksOfHost, Among::kRanks}) {
        for (std::uint32_t family = 0; family < blocks_.families(); ++family) {
          while (test_ranks(family, among, level, is_found)) {
            is_more = true;
          }
        }
      }
    }
    const std::vector<std::uint32_t> members = take_back_members(is_found);
    for (std::uint32_t family = 0; family < blocks_.families(); ++family) {
      while (test_hosts(family, level, is_found)) {
      }
    }
    for (const std::uint32_t rank : members) {
      ranks_[rank].facts.is_straggler = !hosts_[ranks_[rank].host].facts.is_straggler;
    }
  }

  bool test_ranks(std::uint32_t family, Among among, double level, std::vector<bool>& is_found) {
    std::vector<bool> is_eligible(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      is_eligible[i] = !is_found[i] && is_enough(ranks_[i].facts);
    }
    if (std::none_of(is_eligible.begin(), is_eligible.end(), [](bool one) { return one; })) {
      return false;
    }
    const ExchangeResult result =
        test_exchange(blocks_.input(family, among, is_found), is_eligible, level);
    if (result.subject == ExchangeResult::kNobody) {
      return false;
    }
    Lateness& facts = ranks_[result.subject].facts;
    facts.chance = std::min(result.chance, facts.chance.value_or(1));
    if (result.chance > level) {
      return false;
    }
    facts.is_straggler = true;
    ranks_[result.subject].is_late_in_host = among == Among::kRanksOfHost;
    is_found[result.subject] = true;
    return true;
  }

  // Ranks that are not late beside the others of their host, and none of which costs most of what
  // the host does. Then the host is late, if the test of hosts agrees.
  std::vector<std::uint32_t> take_back_members(std::vector<bool>& is_found) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
      std::vector<std::uint32_t> late;
      std::int64_t most_ns = 0;
      for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
        if (ranks_[i].host == host && is_found[i] && !ranks_[i].is_late_in_host) {
          late.push_back(i);
          most_ns = std::max(most_ns, ranks_[i].cost_elsewhere_ns);
        }
      }
      if (most_ns > hosts_[host].facts.cost_ns / 3 * 2) {
        continue;
      }
      for (const std::uint32_t rank : late) {
        ranks_[rank].facts.is_straggler = false;
        is_found[rank] = false;
      }
      members.insert(members.end(), late.begin(), late.end());
    }
    return members;
  }

  // A host is late beside its ranks that are, if the others of it still cost enough.
  bool test_hosts(std::uint32_t family, double level, std::vector<bool>& is_found) {
    std::vector<bool> is_eligible(hosts_.size());
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
      Lateness rest = hosts_[host].facts;
      for (const Candidate& rank : ranks_) {
        if (rank.host == host && rank.facts.is_straggler) {
          rest.cost_ns -= std::min(rest.cost_ns, rank.cost_elsewhere_ns);
        }
      }
      is_eligible[host] = !rest.is_straggler && is_enough(rest);
    }
    const ExchangeResult result =
        test_exchange(blocks_.input(family, Among::kHosts, is_found), is_eligible, level);
    if (result.subject == ExchangeResult::kNobody) {
      return false;
    }
    Lateness& facts = hosts_[result.subject].facts;
    facts.chance = std::min(result.chance, facts.chance.value_or(1));
    if (result.chance > level) {
      return false;
    }
    facts.is_straggler = true;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      is_found[i] = is_found[i] || ranks_[i].host == result.subject;
    }
    return true;
  }

  void describe() {
    for (std::vector<Candidate>* const candidates : {&ranks_, &hosts_}) {
      for (Candidate& one : *candidates) {
        if (one.facts.is_straggler) {
          one.facts.times = describe_events(one.events, one.facts.took_part);
        }
        find_median(one);
      }
    }
    std::int64_t most_ns = 0;
    std::int64_t second_ns = 0;
    for (const Candidate& rank : ranks_) {
      second_ns = std::max(second_ns, std::min(most_ns, rank.facts.most_cost_ns));
      most_ns = std::max(most_ns, rank.facts.most_cost_ns);
    }
    for (Candidate& rank : ranks_) {
      Lateness& facts = rank.facts;
      const std::int64_t others_ns = facts.most_cost_ns == most_ns ? second_ns : most_ns;
      facts.was_late_once = !facts.is_straggler &&
                            result_.share(facts.most_cost_ns) >= kLeastShareOnce &&
                            facts.most_cost_ns / kTimesOthers >= others_ns;
    }
  }

  static void find_median(Candidate& one) {
    std::vector<std::int64_t> margins_ns;
    for (const LateEvent& event : one.events) {
      margins_ns.push_back(event.margin_ns);
    }
    if (!margins_ns.empty()) {
      const auto middle = margins_ns.begin() + static_cast<std::ptrdiff_t>(margins_ns.size() / 2);
      std::nth_element(margins_ns.begin(), middle, margins_ns.end());
      one.facts.median_margin_ns = *middle;
    }
  }

  static std::vector<Lateness> finish(std::vector<Candidate> candidates) {
    std::vector<Lateness> finished;
    for (Candidate& candidate : candidates) {
      if (candidate.facts.took_part > 0) {
        finished.push_back(std::move(candidate.facts));
      }
    }
    std::stable_sort(finished.begin(), finished.end(), [](const Lateness& a, const Lateness& b) {
      return std::tie(a.cost_ns, a.cost_most_ns) > std::tie(b.cost_ns, b.cost_most_ns);
    });
    return finished;
  }

  const facts::Facts& facts_;
  const match::Matches& matches_;
  const GlobalRanks who_;
  ChargeFinder charges_;
  Cascade cascade_;
  ChargeBlocks blocks_;
  std::vector<Candidate> ranks_;
  std::vector<Candidate> hosts_;
  std::map<std::uint32_t, std::map<std::uint32_t, Span>> spans_;  // by run and host
  std::vector<std::vector<std::int64_t>> ready_ns_;               // by communicator and member
  // Of one operation, kept for their memory.
  std::vector<RankTimes> rows_;
  std::vector<OfRow> of_rows_;
  std::vector<std::vector<Origin>> origins_;  // by waiter
  std::vector<std::uint32_t> hosts_of_parts_;
  Stragglers result_;
};

}  // namespace

const Lateness* Stragglers::find_open(double limit) const {
  // What a late rank costs is in what its host does, and the other way round.
  std::set<std::string> late_hosts;
  for (const std::vector<Lateness>* const found : {&ranks, &hosts}) {
    for (const Lateness& one : *found) {
      if (one.is_straggler) {
        late_hosts.insert(one.host);
      }
    }
  }
  for (const std::vector<Lateness>* const found : {&ranks, &hosts}) {
    for (const Lateness& one : *found) {
      const std::int64_t excess_ns = one.cost_most_ns - std::min(one.expected_ns, one.cost_most_ns);
      if (!late_hosts.contains(one.host) && share(excess_ns) > limit) {
        return &one;
      }
    }
  }
  return nullptr;
}

Stragglers find_stragglers(const facts::Facts& facts) {
  return Finder(facts).find();
}

}  // namespace ringside::metrics
