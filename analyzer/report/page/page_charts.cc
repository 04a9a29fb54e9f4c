// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/metrics/percentile.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/page/page_data.h"

namespace ringside::report {
namespace {

constexpr std::size_t kMaps = 8;
constexpr std::size_t kMatrices = 6;
constexpr std::size_t kMatrixSide = 48;
constexpr std::size_t kBars = 64;
constexpr std::size_t kBarsOfLate = 8;

template <typename Part, typename Whole>
std::optional<double> percent(Part part, Whole whole) {
  return whole > 0 ? std::optional(100 * static_cast<double>(part) / static_cast<double>(whole))
                   : std::nullopt;
}

// Sends between two blocks of ranks.
struct Sends {
  std::uint64_t bytes = 0;
  double rated_bytes = 0;  // of pairs whose throughput is known
  double time_ns = 0;      // of these
  double wait_ns = 0;
};

// The bytes that the ranks of a communicator sent each other.
struct Matrix {
  std::uint32_t communicator = 0;
  std::set<std::uint32_t> ranks = {};
  std::vector<const metrics::Pair*> pairs = {};
  double bytes = 0;
};

// The most bytes first.
std::vector<Matrix> find_matrices(const metrics::Network& network) {
  std::vector<Matrix> matrices;
  for (const metrics::Pair& pair : network.pairs) {  // by communicator
    if (matrices.empty() || matrices.back().communicator != pair.communicator) {
      matrices.push_back({pair.communicator});
    }
    Matrix& matrix = matrices.back();
    matrix.ranks.insert({pair.rank, pair.peer});
    matrix.pairs.push_back(&pair);
    matrix.bytes += static_cast<double>(pair.bytes);
  }
  std::stable_sort(matrices.begin(), matrices.end(),
                   [](const Matrix& a, const Matrix& b) { return a.bytes > b.bytes; });
  return matrices;
}

void write_cells(JsonWriter& json, const metrics::Network& network, const Matrix& matrix,
                 const std::vector<std::uint32_t>& ranks, std::size_t per_block) {
  std::map<std::pair<std::size_t, std::size_t>, Sends> cells;
  const auto block_of = [&](std::uint32_t rank) {
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
    return static_cast<std::size_t>(at - ranks.begin()) / per_block;
  };
  for (const metrics::Pair* const pair : matrix.pairs) {
    Sends& sends = cells[{block_of(pair->rank), block_of(pair->peer)}];
    sends.bytes = metrics::add_bytes(sends.bytes, pair->bytes);
    sends.wait_ns += pair->wait_ns;
    if (const auto gb_s = pair->throughput.gb_s()) {
      const auto bytes = static_cast<double>(pair->throughput.bytes);
      sends.rated_bytes += bytes;
      sends.time_ns += bytes / *gb_s;
    }
  }
  json.begin_array("cells");
  for (const auto& [place, sends] : cells) {
    json.begin_row();
    json.integer({}, place.first);
    json.integer({}, place.second);
    json.integer({}, sends.bytes);
    if (sends.rated_bytes > 0 && sends.time_ns > 0) {
      json.number({}, sends.rated_bytes / sends.time_ns, 3);
    } else {
      json.null({});
    }
    if (network.has_steps) {
      json.number({}, sends.wait_ns, 0);
    } else {
      json.null({});
    }
    json.end_row();
  }
  json.end_array();
}

// As --from and --to take it: seconds since the first call of all.
void write_moment(JsonWriter& json, std::int64_t at_ns, std::int64_t zero_ns) {
  json.number({}, static_cast<double>(at_ns - zero_ns) / 1e9, 6);
}

void write_map(JsonWriter& json, const PageData& data, const WaitMap& map, std::int64_t zero_ns) {
  const std::vector<metrics::Iteration>* iterations = nullptr;
  for (const metrics::RunIterations& run : data.iterations) {
    if (run.run == map.run && map.has_iterations && !data.matches.is_part) {
      iterations = &run.iterations;
    }
  }
  json.begin_object();
  json.integer("run", map.run + 1);
  json.text("columns_are", map.has_iterations ? "iterations" : "time");
  json.integer("ranks", map.ranks);
  // The end of the last column may not be known: it counts as if it were as long as the others.
  std::vector<double> known_ns;
  for (const WaitColumn& column : map.columns) {
    if (column.duration_ns > 0) {
      known_ns.push_back(static_cast<double>(column.duration_ns));
    }
  }
  std::sort(known_ns.begin(), known_ns.end());
  const double usual_ns = known_ns.empty() ? 0 : metrics::median(known_ns);
  json.begin_array("columns");
  for (const WaitColumn& column : map.columns) {
    json.begin_row();
    json.integer({}, column.first);
    json.integer({}, column.last);
    write_integer(json, column.start_ns);
    write_integer(json, column.duration_ns);
    if (iterations != nullptr) {
      const metrics::Iteration& last = (*iterations)[column.last - 1];
      write_moment(json, (*iterations)[column.first - 1].start_ns, zero_ns);
      // A call at the end is of the next iteration, and --to would take it.
      write_moment(json, last.start_ns + last.duration_ns.value_or(0) - 1000, zero_ns);
    }
    json.end_row();
  }
  json.end_array();
  json.begin_array("rows");
  for (const WaitRow& row : map.rows) {
    json.begin_object();
    json.text("label", row.label);
    json.text("host", row.host);
    json.integer("ranks", row.ranks);
    write_integer(json, row.others_waited_ns, "others_waited_ns");
    json.begin_row("cells_ns");
    for (const std::int64_t cell_ns : row.cells_ns) {
      write_integer(json, cell_ns);
    }
    json.end_row();
    json.begin_row("cells_percent");
    for (std::size_t i = 0; i < row.cells_ns.size(); ++i) {
      const auto duration_ns = static_cast<double>(map.columns[i].duration_ns);
      json.number({},
                  percent(row.cells_ns[i], (duration_ns > 0 ? duration_ns : usual_ns) *
                                               static_cast<double>(map.ranks)),
                  3);
    }
    json.end_row();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

// Ranks whose times are added up.
struct ShareBar {
  std::string first;
  std::string last;
  bool is_straggler = false;
  std::size_t ranks = 0;
  metrics::RankShares sum;

  void add(const metrics::RankShares& rank, bool is_late) {
    is_straggler = is_late;
    first = ranks == 0 ? rank.label : first;
    last = rank.label;
    ++ranks;
    for (const auto part : {&metrics::RankShares::span_ns, &metrics::RankShares::transfer_ns,
                            &metrics::RankShares::waiting_ns, &metrics::RankShares::enqueued_ns,
                            &metrics::RankShares::outside_ns}) {
      sum.*part = add_saturating(sum.*part, rank.*part);
    }
  }
};

// Late ranks by themselves, the others together where there are too many.
std::vector<ShareBar> share_bars(const PageData& data) {
  std::set<std::string_view> late;
  for (const auto& run : data.replays.runs) {
    if (run->slow().worst) {
      for (const std::uint32_t rank : run->slow().worst->ranks) {
        late.insert(run->job().ranks[rank].label);
      }
    }
  }
  std::vector<const metrics::RankShares*> ranks;
  for (const metrics::RankShares& rank : data.shares.ranks) {
    if (rank.span_ns > 0) {
      ranks.push_back(&rank);
    }
  }
  std::vector<ShareBar> bars;
  const bool all_fit = ranks.size() <= kBars;
  std::erase_if(ranks, [&](const metrics::RankShares* rank) {
    const bool is_alone = !all_fit && bars.size() < kBarsOfLate && late.contains(rank->label);
    if (is_alone) {
      bars.emplace_back().add(*rank, true);
    }
    return is_alone;
  });
  const std::size_t each = all_fit ? 1 : (ranks.size() + kBars / 2 - 1) / (kBars / 2);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i % each == 0) {
      bars.emplace_back();
    }
    bars.back().add(*ranks[i], all_fit && late.contains(ranks[i]->label));
  }
  return bars;
}

}  // namespace

void write_share_bars(JsonWriter& json, const PageData& data) {
  json.begin_array("share_bars");
  for (const ShareBar& bar : share_bars(data)) {
    json.begin_object();
    write_cell(json, {"first", {}, Shown::kRank}, bar.first);
    write_cell(json, {"last", {}, Shown::kRank}, bar.last);
    json.integer("ranks", bar.ranks);
    json.boolean("is_straggler", bar.is_straggler);
    write_integer(json, bar.sum.span_ns, "span_ns");
    const auto part = [&](const std::string& name, std::int64_t time_ns, bool is_known = true) {
      if (is_known) {
        write_integer(json, time_ns, name + "_ns");
      } else {
        json.null(name + "_ns");
      }
      json.number(name + "_percent", is_known ? percent(time_ns, bar.sum.span_ns) : std::nullopt,
                  3);
    };
    part("transfer", bar.sum.transfer_ns);
    part("waiting", bar.sum.waiting_ns, data.knows_waits());
    part("enqueued", bar.sum.enqueued_ns);
    part("outside", bar.sum.outside_ns);
    json.end_object();
  }
  json.end_array();
}

void write_wait_maps(JsonWriter& json, const PageData& data) {
  json.begin_array("wait_maps");
  for (std::size_t i = 0; i < std::min(data.wait_maps.size(), kMaps); ++i) {
    write_map(json, data, data.wait_maps[i], data.shares.first_call_ns);
  }
  json.end_array();
  json.integer("wait_maps_left_out",
               data.wait_maps.size() - std::min(data.wait_maps.size(), kMaps));
}

void write_matrices(JsonWriter& json, const metrics::Network& network) {
  auto matrices = find_matrices(network);
  const std::size_t left_out = matrices.size() - std::min(matrices.size(), kMatrices);
  matrices.resize(matrices.size() - left_out);
  json.begin_array("matrices");
  for (const Matrix& matrix : matrices) {
    const std::vector<std::uint32_t> ranks(matrix.ranks.begin(), matrix.ranks.end());
    const std::size_t per_block = (ranks.size() + kMatrixSide - 1) / kMatrixSide;
    json.begin_object();
    json.text("communicator", label_of(network.communicators[matrix.communicator]));
    json.boolean("has_steps", network.has_steps);
    json.begin_array("blocks");
    for (std::size_t i = 0; i < ranks.size(); i += per_block) {
      json.begin_row();
      json.integer({}, ranks[i]);
      json.integer({}, ranks[std::min(i + per_block, ranks.size()) - 1]);
      json.end_row();
    }
    json.end_array();
    write_cells(json, network, matrix, ranks, per_block);
    json.end_object();
  }
  json.end_array();
  json.integer("matrices_left_out", left_out);
}

}  // namespace ringside::report
