// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/repeats.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "analyzer/facts/flow.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/nth_value.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// Fewer calls are no benchmark.
constexpr std::size_t kLeastRepeats = 8;
// A program that does something between two calls, such as launching kernels, takes longer.
constexpr std::int64_t kLongestPause_ns = 20'000;
// A program whose ranks spend a smaller part of their time in the operations computes.
constexpr double kLeastOfTurn = 0.5;
constexpr std::size_t kOperationsAsked = 32;

// A call of the lowest rank of a communicator.
struct Call {
  std::int64_t start_ns = 0;
  std::int64_t return_ns = 0;
  std::int64_t end_ns = 0;  // of its execution
  std::uint32_t operation = 0;
};

class RepeatFinder {
 public:
  explicit RepeatFinder(const facts::Facts& facts)
      : traces_(facts.traces()), matches_(facts.matches()) {}

  // `operations` are those of one communicator.
  void find(std::span<const std::uint32_t> operations, std::vector<Repeats>& found) const {
    const std::vector<Call> calls = calls_of(operations);
    for (std::size_t first = 0; first < calls.size();) {
      std::size_t end = first + 1;
      while (end < calls.size() && follows(calls[end - 1], calls[end])) {
        ++end;
      }
      const auto stretch = std::span(calls).subspan(first, end - first);
      if (is_unbroken(stretch)) {
        const auto turn_ns = turn_of(stretch);
        if (turn_ns && least_wall_ns(stretch) >= kLeastOfTurn * static_cast<double>(*turn_ns)) {
          found.push_back({stretch.front().operation, stretch.size(), *turn_ns});
        }
      }
      first = end;
    }
  }

 private:
  std::vector<Call> calls_of(std::span<const std::uint32_t> operations) const {
    std::vector<Call> calls;
    if (operations.size() < kLeastRepeats) {
      return calls;
    }
    for (const std::uint32_t index : operations) {
      const match::MatchedOperation& operation = matches_.operations[index];
      const match::Part part = matches_.parts[operation.first_part];
      if (operation.way == match::Way::kPair || part.member != 0) {
        continue;
      }
      const model::Execution one = match::execution_of(traces_, part);
      if (one.enqueue_start_ns && facts::ran_to_its_end(one)) {
        calls.push_back({*one.enqueue_start_ns, one.enqueue_end_ns.value_or(*one.enqueue_start_ns),
                         *one.end_ns, index});
      }
    }
    std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
      return std::tie(a.start_ns, a.operation) < std::tie(b.start_ns, b.operation);
    });
    return calls;
  }

  // Alike, and made at once or while the one before still ran.
  bool follows(const Call& before, const Call& after) const {
    if (after.start_ns - before.return_ns > kLongestPause_ns && after.start_ns >= before.end_ns) {
      return false;
    }
    const match::MatchedOperation& a = matches_.operations[before.operation];
    const match::MatchedOperation& b = matches_.operations[after.operation];
    const model::Operation one = match::operation_of(traces_, matches_.parts[a.first_part]);
    const model::Operation other = match::operation_of(traces_, matches_.parts[b.first_part]);
    return a.func == b.func && a.pattern == b.pattern && one.bytes == other.bytes &&
           one.datatype == other.datatype && one.group.has_value() == other.group.has_value();
  }

  static bool is_unbroken(std::span<const Call> stretch) {
    if (stretch.size() < kLeastRepeats) {
      return false;
    }
    std::vector<std::int64_t> pauses_ns;
    for (std::size_t i = 1; i < stretch.size(); ++i) {
      pauses_ns.push_back(stretch[i].start_ns - stretch[i - 1].return_ns);
    }
    return model::upper_median(pauses_ns) <= kLongestPause_ns;
  }

  // Both operations have the parts of a rank in a row, in the order of the ranks.
  std::optional<std::int64_t> turn_of(std::span<const Call> stretch) const {
    const match::MatchedOperation& first = matches_.operations[stretch.front().operation];
    const match::MatchedOperation& last = matches_.operations[stretch.back().operation];
    std::vector<std::int64_t> called_ns;
    for (const match::Part& part : match::parts_of(matches_, first)) {
      const model::Execution one = match::execution_of(traces_, part);
      called_ns.resize(std::max<std::size_t>(called_ns.size(), part.member + 1), kNever);
      if (one.enqueue_start_ns) {
        called_ns[part.member] = std::min(called_ns[part.member], *one.enqueue_start_ns);
      }
    }
    std::vector<std::int64_t> ended_ns(called_ns.size(), kNever);
    for (const match::Part& part : match::parts_of(matches_, last)) {
      const model::Execution one = match::execution_of(traces_, part);
      if (part.member < ended_ns.size() && facts::ran_to_its_end(one)) {
        std::int64_t& ended = ended_ns[part.member];
        ended = ended == kNever ? *one.end_ns : std::max(ended, *one.end_ns);
      }
    }
    double sum_ns = 0;
    std::size_t ranks = 0;
    for (std::size_t i = 0; i < called_ns.size(); ++i) {
      if (called_ns[i] != kNever && ended_ns[i] != kNever) {
        sum_ns += static_cast<double>(subtract_saturating(ended_ns[i], called_ns[i]));
        ++ranks;
      }
    }
    return ranks == 0 ? std::nullopt
                      : std::optional(static_cast<std::int64_t>(
                            sum_ns / static_cast<double>(ranks * stretch.size())));
  }

  // The mean time in one of the operations, of the rank where it is least. The root of a Broadcast
  // only fills buffers, and so do those that send to the root of a Reduce.
  double least_wall_ns(std::span<const Call> stretch) const {
    const match::MatchedOperation& first = matches_.operations[stretch.front().operation];
    const auto flow = facts::flow_of_function(match::function_name(traces_, first));
    const auto root = match::operation_of(traces_, matches_.parts[first.first_part]).root;
    std::vector<std::pair<double, std::size_t>> walls(  // by member: the sum, and of how many
        matches_.communicators[first.communicator].members.size());
    const std::size_t step = (stretch.size() + kOperationsAsked - 1) / kOperationsAsked;
    for (std::size_t i = 0; i < stretch.size(); i += step) {
      for (const match::Part& part :
           match::parts_of(matches_, matches_.operations[stretch[i].operation])) {
        const model::Execution one = match::execution_of(traces_, part);
        const auto& rank = matches_.communicators[first.communicator].members[part.member].rank;
        const bool counts = flow == facts::Flow::kFromRoot ? rank != root
                            : flow == facts::Flow::kToRoot ? rank == root
                                                           : true;
        if (counts && facts::ran_to_its_end(one) && !one.start_is_latest) {
          walls[part.member].first +=
              static_cast<double>(subtract_saturating(*one.end_ns, *one.start_ns));
          ++walls[part.member].second;
        }
      }
    }
    double least_ns = std::numeric_limits<double>::max();
    for (const auto& [sum_ns, times] : walls) {
      least_ns = times > 0 ? std::min(least_ns, sum_ns / static_cast<double>(times)) : least_ns;
    }
    return least_ns;
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const model::Traces& traces_;
  const match::Matches& matches_;
};

}  // namespace

std::vector<Repeats> find_repeats(const facts::Facts& facts) {
  const match::Matches& matches = facts.matches();
  std::vector<std::vector<std::uint32_t>> operations(matches.communicators.size());
  for (std::uint32_t i = 0; i < matches.operations.size(); ++i) {
    operations[matches.operations[i].communicator].push_back(i);
  }
  std::vector<std::vector<Repeats>> found(operations.size());
  const RepeatFinder finder(facts);
  for_each_on_cores(operations.size(), [&](std::size_t /*thread*/, std::size_t communicator) {
    finder.find(operations[communicator], found[communicator]);
  });
  std::vector<Repeats> all;
  for (const std::vector<Repeats>& some : found) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace ringside::metrics
