// SPDX-License-Identifier: Apache-2.0
//
// The charges of each rank, by communicator and block of time, for the tests of chance.
#ifndef RINGSIDE_ANALYZER_METRICS_CHARGE_BLOCKS_H
#define RINGSIDE_ANALYZER_METRICS_CHARGE_BLOCKS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/exchange_test.h"
#include "analyzer/metrics/global_ranks.h"

namespace ringside::metrics {

/// Waiting, as surely caused and as possibly caused; the part of it within the rank's own host; and
/// what ranks of other hosts waited for its host, which it is named for.
struct BlockCharge {
  double least = 0;
  double least_in_host = 0;
  double least_elsewhere = 0;
  double most = 0;
  double most_in_host = 0;
  double most_elsewhere = 0;

  BlockCharge& operator+=(const BlockCharge& other) {
    least += other.least;
    least_in_host += other.least_in_host;
    least_elsewhere += other.least_elsewhere;
    most += other.most;
    most_in_host += other.most_in_host;
    most_elsewhere += other.most_elsewhere;
    return *this;
  }
  BlockCharge operator/(double by) const {
    return {least / by, least_in_host / by, least_elsewhere / by,
            most / by,  most_in_host / by,  most_elsewhere / by};
  }
};

class ChargeBlocks {
 public:
  /// The group in which the charges are handed round.
  enum class Among : std::uint8_t { kRanks, kRanksOfHost, kHosts };
  static constexpr std::array kAmong = {Among::kRanks, Among::kRanksOfHost, Among::kHosts};
  /// How ranks are compared. All but the first are for kRanks alone.
  enum class Manner : std::uint8_t {
    kPlain,
    /// The ranks of several communicators count as alike: see has_together().
    kTogether,
    /// The greatest charges and own times of a communicator count no more than a lesser one: few
    /// great delays tell nothing then.
    kCapped,
    /// Frequent roots are compared by their own times: others wait for them more or less often.
    kRoots,
  };

  ChargeBlocks(const match::Matches& matches, const align::Alignment& alignment,
               const GlobalRanks& who);

  /// Begins the next operation of that communicator. Each has kBlocks blocks of equally many.
  void begin(std::uint32_t communicator);
  /// Adds the charge of a member in that operation, one of those that are alike.
  void add(std::uint32_t member, const BlockCharge& charge);
  /// Adds the charge of a root in that operation. `mirrored`: its charge if it had changed places
  /// with the others. `busy_most`: how long the data took at most; so much sooner or later than the
  /// others it may have left.
  void add_root(std::uint32_t member, const BlockCharge& charge, double mirrored, double busy_most);

  /// Notes the root of an operation in which only the root waits.
  void add_drain(std::uint32_t member, double busy_most);
  /// Adds how long a member had been doing something else when it came to that operation.
  void add_own_time(std::uint32_t member, double own_time);
  /// Leaves own times out in the communicator of that operation: if its times come from the
  /// network, a rank's wait in it looks like its own time before the next one.
  void leave_out_own_times();

  /// Communicators are of one family if no rank is in two of them, or if they have the same ranks:
  /// so one test does for all. If one event costs time in two families, each is tested apart.
  std::uint32_t families() const { return families_; }
  ExchangeInput input(std::uint32_t family, Among among, const std::vector<bool>& is_left_out,
                      Manner manner = Manner::kPlain) const;
  /// Whether communicators of that family, none with a root, have as many ranks and operations, and
  /// others join them: then their ranks do the same, as those of tensor parallelism do.
  bool has_together(std::uint32_t family, const std::vector<bool>& is_left_out) const;
  /// By rank: it is a root in a communicator of that family in which roots are frequent.
  std::vector<bool> find_roots(std::uint32_t family, const std::vector<bool>& is_left_out) const;
  /// The probability that noise which lasts makes one of these, all charged in that family, as slow
  /// beside the others as it is: the greatest of all of them.
  double chance_of_noise(std::uint32_t family, Among among,
                         const std::vector<std::uint32_t>& suspects,
                         const std::vector<bool>& is_left_out,
                         Manner manner = Manner::kPlain) const;

  template <typename Archive>
  void transfer(Archive& archive) {
    for (OfCommunicator& one : communicators_) {
      archive(one.begun, one.cells, one.has_own_times, one.own_times, one.own_counts, one.rooted,
              one.drains, one.as_root);
    }
  }

 private:
  static constexpr std::size_t kBlocks = 64;

  struct Cell : BlockCharge {
    double root_least = 0;
    double root_most = 0;
    double root_mirrored = 0;
  };
  struct OfCommunicator {
    std::uint32_t family = 0;
    std::uint64_t operations = 0;
    std::uint64_t begun = 0;
    std::size_t block = 0;
    std::vector<std::uint32_t> ranks;  // by member
    std::vector<std::uint32_t> hosts;  // by member
    std::vector<Cell> cells;           // by block and member; empty until one is charged
    std::vector<double> own_times;     // likewise, the sums of each block
    std::vector<std::uint32_t> own_counts;
    bool has_own_times = true;
    std::vector<std::uint64_t> rooted;  // by member: operations whose root it was
    std::vector<std::uint64_t> drains;  // by member: of these, those in which only it waited
    std::vector<double> as_root;        // by block and member: `busy_most` of these
  };

  Cell& cell(std::uint32_t member);
  double& as_root(std::uint32_t member);
  static bool are_often(const OfCommunicator& one, const std::vector<std::uint64_t>& roots);
  std::vector<bool> find_unlike(const OfCommunicator& one,
                                const std::vector<bool>& is_left_out) const;
  static double charge_of(const OfCommunicator& one, Among among, std::uint32_t suspect);
  void find_families();
  std::vector<std::uint32_t> find_joined() const;
  std::vector<std::size_t> find_together(std::uint32_t family,
                                         const std::vector<bool>& is_left_out) const;
  std::optional<double> chance_of_noise(const OfCommunicator& one, Among among,
                                        std::uint32_t suspect,
                                        const std::vector<std::uint32_t>& suspects,
                                        const std::vector<bool>& is_left_out, Manner manner) const;
  // `unlike`, by member: it is not compared with the others. The blocks are added to those of
  // `input` from `first` on.
  void add_ranks(const OfCommunicator& one, const std::vector<bool>& unlike,
                 const std::vector<bool>& is_left_out, std::size_t first,
                 ExchangeInput& input) const;
  void add_roots(const OfCommunicator& one, const std::vector<bool>& is_left_out,
                 ExchangeInput& input) const;
  void add_ranks_of_hosts(const OfCommunicator& one, const std::vector<bool>& unlike,
                          ExchangeInput& input) const;
  void add_hosts(const OfCommunicator& one, const std::vector<bool>& unlike,
                 const std::vector<bool>& is_left_out, ExchangeInput& input) const;

  std::vector<OfCommunicator> communicators_;
  std::uint32_t ranks_ = 0;
  std::uint32_t hosts_ = 0;
  std::uint32_t families_ = 0;
  std::uint32_t current_ = 0;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_CHARGE_BLOCKS_H
