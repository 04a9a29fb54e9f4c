// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_numbers.h"

#include <algorithm>

namespace ringside::load {
namespace {

// Numbers of neighbours do not lie farther apart, whatever calls were not recorded between them.
constexpr std::int64_t kMostLeap = 1000;
constexpr std::int64_t kMostNumber = std::int64_t{1} << 40;

}  // namespace

OddRecord RecordNumbers::take_odd(std::optional<std::int64_t> told,
                                  std::optional<std::int64_t> next) {
  const bool goes_on = next == next_ + 1;  // so the entry has its place
  if (told && *told < next_ && !goes_on) {
    return {OddRecord::Kind::kRepeated, *told, *told};
  }
  if (told && *told > next_ && !goes_on && (!next || *next > *told)) {
    const OddRecord hole{OddRecord::Kind::kBehindHole, next_, *told - 1};
    next_ = *told + 1;
    return hole;
  }
  ++next_;
  return {};
}

GroupNumbers::Number GroupNumbers::choose(std::optional<std::int64_t> told, Counts counts,
                                          bool is_behind_loss,
                                          std::optional<std::int64_t> next) const {
  const bool is_stated = told && *told >= 0 && *told < kMostNumber;
  const bool is_followed = is_stated && next && *next >= *told && *next - *told < kMostLeap;
  // What lies before a ring's first entry is not known, so only the next number can contradict.
  if (!is_begun_ && is_behind_loss) {
    return is_followed || (is_stated && !next)
               ? Number{*told, false}
               : Number{std::clamp<std::int64_t>(next.value_or(1), 1, kMostNumber) - 1, true};
  }
  const bool is_between =
      !is_behind_loss && next && *next == any_ + 2;  // only one number fits there
  const bool repeats = is_stated && *told == last_ && *told == any_ && next == told;
  const bool is_step = is_stated && *told >= any_ && *told <= any_ + 1 &&
                       (counts == Counts::kNot || *told > last_ || repeats) &&
                       (counts != Counts::kSame || *told == any_);
  const bool is_leap = is_stated && *told > any_ + 1 && counts != Counts::kSame &&
                       (is_followed || (is_behind_loss && !next));
  if ((is_step && !(is_between && counts == Counts::kOn && *told != any_ + 1)) ||
      (is_leap && !is_between)) {
    return {*told, false, is_leap && !is_behind_loss};
  }
  return {counts != Counts::kOn || next == any_ ? any_ : any_ + 1, true};
}

}  // namespace ringside::load
