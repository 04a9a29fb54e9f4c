// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/divider.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyzer/model/archive.h"
#include "analyzer/mpi/packing.h"

namespace ringside::mpi {
namespace {

using Cuts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // where there must be none

// The last arrivals and groups of all operations, by number.
struct AllArrivals {
  std::vector<std::int64_t> last_ns;
  std::vector<std::uint64_t> groups;
  align::StampErrors errors;

  explicit AllArrivals(const match::AlikeCalls& calls) {
    std::uint64_t all = 0;
    for (std::uint32_t c = 0; c < calls.functions.size(); ++c) {
      all += calls.operations(c);
    }
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

// The communicator of each operation, by number.
std::vector<std::uint32_t> communicators_of(const match::AlikeCalls& calls) {
  std::vector<std::uint32_t> communicators;
  for (std::uint32_t c = 0; c < calls.functions.size(); ++c) {
    communicators.insert(communicators.end(), calls.operations(c), c);
  }
  return communicators;
}

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
std::vector<std::uint32_t> divide_evenly(const match::AlikeCalls& calls,
                                         const std::vector<std::uint32_t>& communicators,
                                         const std::vector<std::uint32_t>& order, const Cuts& none,
                                         std::size_t processes) {
  std::vector<std::int64_t> open(order.size() + 2);  // how many begin there, less those that end
  for (const auto& [first, last] : none) {
    ++open[first + 1];
    --open[last + 1];
  }
  const auto rows_of = [&](std::uint32_t number) {
    return calls.matches.communicators[communicators[number]].members.size();
  };
  std::size_t all = 0;
  for (const std::uint32_t number : order) {
    all += rows_of(number);
  }
  std::vector<std::uint32_t> begins = {0};
  std::size_t before = 0;
  std::int64_t kept_together = 0;
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    kept_together += open[place];
    while (kept_together == 0 && begins.size() < processes &&
           before >= all / processes * begins.size()) {
      begins.push_back(place);
    }
    before += rows_of(order[place]);
  }
  begins.resize(processes, static_cast<std::uint32_t>(order.size()));
  return begins;
}

Packer request_of(Request what, std::string_view text) {
  Packer request;
  request.number(static_cast<std::uint64_t>(what));
  request.bytes(text);
  return request;
}

}  // namespace

void Divider::tell_others(Request what, std::string_view text) {
  const Packer request = request_of(what, text);
  for (int process = 1; process < messages_.processes(); ++process) {
    messages_.send(process, request.packed());
  }
}

template <typename Take>
void Divider::hear_others(const Take& take) {
  for (int process = 1; process < messages_.processes(); ++process) {
    const Message answer = messages_.receive();
    take(answer.from, answer.text);
  }
}

void Divider::begin(const align::Alignment& alignment) {
  Heads heads = leader_.heads(alignment);
  tell_others(Request::kHeads, model::archived(heads));
  owner_.begin(std::move(heads), leader_.keeper());
  AllArrivals all(owner_.calls());
  all.take(owner_.arrivals());
  hear_others([&](int /*process*/, std::string_view text) {
    Arrivals arrivals;
    model::unarchive(text, arrivals);
    all.take(arrivals);
  });
  const std::vector<std::uint32_t> order = all.order();
  std::vector<std::uint32_t> places(order.size());
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    places[order[place]] = place;
  }
  const std::vector<std::uint32_t> communicators = communicators_of(owner_.calls());
  Cuts none;
  keep_groups(all, communicators, places, none);
  tell_others(Request::kOrder, model::archived(places));
  const auto take = [&](const Cuts& more) { none.insert(none.end(), more.begin(), more.end()); };
  take(owner_.inversions(std::move(places)));
  hear_others([&](int /*process*/, std::string_view text) {
    Cuts more;
    model::unarchive(text, more);
    take(more);
  });
  errors_ = std::move(all.errors);
  divide({divide_evenly(owner_.calls(), communicators, order, none,
                        static_cast<std::size_t>(messages_.processes())),
          errors_});
}

void Divider::divide(Division division) {
  tell_others(Request::kDivide, model::archived(division));
  owner_.divide(std::move(division), messages_);
}

// False if the operations must have one owner.
bool Divider::sum_up(std::optional<metrics::RowsBy> rows_by, std::optional<metrics::RowsBy> late_by,
                     metrics::SummedRows& rows, std::string& late) {
  bool is_in_order = true;
  const auto take = [&](SumAnswer&& answer) {
    is_in_order = is_in_order && answer.is_in_order;
    late = std::move(answer.late);
    if (rows_by) {
      metrics::SummedRows more;
      model::unarchive(answer.rows, more);
      rows.take(std::move(more));
    }
  };
  const auto take_text = [&](int /*process*/, std::string_view text) {
    SumAnswer answer;
    model::unarchive(text, answer);
    take(std::move(answer));
  };
  SumRequest request{rows_by, late_by, {}};
  if (!late_by) {
    tell_others(Request::kSum, model::archived(request));
    take(owner_.sum_up(request));
    hear_others(take_text);
    return is_in_order;
  }
  // Lateness depends on the operations before, so one process goes on after the other.
  take(owner_.sum_up(request));
  for (int process = 1; process < messages_.processes(); ++process) {
    request.late = std::exchange(late, {});
    messages_.send(process, request_of(Request::kSum, model::archived(request)).packed());
    take_text(process, messages_.receive().text);
  }
  return is_in_order;
}

// Asks for the durations in those buckets in which the quantiles are.
void Divider::refine(metrics::SummedRows& rows) {
  WantedDurations wanted;
  for (const auto& [key, row] : rows.rows) {
    wanted[key] = row.times.wanted();
  }
  tell_others(Request::kFigures, model::archived(wanted));
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
  hear_others([&](int /*process*/, std::string_view text) {
    FoundDurations found;
    model::unarchive(text, found);
    take(found);
  });
  for (auto& [key, row] : rows.rows) {
    row.times.refine(std::move(all[key]));
  }
}

metrics::FiguresFound Divider::find(const align::Alignment& alignment,
                                    std::optional<metrics::RowsBy> rows_by,
                                    std::optional<metrics::RowsBy> late_by) {
  if (!std::exchange(has_begun_, true)) {
    begin(alignment);
  }
  metrics::SummedRows rows;
  std::string late;
  if (!sum_up(rows_by, late_by, rows, late)) {
    Division whole{std::vector<std::uint32_t>(static_cast<std::size_t>(messages_.processes()),
                                              std::numeric_limits<std::uint32_t>::max()),
                   errors_};
    whole.begins.front() = 0;
    divide(std::move(whole));
    rows = {};
    sum_up(rows_by, late_by, rows, late);
  }
  metrics::FiguresFound found;
  if (rows_by) {
    refine(rows);
    found.rows = metrics::finish_rows(owner_.calls().matches, std::move(rows));
  }
  if (late_by) {
    found.late = owner_.judge(*late_by, late);
  }
  return found;
}

}  // namespace ringside::mpi
