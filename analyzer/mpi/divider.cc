// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/divider.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyzer/metrics/rows/rows.h"
#include "analyzer/model/archive.h"
#include "analyzer/mpi/asking.h"
#include "analyzer/mpi/iterations_leader.h"

namespace ringside::mpi {
namespace {

using Cuts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // where there must be none

// The last arrivals and groups of all operations, by number.
struct AllArrivals {
  std::vector<std::int64_t> last_ns;
  std::vector<std::uint64_t> groups;
  align::StampErrors errors;

  explicit AllArrivals(std::uint64_t all) {
    last_ns.assign(all, Arrivals::kNone);
    groups.resize(all);
  }

  void take(const Arrivals& arrivals) {
    for (std::size_t i = 0; i < arrivals.numbers.size(); ++i) {
      const std::uint32_t number = arrivals.numbers[i];
      last_ns[number] = std::max(last_ns[number], arrivals.last_ns[i]);
      groups[number] = std::max(groups[number], arrivals.groups[i]);
    }
    errors.take(arrivals.errors);
  }

  // The numbers by the last arrival, as facts has it.
  std::vector<std::uint32_t> order() const {
    const auto key = [&](std::uint32_t number) {
      return std::pair(last_ns[number] == Arrivals::kNone ? 0 : last_ns[number], number);
    };
    std::vector<std::uint32_t> order(last_ns.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return order;
  }
};

// All operations by number: the communicator of each, and how many rows it has.
struct AllOperations {
  std::vector<std::uint32_t> communicators;
  std::vector<std::uint32_t> rows;

  AllOperations(const Owner& owner, const match::Matches& here) {
    const std::vector<match::Communicator>& all = here.communicators;
    for (std::uint32_t c = 0; c < all.size(); ++c) {
      communicators.insert(communicators.end(), owner.everywhere()[c], c);
      rows.resize(communicators.size(), static_cast<std::uint32_t>(all[c].members.size()));
    }
    owner.for_each_number(here, [&](std::uint32_t number, const match::MatchedOperation& matched) {
      rows[number] = matched.part_count;
    });
  }
};

// Operations that were called together are one process's.
void keep_groups(const AllArrivals& all, const std::vector<std::uint32_t>& communicators,
                 const std::vector<std::uint32_t>& places, Cuts& none) {
  std::vector<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>> members;
  for (std::uint32_t number = 0; number < places.size(); ++number) {
    if (all.groups[number] != 0) {
      members.emplace_back(communicators[number], all.groups[number], places[number]);
    }
  }
  std::sort(members.begin(), members.end());
  for (std::size_t i = 1; i < members.size(); ++i) {
    const auto& [communicator, group, place] = members[i - 1];
    if (std::get<0>(members[i]) == communicator && std::get<1>(members[i]) == group) {
      none.emplace_back(place, std::get<2>(members[i]));
    }
  }
}

// Gives each process about as many rows of ranks, in the order of the operations.
std::vector<std::uint32_t> divide_evenly(const std::vector<std::uint32_t>& rows,
                                         const std::vector<std::uint32_t>& order, const Cuts& none,
                                         std::size_t processes) {
  std::vector<std::int64_t> open(order.size() + 2);  // how many begin there, less those that end
  for (const auto& [first, last] : none) {
    ++open[first + 1];
    --open[last + 1];
  }
  const std::size_t all = std::accumulate(rows.begin(), rows.end(), std::size_t{0});
  std::vector<std::uint32_t> begins = {0};
  std::size_t before = 0;
  std::int64_t kept_together = 0;
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    kept_together += open[place];
    while (kept_together == 0 && begins.size() < processes &&
           before >= all / processes * begins.size()) {
      begins.push_back(place);
    }
    before += rows[order[place]];
  }
  begins.resize(processes, static_cast<std::uint32_t>(order.size()));
  return begins;
}

}  // namespace

void Divider::tell_matched(const facts::Facts& here) {
  const match::Matches& matches = here.matches();
  std::vector<MatchedRows> of_processes(static_cast<std::size_t>(messages_.processes()));
  std::map<std::uint32_t, std::vector<match::Part>> parts;  // by process
  std::uint32_t communicator = 0;
  std::uint32_t place = 0;
  for (const match::MatchedOperation& matched : matches.operations) {
    place = matched.communicator == communicator ? place : 0;
    communicator = matched.communicator;
    parts.clear();
    for (match::Part part : match::parts_of(matches, matched)) {
      const RowPlace& row = rows_matched_[part.file][part.operation];
      part.operation = row.place;
      parts[row.process].push_back(part);
    }
    for (const auto& [process, own] : parts) {
      of_processes[process].add(place, matched, own);
    }
    ++place;
  }
  for (int process = 1; process < messages_.processes(); ++process) {
    MatchedRows& matched = of_processes[static_cast<std::size_t>(process)];
    messages_.send(process, request_of(Request::kMatched, model::archived(matched)).packed());
  }
  owner_.take(std::move(of_processes.front()));
}

void Divider::tell_heads(const align::Alignment& alignment) {
  if (std::exchange(knows_heads_, true)) {
    return;
  }
  Heads heads = leader_.heads(alignment);
  tell_others(messages_, Request::kHeads, model::archived(heads));
  owner_.begin(std::move(heads), leader_.keeper());
}

void Divider::begin(const facts::Facts& here) {
  if (std::exchange(has_begun_, true)) {
    return;
  }
  tell_heads(here.alignment());
  const std::vector<int> keepers = leader_.keepers_of(here.traces());
  for (std::size_t file = 0; file < keepers.size(); ++file) {
    std::vector<RowPlace>& rows = rows_matched_.emplace_back();
    const std::size_t count = here.traces().files[file].operations.size();
    for (std::uint32_t row = 0; row < count; ++row) {
      rows.push_back({static_cast<std::uint32_t>(keepers[file]), row});
    }
  }
  tell_matched(here);
  std::vector<std::uint64_t> counts(here.matches().communicators.size());
  for (const match::MatchedOperation& matched : here.matches().operations) {
    ++counts[matched.communicator];
  }
  tell_others(messages_, Request::kArrivals, model::archived(counts));
  const Arrivals own = owner_.arrivals(std::move(counts));
  const AllOperations operations(owner_, here.matches());
  AllArrivals all(operations.rows.size());
  all.take(own);
  hear_others(messages_, [&](std::string_view text) {
    Arrivals arrivals;
    model::unarchive(text, arrivals);
    all.take(arrivals);
  });
  const std::vector<std::uint32_t> order = all.order();
  places_.resize(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    places_[order[place]] = place;
  }
  Cuts none;
  keep_groups(all, operations.communicators, places_, none);
  tell_others(messages_, Request::kPlaces, model::archived(places_));
  owner_.set_places(std::vector(places_));
  errors_ = std::move(all.errors);
  begins_ =
      divide_evenly(operations.rows, order, none, static_cast<std::size_t>(messages_.processes()));
}

void Divider::divide(const facts::Facts& here) {
  if (begins_.empty()) {
    return;
  }
  Division division{std::exchange(begins_, {}), errors_};
  // Those of a file come to their owners in the order of the processes that had them.
  constexpr std::uint32_t kNobody = 0xFFFFFFFF;
  const match::Matches& matches = here.matches();
  std::vector<std::vector<std::uint32_t>> owners;  // of rows_matched_
  for (const std::vector<RowPlace>& rows : rows_matched_) {
    owners.emplace_back(rows.size(), kNobody);
  }
  owner_.for_each_number(matches,
                         [&](std::uint32_t number, const match::MatchedOperation& matched) {
                           const std::uint32_t owner = division.owner_of(places_[number]);
                           for (const match::Part& part : match::parts_of(matches, matched)) {
                             owners[part.file][part.operation] = owner;
                           }
                         });
  for (std::size_t file = 0; file < rows_matched_.size(); ++file) {
    std::vector<RowPlace>& rows = rows_matched_[file];
    std::vector<std::uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return rows[a] < rows[b]; });
    std::map<std::uint32_t, std::uint32_t> next;  // by owner
    for (const std::uint32_t row : order) {
      const std::uint32_t owner = owners[file][row];
      rows[row] = {owner, next[owner]++};
    }
  }
  tell_matched(here);
  tell_others(messages_, Request::kDivide, model::archived(division));
  leader_.count_rows_sent(owner_.divide(std::move(division), messages_));
}

// Asks for the durations in those buckets in which the quantiles are.
void Divider::refine(metrics::SummedRows& rows) {
  WantedDurations wanted;
  for (const auto& [key, row] : rows.rows) {
    wanted[key] = row.times.wanted();
  }
  tell_others(messages_, Request::kFigures, model::archived(wanted));
  FoundDurations all;
  const auto take = [&](const FoundDurations& found) {
    for (const auto& [key, columns] : found) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        for (const auto& [duration_ns, times] : columns[column]) {
          all[key][column][duration_ns] += times;
        }
      }
    }
  };
  take(owner_.find(wanted));
  hear_others(messages_, [&](std::string_view text) {
    FoundDurations found;
    model::unarchive(text, found);
    take(found);
  });
  for (auto& [key, row] : rows.rows) {
    row.times.refine(std::move(all[key]));
  }
}

std::vector<metrics::CommunicatorRows> Divider::rows(const facts::Facts& here, metrics::RowsBy by) {
  begin(here);
  divide(here);
  tell_others(messages_, Request::kSum, model::archived(by));
  metrics::SummedRows summed;
  const auto take = [&](std::string_view text) {
    metrics::SummedRows more;
    model::unarchive(text, more);
    summed.take(std::move(more));
  };
  take(model::archived(owner_.sum_up(by)));
  hear_others(messages_, take);
  refine(summed);
  auto rows = metrics::finish_rows(owner_.calls().matches, std::move(summed));
  std::vector<metrics::CommunicatorRows> own = metrics::make_rows(here, by);
  for (std::uint32_t c = 0; c < own.size(); ++c) {
    if (owner_.calls().needs_rows(c)) {
      rows[c] = std::move(own[c]);
    }
  }
  return rows;
}

replay::JobParts Divider::job_parts(const facts::Facts& here, metrics::RowsBy by) {
  begin(here);
  divide(here);
  tell_others(messages_, Request::kJobParts, model::archived(by));
  replay::JobParts all = owner_.job_parts(by);
  hear_others(messages_, [&](std::string_view text) {
    replay::JobParts more;
    model::unarchive(text, more);
    all.take(more);
  });
  return all;
}

metrics::Network Divider::network(const model::Traces& traces, const align::Alignment& alignment,
                                  const std::vector<match::Communicator>& communicators) {
  tell_heads(alignment);
  std::vector<int> keepers = leader_.keepers_of(traces);
  tell_others(messages_, Request::kNetwork, model::archived(keepers));
  metrics::FoundLinks all = owner_.links(keepers, messages_);
  hear_others(messages_, [&](std::string_view text) {
    metrics::FoundLinks more;
    model::unarchive(text, more);
    all.take(std::move(more));
  });
  return metrics::judge_network(traces, std::move(all), communicators);
}

std::vector<metrics::RunIterations> Divider::iterations(const facts::Facts& here,
                                                        std::size_t length) {
  begin(here);
  return IterationsLeader(messages_, owner_, here).find(length);
}

metrics::Overlap Divider::overlap(const facts::Facts& here) {
  begin(here);
  metrics::Overlap all;
  const auto take = [&](std::string_view text) {
    metrics::Overlap more;
    model::unarchive(text, more);
    all.take(more);
  };
  tell_others(messages_, Request::kRunning, {});
  all = owner_.running();
  hear_others(messages_, take);
  divide(here);
  tell_others(messages_, Request::kWaiting, {});
  all.take(owner_.waiting(messages_));
  hear_others(messages_, take);
  return all;
}

metrics::FoundShares Divider::shares(const facts::Facts& here) {
  begin(here);
  divide(here);
  tell_others(messages_, Request::kShares, {});
  metrics::FoundShares all = owner_.shares(messages_);
  hear_others(messages_, [&](std::string_view text) {
    metrics::FoundShares more;
    model::unarchive(text, more);
    all.take(std::move(more));
  });
  return all;
}

}  // namespace ringside::mpi
