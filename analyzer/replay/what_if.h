// SPDX-License-Identifier: Apache-2.0
//
// What a job would take if some ranks were like the others, if all had the same work, or if the
// network were faster.
#ifndef RINGSIDE_ANALYZER_REPLAY_WHAT_IF_H
#define RINGSIDE_ANALYZER_REPLAY_WHAT_IF_H

#include <cstdint>
#include <vector>

#include "analyzer/replay/job.h"
#include "analyzer/replay/own_times.h"
#include "analyzer/replay/places.h"
#include "analyzer/replay/replay.h"

namespace ringside::replay {

/// The parts of a question apply together.
struct WhatIfQuestion {
  /// Indices into Job::ranks. Their own times become those that other ranks of the same role have
  /// at the same place, never longer ones. Where no rank of a role is left, its iterations become
  /// as long as those of the other ranks; of one role alone, at least as the mean of all ranks,
  /// which is the best estimate if it has several ranks.
  std::vector<std::uint32_t> like_others = {};
  bool is_balanced = false;  // at each place all ranks have the mean, and all roles the same work
  bool is_network_peak = false;  // each transfer as fast as the fastest tenth of those alike
  double network_speed = 1;      // or so many times as fast; infinite: no time at all
};

struct WhatIfAnswer {
  double saved = 0;        // the part of the wall time that is saved, 0 to 1
  double saved_least = 0;  // what it may be instead, if what cannot be seen is otherwise
  double saved_most = 0;
  /// By iteration of the rank `of`: the part of the wall time that it saves.
  std::vector<double> saved_by_iteration;
};

/// Not thread-safe. `job` must outlive it.
class WhatIf {
 public:
  explicit WhatIf(const Job& job);

  const Places& places() const { return places_; }
  const OwnTimes& times() const { return times_; }
  /// Own times of several roles can be compared.
  bool shows_roles() const { return shows_roles_; }
  /// Own times by rank of the role and iteration; an iteration that did not end is left out.
  std::vector<std::vector<double>> work_of(const Role& role) const;

  /// False if the job cannot be replayed: there are no answers.
  bool is_possible() const { return replay_.is_possible() && replayed_ns_ > 0; }
  /// The time of the replay of the job as it was, as a multiple of the time that it took from the
  /// first to the last end of a rank, for the rank where that is most.
  double fidelity() const { return fidelity_; }

  /// Replays the job as it was. The result is valid until the next question.
  const Replay& as_it_was() {
    replay_.run(own_ns_, transfer_ns_);
    return replay_;
  }

  /// `of`: the rank whose iterations are counted, as an index into Job::ranks.
  WhatIfAnswer ask(const WhatIfQuestion& question, std::uint32_t of = 0);

 private:
  double find_fidelity() const;
  // Own times are by place in the replay.
  void make_like_other_roles(const Role& role, const std::vector<bool>& is_chosen,
                             std::vector<std::int64_t>& own_ns) const;
  void cap(std::vector<std::int64_t>& own_ns, std::uint32_t first, std::uint32_t length,
           double all_ns) const;
  std::vector<std::int64_t> change_own(const WhatIfQuestion& question) const;
  std::vector<std::int64_t> share_work(const std::vector<std::uint32_t>& ranks) const;
  std::vector<std::int64_t> transfer_times_of(const WhatIfQuestion& question) const;
  void make_like_others(const Role& role, const std::vector<bool>& is_chosen,
                        std::vector<std::int64_t>& own_ns) const;
  void balance(std::vector<std::int64_t>& own_ns) const;

  const Job& job_;
  Places places_;
  OwnTimes times_;
  std::vector<double> work_ns_;  // by role: the mean of the own time of a rank, over the run
  double mean_work_ns_ = 0;      // of all ranks
  bool shows_roles_ = true;
  std::vector<std::int64_t> transfer_ns_;
  Replay replay_;
  std::int64_t replayed_ns_ = 0;
  double fidelity_ = 0;
  // By place in the replay of the job as it was.
  std::vector<std::int64_t> own_ns_;
  std::vector<std::int64_t> as_it_was_ns_;  // the ends
};

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_WHAT_IF_H
