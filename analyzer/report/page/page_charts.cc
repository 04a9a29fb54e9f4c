// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/report/page/page_data.h"

namespace ringside::report {
namespace {

constexpr std::size_t kMaps = 8;
constexpr std::size_t kMatrices = 6;
constexpr std::size_t kMatrixSide = 48;

// Sends between two blocks of ranks.
struct Sends {
  std::uint64_t bytes = 0;
  double rated_bytes = 0;  // of pairs whose throughput is known
  double time_ns = 0;      // of these
  double wait_ns = 0;
};

struct Matrix {
  std::set<std::uint32_t> ranks;
  std::vector<const metrics::Pair*> pairs;
  double bytes = 0;
};

std::map<std::uint32_t, Matrix> by_communicator(const metrics::Network& network) {
  std::map<std::uint32_t, Matrix> matrices;
  for (const metrics::Pair& pair : network.pairs) {
    Matrix& matrix = matrices[pair.communicator];
    matrix.ranks.insert({pair.rank, pair.peer});
    matrix.pairs.push_back(&pair);
    matrix.bytes += static_cast<double>(pair.bytes);
  }
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

void write_map(JsonWriter& json, const metrics::LateMap& map) {
  json.begin_object();
  json.integer("run", map.run + 1);
  json.text("columns_are", map.has_iterations ? "iterations" : "time");
  json.integer("ranks", map.ranks);
  json.begin_array("columns");
  for (const metrics::LateColumn& column : map.columns) {
    json.begin_row();
    json.integer({}, column.first);
    json.integer({}, column.last);
    write_integer(json, column.start_ns);
    write_integer(json, column.duration_ns);
    json.integer({}, column.operations);
    json.integer({}, column.decided);
    json.end_row();
  }
  json.end_array();
  json.begin_array("rows");
  for (const metrics::LateRow& row : map.rows) {
    json.begin_object();
    json.text("label", row.label);
    json.text("host", row.host);
    json.integer("ranks", row.ranks);
    write_integer(json, row.caused_wait_ns, "caused_wait_ns");
    json.begin_row("cells_ns");
    for (const std::int64_t cell_ns : row.cells_ns) {
      write_integer(json, cell_ns);
    }
    json.end_row();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

void write_late_maps(JsonWriter& json, const PageData& data) {
  json.begin_array("late_maps");
  for (std::size_t i = 0; i < std::min(data.late_maps.size(), kMaps); ++i) {
    write_map(json, data.late_maps[i]);
  }
  json.end_array();
  json.integer("late_maps_left_out",
               data.late_maps.size() - std::min(data.late_maps.size(), kMaps));
}

void write_matrices(JsonWriter& json, const metrics::Network& network) {
  const auto matrices = by_communicator(network);
  std::vector<std::pair<double, std::uint32_t>> most;
  most.reserve(matrices.size());
  for (const auto& [communicator, matrix] : matrices) {
    most.emplace_back(-matrix.bytes, communicator);
  }
  std::sort(most.begin(), most.end());
  const std::size_t left_out = most.size() - std::min(most.size(), kMatrices);
  most.resize(most.size() - left_out);
  const auto labels = distinct_labels(network.communicators);
  json.begin_array("matrices");
  for (const auto& [bytes, communicator] : most) {
    const Matrix& matrix = matrices.at(communicator);
    const std::vector<std::uint32_t> ranks(matrix.ranks.begin(), matrix.ranks.end());
    const std::size_t per_block = (ranks.size() + kMatrixSide - 1) / kMatrixSide;
    json.begin_object();
    json.text("communicator", labels[communicator]);
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
