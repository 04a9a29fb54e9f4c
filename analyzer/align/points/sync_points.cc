// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/points/sync_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/align/host_bounds.h"
#include "analyzer/align/points/step_points.h"
#include "analyzer/align/points/tightest_points.h"
#include "analyzer/match/executions.h"
#include "analyzer/model/parallel.h"

namespace ringside::align {
namespace {

// The points of some operations that follow each other.
struct Portion {
  SyncPoints points;
  std::uint32_t series = 0;  // the last one's number, from where the portion begins
};

class Collector {
 public:
  Collector(const model::Traces& traces, const match::Matches& matches, const HostClocks& clocks,
            const StampErrors& errors, std::int64_t zero_ns)
      : traces_(traces), matches_(matches), clocks_(clocks), errors_(errors) {
    hosts_.resize(clocks.hosts.size());
    made_.zero_ns = zero_ns;
  }

  Portion collect(std::size_t begin, std::size_t end) {
    const auto& operations = matches_.operations;
    std::vector<std::uint32_t> chosen;
    std::vector<std::uint32_t> series_of_chosen;
    std::uint32_t series = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_repeated =
          (i > 0 && is_same_number(operations[i - 1], operations[i])) ||
          (i + 1 < operations.size() && is_same_number(operations[i], operations[i + 1]));
      series += begins_series(i) ? 1 : 0;
      if (!is_repeated && !operations[i].is_aligned && spans_hosts(operations[i])) {
        chosen.push_back(static_cast<std::uint32_t>(i));
        series_of_chosen.push_back(series);
      }
    }
    match::Executions memory;
    match::read_parts(traces_, matches_, chosen, memory,
                      [&](std::size_t i, Parts parts, Executions executions) {
                        series_ = series_of_chosen[i];
                        add(operations[chosen[i]], parts, executions);
                      });
    return {std::move(made_), series};
  }

 private:
  using Parts = std::span<const match::Part>;            // of an operation
  using Executions = std::span<const model::Execution>;  // of its parts, in their order

  struct OfHost {
    HostBounds bounds;
    bool is_used = false;
  };

  // One end of a transfer of a group.
  struct TransferEnd {
    std::uint32_t source = 0;  // ranks
    std::uint32_t destination = 0;
    bool receives = false;
    std::uint32_t place = 0;  // of its part

    auto ranks() const { return std::tie(source, destination); }
  };

  // A transfer between two hosts.
  struct Transfer {
    std::uint32_t source = 0;  // hosts
    std::uint32_t destination = 0;
    double start_ns = 0;
    double end_ns = 0;

    // Clocks drift apart by less than a microsecond within such a cell of time.
    auto cell() const { return std::tuple(source, destination, std::floor(start_ns / 1e6)); }
    double left_ns() const { return end_ns - start_ns; }
  };

  static bool is_same_number(const match::MatchedOperation& a, const match::MatchedOperation& b) {
    return a.way == match::Way::kSequence && b.way == a.way && a.communicator == b.communicator &&
           a.func == b.func && a.number == b.number;
  }

  bool begins_series(std::size_t index) const {
    const auto key = [](const match::MatchedOperation& o) {
      return std::tuple(o.communicator, o.way, o.pattern, o.func, o.source, o.destination);
    };
    const auto& operations = matches_.operations;
    return index > 0 && key(operations[index - 1]) != key(operations[index]);
  }

  bool spans_hosts(const match::MatchedOperation& operation) const {
    const auto parts = match::parts_of(matches_, operation);
    return std::any_of(parts.begin(), parts.end(), [&](const match::Part& part) {
      return clocks_.host_of_file[part.file] != clocks_.host_of_file[parts.front().file];
    });
  }

  void add(const match::MatchedOperation& operation, Parts parts, Executions executions) {
    switch (operation.way) {
      case match::Way::kSequence:
        add_collective(operation, parts, executions);
        break;
      case match::Way::kPair:
        add_pair(parts, executions);
        break;
      case match::Way::kGroup:
        add_group(operation, parts, executions);
        break;
      case match::Way::kOrder:
      case match::Way::kAligned:
        break;
    }
  }

  std::optional<std::uint32_t> rank_of(const match::MatchedOperation& operation,
                                       const match::Part& part) const {
    return matches_.communicators[operation.communicator].members[part.member].rank;
  }

  bool is_receive(const match::Part& part) const {
    const auto call = traces_.files[part.file].operations.call(part.operation);
    return traces_.names.text(call.func) == "Recv";
  }

  Times times_of(std::uint32_t file, const model::Execution& operation) const {
    return align::times_of(clocks_.since_epoch_ns[file] - made_.zero_ns,
                           errors_.of(file, operation), operation);
  }

  void add_collective(const match::MatchedOperation& matched, Parts parts, Executions executions) {
    const auto rule = rule_of(traces_.names.text(matched.func));
    if (!rule) {
      return;
    }
    const model::Execution& first = executions.front();
    bool is_usable = first.bytes != 0U && (rule->waits == Waits::kAllForAll || first.root);
    for (std::size_t i = 0; i < executions.size(); ++i) {
      const match::Part& part = parts[i];
      const model::Execution& operation = executions[i];
      made_.untrusted += operation.graph ? 1 : 0;
      is_usable = is_usable && !operation.graph && operation.bytes == first.bytes &&
                  operation.root == first.root;
      if (!is_usable) {
        continue;
      }
      use_host(part.file).take(times_of(part.file, operation), rule->waits,
                               first.root && rank_of(matched, part) == first.root);
    }
    make_point(rule->kind, is_usable);
  }

  void add_pair(Parts parts, Executions executions) {
    if (parts.size() == 2) {
      add_transfer(parts[0].file, executions[0], parts[1].file, executions[1]);
      make_transfer_points();
    }
  }

  void add_transfer(std::uint32_t sender, const model::Execution& sent, std::uint32_t receiver,
                    const model::Execution& received) {
    const std::uint32_t source = clocks_.host_of_file[sender];
    const std::uint32_t destination = clocks_.host_of_file[receiver];
    if (source == destination) {
      return;
    }
    if (sent.graph || received.graph || sent.bytes != received.bytes || sent.bytes == 0U) {
      return;
    }
    const double start_ns = times_of(sender, sent).started_ns;
    const double end_ns = times_of(receiver, received).end_ns;
    if (start_ns > kNoStart && end_ns < kNoEnd) {
      transfers_.push_back({source, destination, start_ns, end_ns});
    }
  }

  // The tightest transfer from one host to another says what all do that begin at about that time.
  void make_transfer_points() {
    std::sort(transfers_.begin(), transfers_.end(), [](const Transfer& a, const Transfer& b) {
      return std::tuple(a.cell(), a.left_ns()) < std::tuple(b.cell(), b.left_ns());
    });
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      const Transfer& one = transfers_[i];
      if (i == 0 || one.cell() != transfers_[i - 1].cell()) {
        made_.touches.push_back({made_.points, one.source, PointKind::kPair, one.start_ns, kNoEnd});
        made_.touches.push_back(
            {made_.points, one.destination, PointKind::kPair, kNoStart, one.end_ns});
        end_point();
      }
    }
    transfers_.clear();
  }

  // If every rank sends to every other, all of them wait for all: one point says nearly as much as
  // the pairs. Else only those wait that get something.
  void add_group(const match::MatchedOperation& matched, Parts parts, Executions executions) {
    ends_.clear();
    for (std::size_t i = 0; i < executions.size(); ++i) {
      const match::Part& part = parts[i];
      const model::Execution& operation = executions[i];
      const auto rank = rank_of(matched, part);
      if (operation.graph || !rank || !operation.peer) {
        return;
      }
      const bool receives = is_receive(part);
      if (operation.bytes != 0U && *rank != *operation.peer) {
        ends_.push_back({receives ? *operation.peer : *rank, receives ? *rank : *operation.peer,
                         receives, static_cast<std::uint32_t>(i)});
      }
    }
    std::stable_sort(ends_.begin(), ends_.end(), [](const TransferEnd& a, const TransferEnd& b) {
      return std::tuple(a.ranks(), a.receives) < std::tuple(b.ranks(), b.receives);
    });
    pairs_.clear();
    for (std::size_t i = 1; i < ends_.size(); ++i) {
      if (ends_[i].receives && !ends_[i - 1].receives && ends_[i].ranks() == ends_[i - 1].ranks()) {
        pairs_.emplace_back(ends_[i - 1].place, ends_[i].place);
      }
    }
    const std::uint64_t ranks = matches_.communicators[matched.communicator].members.size();
    if (pairs_.size() == ranks * (ranks - 1)) {
      add_all_to_all(parts, executions);
      return;
    }
    for (const auto& [send, receive] : pairs_) {
      add_transfer(parts[send].file, executions[send], parts[receive].file, executions[receive]);
    }
    make_transfer_points();
  }

  // A rank has got all when its last receive ends, and that is after the first send of each.
  void add_all_to_all(Parts parts, Executions executions) {
    for (std::size_t first = 0; first < parts.size();) {
      Times rank{kNoEnd, kNoEnd, kNoStart};
      std::size_t last = first;
      for (; last < parts.size() && parts[last].member == parts[first].member; ++last) {
        const Times times = times_of(parts[last].file, executions[last]);
        if (is_receive(parts[last])) {
          rank.end_ns = std::max(rank.end_ns, times.end_ns);
        } else {
          rank.started_ns = std::min(rank.started_ns, times.started_ns);
        }
      }
      use_host(parts[first].file).take(rank, Waits::kAllForAll, false);
      first = last;
    }
    make_point(PointKind::kAlltoAll, true);
  }

  HostBounds& use_host(std::uint32_t file) {
    const std::uint32_t index = clocks_.host_of_file[file];
    OfHost& host = hosts_[index];
    if (!host.is_used) {
      host = {{}, true};
      used_.push_back(index);
    }
    return host.bounds;
  }

  void make_point(PointKind kind, bool is_usable) {
    bounds_.clear();
    for (const std::uint32_t index : used_) {
      hosts_[index].is_used = false;
      bounds_.emplace_back(index, hosts_[index].bounds);
    }
    used_.clear();
    if (is_usable) {
      add_point(kind, series_, bounds_, made_);
    }
  }

  void end_point() {
    made_.series.push_back(series_);
    ++made_.points;
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const HostClocks& clocks_;
  const StampErrors& errors_;
  SyncPoints made_;
  std::vector<OfHost> hosts_;
  std::vector<std::pair<std::uint32_t, HostBounds>> bounds_;  // of the point that is being made
  std::vector<std::uint32_t> used_;  // of hosts_, by the point that is being made
  // These are of one operation. They are members so that their memory is used again.
  std::vector<TransferEnd> ends_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;  // places of a send and its receive
  std::vector<Transfer> transfers_;
  std::uint32_t series_ = 0;  // of the operation that is being added
};

// Points are made of so many operations that follow each other, then thinned if there are many.
constexpr std::size_t kPointPortion = 256;

// The begin of the first trace.
std::int64_t zero_of(const model::Traces& traces, const HostClocks& clocks) {
  return traces.files.empty() ? 0
                              : clocks.since_epoch_ns.front() +
                                    std::clamp<std::int64_t>(traces.files.front().process.start_ns,
                                                             0, std::int64_t{1} << 60);
}

void append(const Portion& portion, std::uint32_t first_series, SyncPoints& made) {
  for (Touch touch : portion.points.touches) {
    touch.point += made.points;
    made.touches.push_back(touch);
  }
  for (const std::uint32_t series : portion.points.series) {
    made.series.push_back(first_series + series);
  }
  made.points += portion.points.points;
  made.untrusted += portion.points.untrusted;
}

}  // namespace

const char* point_kind_name(PointKind kind) {
  constexpr std::array<const char*, kPointKinds> kNames = {
      "AllReduce", "AllGather", "ReduceScatter", "AlltoAll",  "Broadcast",
      "Reduce",    "Gather",    "Scatter",       "Send/Recv", "network steps"};
  return kNames[static_cast<std::size_t>(kind)];
}

double host_time_ns(std::int64_t since_zero_ns, std::int64_t time_ns) {
  constexpr double kMost_ns = 1e18;
  return static_cast<double>(since_zero_ns) +
         std::clamp(static_cast<double>(time_ns), -kMost_ns, kMost_ns);
}

double host_time_ns(const HostClocks& clocks, std::int64_t zero_ns, std::uint32_t file,
                    std::int64_t time_ns) {
  return host_time_ns(clocks.since_epoch_ns[file] - zero_ns, time_ns);
}

SyncPoints find_sync_points(const model::Traces& traces, const match::Matches& matches,
                            const HostClocks& clocks, const StampErrors& errors) {
  SyncPoints made;
  made.untrusted = matches.untrusted;
  made.zero_ns = zero_of(traces, clocks);
  TightestPoints tightest;
  std::uint32_t series = 0;
  const std::size_t all = matches.operations.size();
  for (std::size_t first = 0; first < all; first += 4 * core_count() * kPointPortion) {
    const std::size_t count =
        std::min<std::size_t>(4 * core_count(), (all - first + kPointPortion - 1) / kPointPortion);
    std::vector<Portion> portions(count);
    for_each_on_cores(count, [&](std::size_t /*thread*/, std::size_t i) {
      const std::size_t begin = first + i * kPointPortion;
      portions[i] = Collector(traces, matches, clocks, errors, made.zero_ns)
                        .collect(begin, std::min(begin + kPointPortion, all));
    });
    // Points are thinned portion by portion, however many were collected at once.
    for (std::size_t i = 0; i < count; ++i) {
      append(portions[i], series, made);
      series += portions[i].series;
      if (first + (i + 1) * kPointPortion <= all) {
        tightest.thin_if_many(made);
      }
    }
  }
  tightest.thin_if_many(made);
  add_step_points(traces, matches, clocks, made);
  tightest.thin_if_many(made);
  return made;
}

}  // namespace ringside::align
