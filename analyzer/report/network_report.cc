// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/network_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/report/numbers.h"
#include "analyzer/report/summary.h"

namespace ringside::report {
namespace {

using metrics::Link;
using metrics::Network;

constexpr std::size_t kMatrixRanks = 16;
constexpr std::size_t kMostFindings = 20;

Cell number_cell(const std::optional<std::uint32_t>& number) {
  return number ? Cell(std::uint64_t{*number}) : Cell();
}

std::string number_text(const std::optional<std::uint32_t>& number) {
  return number ? std::to_string(*number) : std::string("?");
}

class NetworkReport {
 public:
  NetworkReport(const model::Traces& traces, const Network& network, std::size_t top,
                bool is_for_people)
      : traces_(traces), network_(network), top_(top), is_for_people_(is_for_people) {}

  Document make() {
    document_.command = "network";
    add_findings();
    add_links();
    add_matrices();
    add_notes();
    return std::move(document_);
  }

 private:
  struct Pair {
    std::uint64_t bytes = 0;
    double transfer_ns = 0;
    double wait_ns = 0;
  };
  using PairKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  std::string label(const Link& link) const {
    return label_of(network_.communicators[link.communicator]);
  }

  // The slowest first; then where the most time went.
  std::vector<const Link*> ordered() const {
    std::vector<const Link*> links;
    links.reserve(network_.links.size());
    for (const Link& link : network_.links) {
      links.push_back(&link);
    }
    std::stable_sort(links.begin(), links.end(), [](const Link* a, const Link* b) {
      const auto rank = [](const Link* link) {
        return std::pair(link->slow ? link->slow->factor : 0, link->total_ns());
      };
      return rank(a) > rank(b);
    });
    return links;
  }

  void add_findings() {
    std::size_t slow = 0;
    for (const Link* link : ordered()) {
      if (!link->slow) {
        continue;
      }
      const metrics::Slow& why = *link->slow;
      std::string text =
          "Sends of rank " + number_text(link->rank) + " to rank " + number_text(link->peer) +
          " of communicator " + label(*link) + " on channel " + std::to_string(link->channel) +
          " reach " + fixed(why.own_gb_s, 2) + " GB/s, " + fixed(why.factor, 1) +
          " times less than usual (" + fixed(why.usual_gb_s, 2) +
          " GB/s): " + counted(why.steps, "step") + " of at least " + human_bytes(why.class_bytes) +
          ", " + fixed(std::min(why.deviations, 999.0), 0) + " deviations below " +
          counted(why.siblings, "link");
      if (++slow <= kMostFindings) {
        document_.findings.push_back({Severity::kWarning, "slow_link", std::move(text)});
      }
    }
    auto& sentences = document_.sentences;
    if (network_.links.empty() && network_.not_chosen > 0) {
      sentences.emplace_back(
          "No network transfers are recorded of the operations that were chosen.");
    } else if (network_.links.empty()) {
      sentences.emplace_back(
          "No network transfers are recorded. Either the ranks reach each other without the "
          "network, or they were not asked for: set RINGSIDE_EVENTS=default,steps.");
    } else if (!network_.has_steps) {
      sentences.emplace_back(
          "Only proxy operations are recorded, so waiting is in their times and no link is "
          "judged: set RINGSIDE_EVENTS=default,steps.");
    } else if (network_.judged == 0) {
      sentences.push_back("No link is judged: there are no " +
                          std::to_string(metrics::kLeastSiblings) +
                          " links of a communicator with " + std::to_string(metrics::kLeastSteps) +
                          " sends of one size each, of which bytes and times are told.");
    } else {
      const std::string among =
          counted(network_.judged, "sending link") + " that could be compared";
      sentences.push_back(slow == 0 ? "No link stands out among " + among + "."
                                    : std::to_string(slow) + " of " + among +
                                          (slow == 1 ? " is" : " are") + " slower than usual.");
    }
  }

  void add_links() {
    const bool has_steps = network_.has_steps;
    Table& table = document_.tables.emplace_back();
    table.key = "links";
    table.title = "Links, the slow ones first, then by time";
    table.columns = {{"communicator", "communicator"},
                     {"rank", "rank", Shown::kInteger},
                     {"host", "host"},
                     {"direction", "direction"},
                     {"peer", "peer", Shown::kInteger},
                     {"channel", "channel", Shown::kInteger},
                     {has_steps ? "steps" : "proxy_operations", has_steps ? "steps" : "operations",
                      Shown::kInteger},
                     {"bytes", "bytes", Shown::kBytes},
                     {"throughput_gb_s", "throughput", Shown::kNumber, "GB/s"},
                     {"step_median_gb_s", "median", Shown::kNumber, "GB/s"},
                     {"time_ns", "time", Shown::kDuration, "", 0},
                     {"gpu_wait_percent", "GPU", Shown::kNumber, "%", 1},
                     {"peer_wait_percent", "credit", Shown::kNumber, "%", 1},
                     {"transfer_percent", "network", Shown::kNumber, "%", 1},
                     {"flush_percent", "flush", Shown::kNumber, "%", 1},
                     {"slow_factor", "slower", Shown::kNumber, "times", 1}};
    for (const Link* link : ordered()) {
      if (top_ != 0 && table.rows.size() == top_) {
        table.left_out = network_.links.size() - top_;
        break;
      }
      const auto share = [&](double time_ns) {
        return has_steps && link->total_ns() > 0 ? Cell(100 * time_ns / link->total_ns()) : Cell();
      };
      table.rows.push_back(
          {label(*link), number_cell(link->rank), traces_.files[link->file].process.host,
           std::string(link->is_send ? "send" : "receive"), number_cell(link->peer),
           std::uint64_t{link->channel}, link->transfers,
           link->bytes > 0 ? Cell(link->bytes) : Cell(), cell_of(link->throughput_gb_s()),
           cell_of(link->step_median_gb_s), link->total_ns() > 0 ? Cell(link->total_ns()) : Cell(),
           share(link->gpu_wait_ns), share(link->peer_wait_ns), share(link->transfer_ns),
           share(link->flush_ns), link->slow ? Cell(link->slow->factor) : Cell()});
    }
  }

  static Cell throughput(const Pair& pair) {
    return pair.bytes > 0 && pair.transfer_ns > 0
               ? Cell(static_cast<double>(pair.bytes) / pair.transfer_ns)
               : Cell();
  }

  void add_matrices() {
    std::map<PairKey, Pair> pairs;
    std::map<std::uint32_t, std::set<std::uint32_t>> ranks;  // by communicator
    for (const Link& link : network_.links) {
      if (!link.is_send || !link.rank || !link.peer) {
        continue;
      }
      Pair& pair = pairs[{link.communicator, *link.rank, *link.peer}];
      pair.bytes += std::min(link.bytes, ~std::uint64_t{0} - pair.bytes);
      pair.transfer_ns += link.transfer_ns;
      pair.wait_ns += link.gpu_wait_ns + link.peer_wait_ns;
      ranks[link.communicator].insert({*link.rank, *link.peer});
    }
    Table list;
    list.key = "matrix";
    list.is_whole = true;
    list.title = "Sends from rank to rank";
    list.columns = {{"communicator", "communicator"},
                    {"rank", "rank", Shown::kInteger},
                    {"peer", "to rank", Shown::kInteger},
                    {"bytes", "bytes", Shown::kBytes},
                    {"throughput_gb_s", "throughput", Shown::kNumber, "GB/s"},
                    {"wait_ns", "waiting", Shown::kDuration, "", 0}};
    for (const auto& [key, pair] : pairs) {
      const auto [communicator, rank, peer] = key;
      if (is_for_people_ && ranks[communicator].size() <= kMatrixRanks) {
        continue;
      }
      list.rows.push_back({label_of(network_.communicators[communicator]), std::uint64_t{rank},
                           std::uint64_t{peer}, pair.bytes > 0 ? Cell(pair.bytes) : Cell(),
                           throughput(pair), network_.has_steps ? Cell(pair.wait_ns) : Cell()});
    }
    if (is_for_people_ && top_ != 0 && list.rows.size() > top_) {
      list.left_out = list.rows.size() - top_;
      list.rows.resize(top_);
    }
    document_.tables.push_back(std::move(list));
    for (const auto& [communicator, seen] : ranks) {
      if (is_for_people_ && seen.size() <= kMatrixRanks) {
        add_matrix(communicator, seen, pairs);
      }
    }
  }

  // Rows send, columns receive.
  void add_matrix(std::uint32_t communicator, const std::set<std::uint32_t>& ranks,
                  const std::map<PairKey, Pair>& pairs) {
    Table& table = document_.tables.emplace_back();
    table.key = "matrix_of_" + std::to_string(communicator);
    table.is_whole = true;
    table.title = "Throughput of sends in communicator " +
                  label_of(network_.communicators[communicator]) +
                  ", GB/s: from the rank on the left to that above";
    table.columns.push_back({"rank", "rank", Shown::kInteger});
    for (const std::uint32_t peer : ranks) {
      const std::string name = std::to_string(peer);
      table.columns.push_back({"to_" + name, name, Shown::kNumber, "GB/s"});
    }
    for (const std::uint32_t rank : ranks) {
      std::vector<Cell> row = {std::uint64_t{rank}};
      for (const std::uint32_t peer : ranks) {
        const auto found = pairs.find({communicator, rank, peer});
        row.push_back(found == pairs.end() ? Cell() : throughput(found->second));
      }
      table.rows.push_back(std::move(row));
    }
  }

  void add_notes() {
    auto& notes = document_.notes;
    if (network_.without_place > 0) {
      notes.push_back(counted(network_.without_place, "transfer") +
                      " left out: NCCL named no communicator of the process that recorded them.");
    }
    if (network_.not_chosen > 0) {
      notes.push_back(
          counted(network_.not_chosen, "step or proxy operation", "steps and proxy operations") +
          " left out: of operations that were not chosen, or not matched.");
    }
    if (network_.in_flight > 0) {
      notes.push_back(counted(network_.in_flight, "transfer") +
                      " in flight left out: `ringside hang` shows them.");
    }
    if (network_.untold > 0) {
      notes.push_back("Of " + counted(network_.untold, "step") +
                      " NCCL did not tell where the time went.");
    }
    std::uint64_t dropped = 0;
    for (const model::TraceFile& file : traces_.files) {
      dropped += file.account.dropped.empty() ? 0 : 1;
    }
    if (dropped > 0) {
      notes.push_back(counted(dropped, "trace") +
                      " lost callbacks: steps and bytes may be too few there.");
    }
  }

  const model::Traces& traces_;
  const Network& network_;
  const std::size_t top_;
  const bool is_for_people_;
  Document document_;
};

}  // namespace

Document make_network_report(const model::Traces& traces, const Network& network, std::size_t top,
                             bool is_for_people) {
  return NetworkReport(traces, network, top, is_for_people).make();
}

}  // namespace ringside::report
