// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/earlier_causes.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

namespace {

constexpr std::int64_t kNoLimit_ns = RankVisits::kNoLimit_ns;

}  // namespace

EarlierCauses::EarlierCauses(const RankVisits& visits, std::size_t operation,
                             const facts::RankTimes& late, std::uint32_t waiter)
    : visits_(visits),
      late_(late),
      late_rank_(visits.rank_of(operation, late)),
      waiter_(waiter),
      communicator_(visits.facts().matches().operations[operation].communicator),
      own_(visits.of(late_rank_).empty()
               ? model::Operation()
               : match::operation_of(visits.facts().traces(),
                                     visits.facts().matches().parts[late.part])),
      next_(visits.of(late_rank_).begin()) {}

bool EarlierCauses::is_on_stream(const Visit& visit) const {
  return visit.stream != model::kNoName && visit.stream == own_.stream;
}

// Whether it ran on another stream than the operation, for all that is told.
bool EarlierCauses::is_elsewhere(const Visit& visit) const {
  return visit.stream != model::kNoName && own_.stream != model::kNoName &&
         visit.stream != own_.stream;
}

EarlierCauses::Order EarlierCauses::order_of(const Visit& visit) const {
  // One stream, for all that is known. A thread may have several, of which nobody tells.
  const bool may_be_stream =
      is_on_stream(visit) || (visit.thread == own_.tid &&
                              (visit.stream == model::kNoName || own_.stream == model::kNoName));
  // A stream runs one kernel after the other, in the order of the visits. Stamps of two
  // communicators need not show it, since those of each err by themselves.
  const bool is_own_kernel =
      visit.communicator == communicator_ && visit.group && visit.group == own_.group;
  // The rank's own clock decides, since the estimates of the hosts' clocks bend durations.
  const bool is_own_clock = visit.own_end_ns && own_.end_ns && own_.start_ns && late_.has_execution;
  const std::int64_t error_ns = is_own_clock && may_be_stream && !is_own_kernel
                                    ? add_saturating(visit.late_ns, late_.error.early_ns)
                                    : 0;
  const std::int64_t over_ns = is_own_clock ? subtract_saturating(*visit.own_end_ns, *own_.start_ns)
                                            : subtract_saturating(visit.end_ns, late_.arrival_ns);
  if (over_ns > error_ns) {
    return Order::kAfter;
  }
  return over_ns <= 0 || is_on_stream(visit) ? Order::kBefore : Order::kPerhapsBefore;
}

// Notes what the waiter waited in an operation in which both took part, and that did not hold up
// all. Returns by how much the late rank left it later, at most.
std::int64_t EarlierCauses::meet(const Visit& visit, bool is_surely_before) {
  const Visit* const other = visits_.find(waiter_, visit.operation);
  if (other == nullptr) {
    alike_.most_ns = kNoLimit_ns;
    return kNoLimit_ns;
  }
  alike_.most_ns = add_saturating(alike_.most_ns, other->most_ns);
  if (!is_surely_before) {
    return kNoLimit_ns;
  }
  alike_.least_ns = add_saturating(alike_.least_ns, other->waited_ns);
  return visits_.most_lead_ns(late_rank_, visit, waiter_, *other);
}

// Notes what the waiter may have waited without the late rank, as far back as that visit.
void EarlierCauses::note_elsewhere(const Visit& visit) {
  if (visit.waited_ns == 0 || elsewhere_ns_ >= most_elsewhere_ns_) {
    return;
  }
  most_elsewhere_ns_ =
      std::min(most_elsewhere_ns_, visits_.waited_elsewhere_ns(waiter_, late_rank_, nullptr));
  const std::int64_t now_ns =
      std::min(most_elsewhere_ns_, visits_.delayed_since_ns(visit, late_rank_, waiter_));
  alike_.most_ns =
      add_saturating(alike_.most_ns, std::max<std::int64_t>(now_ns - elsewhere_ns_, 0));
  elsewhere_ns_ = std::max(elsewhere_ns_, now_ns);
}

std::optional<EarlierCauses::Cause> EarlierCauses::next() {
  while (next_ != visits_.of(late_rank_).end()) {
    behind_ += behind_ > 0 ? 1 : 0;
    if (behind_ > kBeside) {
      return std::nullopt;
    }
    const Visit& visit = *next_++;
    const Order order = order_of(visit);
    if (order == Order::kAfter) {
      continue;
    }
    const bool is_surely_before = order == Order::kBefore;
    std::int64_t lead_here_ns = kNoLimit_ns;
    std::int64_t hidden_here_ns = kNoLimit_ns;
    if (visits_.takes_part(visit, waiter_)) {
      if (visit.holds_up_all) {
        if (is_surely_before) {
          hidden_ns_ = std::min(hidden_ns_, visit.held_up_ns);
          behind_ = behind_ == 0 ? 1 : behind_;
          together_ = together_ == nullptr || visit.longer_ns(*together_) > 0 ? &visit : together_;
        }
        continue;
      }
      lead_here_ns = meet(visit, is_surely_before);
      hidden_here_ns = add_saturating(std::max<std::int64_t>(lead_here_ns, 0), visit.held_up_ns);
    }
    // An operation of the same group may have held it for longer.
    const std::int64_t led_ns =
        apart_ == nullptr
            ? kNoLimit_ns
            : add_saturating(lead_ns_, std::max<std::int64_t>(visit.longer_ns(*apart_), 0));
    const std::int64_t limit_ns =
        std::min(led_ns, together_ == nullptr ? kNoLimit_ns : visit.longer_ns(*together_));
    if (lead_here_ns < lead_ns_) {
      lead_ns_ = lead_here_ns;
      apart_ = &visit;
    }
    // The late rank may have waited there for the waiter itself: then both were late.
    const std::int64_t own_ns = visit.waited_for(waiter_);
    Delay delay;
    if (is_elsewhere(visit) && hidden_ns_ < kNoLimit_ns) {
      delay.most_ns = std::clamp<std::int64_t>(visit.most_ns - own_ns, 0, hidden_ns_);
    }
    hidden_ns_ = std::min(hidden_ns_, hidden_here_ns);
    if (!(visit.thread == own_.tid || is_on_stream(visit)) ||
        (limit_ns <= 0 && delay.most_ns == 0)) {
      continue;
    }
    if (limit_ns > 0) {
      note_elsewhere(visit);
      const Delay both{std::min(alike_.least_ns, visit.most_ns),
                       std::min(alike_.most_ns, visit.waited_ns)};
      alike_.least_ns -= both.least_ns;
      alike_.most_ns -= both.most_ns;
      delay.most_ns =
          std::max(delay.most_ns,
                   std::clamp<std::int64_t>(visit.most_ns - both.least_ns - own_ns, 0, limit_ns));
      if (is_surely_before && visit.waited_ns > both.most_ns) {
        delay.least_ns = std::clamp<std::int64_t>(
            visit.waited_ns - both.most_ns - visit.may_have_waited_for(waiter_), 0, limit_ns);
      }
    }
    return Cause{&visit, delay};
  }
  return std::nullopt;
}

std::int64_t EarlierCauses::rest_ns() const {
  return visits_.is_cut(late_rank_) && behind_ == 0
             ? std::max<std::int64_t>(
                   std::min(lead_ns_, visits_.forgotten_most_ns(late_rank_, waiter_)), 0)
             : 0;
}

}  // namespace ringside::metrics
