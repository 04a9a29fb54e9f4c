// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/network_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/metrics/machine/peak.h"
#include "analyzer/metrics/network/link_trouble.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/job_ranks.h"
#include "analyzer/report/summary/stragglers_report.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

Cell known_bytes(std::uint64_t bytes) {
  return bytes > 0 ? Cell(bytes) : Cell();
}

// Of a link or a pair. Bounds are shown with two decimals, rounded so that they hold what they
// held.
constexpr auto kLowerThroughput = [](auto* of) {
  const std::optional<double> gb_s = of->throughput.least_gb_s();
  return gb_s ? Cell(std::floor(*gb_s * 100) / 100) : Cell();
};
constexpr auto kUpperThroughput = [](auto* of) {
  const std::optional<double> gb_s = of->throughput.most_gb_s();
  return gb_s ? Cell(std::ceil(*gb_s * 100) / 100) : Cell();
};
constexpr auto kSeenBy = [](auto* of) {
  constexpr const char* kNames[] = {"both", "sender", "receiver", "proxy"};
  return kNames[static_cast<std::size_t>(of->throughput.seen_by)];
};

using metrics::Link;
using metrics::Network;

constexpr std::size_t kMatrixRanks = 16;
constexpr std::size_t kMostFindings = 20;

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
    find_troubles();
    add_findings();
    add_links();
    add_matrices();
    add_classes();
    add_notes();
    return std::move(document_);
  }

 private:
  using PairKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  // "other hosts", and where links of one kind fell into several classes: "other hosts 2 of 2".
  static std::string class_name(const metrics::LinkClass& found) {
    std::string name = found.kind.is_same_host ? "same host" : "other hosts";
    if (found.kind.seen_by == metrics::SeenBy::kBoth) {
      name += " to arrival";
    }
    if (found.parts > 1) {
      name += ' ' + std::to_string(found.part + 1) + " of " + std::to_string(found.parts);
    }
    return name;
  }

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

  // The machine's troubles near the slow links; only they are looked up.
  void find_troubles() {
    const auto& links = network_.links;
    if (std::none_of(links.begin(), links.end(), [](const Link& link) { return link.slow; }) ||
        !metrics::has_machines(traces_)) {
      return;
    }
    const metrics::LinkTroubles troubles(traces_, network_);
    for (const Link& link : links) {
      if (link.slow) {
        troubles_[&link] = troubles.of(link);
      }
    }
  }

  // "Host b: port 1 of mlx5_0 had 12 symbol_error during the job"
  std::string trouble_text(const Link& link, std::string_view between) const {
    const auto found = troubles_.find(&link);
    std::string text;
    for (std::size_t i = 0; found != troubles_.end() && i < found->second.texts.size(); ++i) {
      std::string one = found->second.texts[i];
      one.erase(one.find_last_not_of('.') + 1);
      text.append(i == 0 ? "" : between).append(one);
    }
    return text;
  }

  void add_findings() {
    std::size_t slow = 0;
    for (const Link* link : ordered()) {
      if (!link->slow) {
        continue;
      }
      const metrics::Slow& why = *link->slow;
      const metrics::LinkClass& usual = network_.classes[why.link_class];
      std::string text =
          "Sends of rank " + number_text(link->rank) + " to rank " + number_text(link->peer) +
          " of communicator " + label(*link) + " on channel " + std::to_string(link->channel) +
          " reach " + fixed(why.own_gb_s, 2) + " GB/s in steps of at least " +
          human_bytes(usual.kind.step_bytes) + ", " + fixed(why.factor, 1) +
          " times less than usual (" + fixed(why.usual_gb_s, 2) +
          " GB/s): " + counted(why.steps, "step") + ". Links of the class \"" + class_name(usual) +
          "\" vary by " + fixed(std::max(usual.spread_percent, 2.0), 0) + " %; " +
          chance_text(why.chance) + " that chance makes one of all links so slow";
      if (const std::string trouble = trouble_text(*link, ". "); !trouble.empty()) {
        text += ". " + trouble;
      } else if (const auto known = troubles_.find(link);
                 known != troubles_.end() && known->second.are_counters_known) {
        text += ". No error counter of the adapters near both ranks grew";
      }
      if (++slow <= kMostFindings) {
        document_.findings.push_back({Severity::kError, "slow_link", std::move(text)});
        document_.findings.back().ranks =
            launched_ranks(traces_, network_.communicators[link->communicator],
                           {link->rank.value_or(link->member)});
      }
    }
    auto& sentences = document_.sentences;
    if (network_.links.empty() && network_.not_chosen > 0) {
      sentences.emplace_back(
          "No network transfers are recorded of the operations that were chosen.");
    } else if (network_.links.empty()) {
      sentences.emplace_back(
          "No network transfers are recorded. Jobs on one host and profiles of PyTorch have none; "
          "to record those of other jobs, set RINGSIDE_EVENTS=default,steps.");
    } else if (!network_.has_steps) {
      sentences.emplace_back(
          "Only proxy operations are recorded, so waiting is in their times and no link is "
          "judged: set RINGSIDE_EVENTS=default,steps.");
    } else if (network_.judged == 0) {
      sentences.push_back(
          "No link is judged: there are no " + std::to_string(metrics::kLeastSiblings) +
          " pairs of ranks of one class with " + std::to_string(metrics::kLeastSteps) +
          " sends of one size each, with known bytes and times.");
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
    std::vector<const Link*> links = ordered();
    const std::size_t shown = top_ == 0 ? links.size() : std::min(top_, links.size());
    links.resize(shown);
    const bool with_troubles =
        std::any_of(troubles_.begin(), troubles_.end(),
                    [](const auto& of_link) { return !of_link.second.texts.empty(); });
    const auto share = [=](double Link::*time_ns) {
      return [=](const Link* link) {
        return has_steps && link->total_ns() > 0 ? Cell(100 * (link->*time_ns) / link->total_ns())
                                                 : Cell();
      };
    };
    const char* const what = has_steps ? "steps" : "operations";
    document_.tables.push_back(table_of(
        "links", "Links, the slow ones first, then by time; throughput in steps of all sizes",
        links,
        {{"communicator", "communicator", [&](auto* link) { return label(*link); }},
         {"rank", "rank", Shown::kInteger, &Link::rank},
         {"host", "host", [&](auto* link) { return traces_.files[link->file].process.host; }},
         {"direction", "direction", [](auto* link) { return link->is_send ? "send" : "receive"; }},
         {"peer", "peer", Shown::kInteger, &Link::peer},
         {"channel", "channel", Shown::kInteger, &Link::channel},
         {has_steps ? "steps" : "proxy_operations", what, Shown::kInteger, &Link::transfers},
         {"bytes", "bytes", Shown::kBytes, [](auto* link) { return known_bytes(link->bytes); }},
         {"throughput_gb_s", "throughput", Shown::kNumber, "GB/s",
          [](auto* link) { return link->throughput.gb_s(); }},
         {"step_median_ns", "step", Shown::kDuration, "", 0, &Link::step_median_ns},
         {"time_ns", "time", Shown::kDuration, "", 0,
          [](auto* link) { return link->total_ns() > 0 ? Cell(link->total_ns()) : Cell(); }},
         {"gpu_wait_percent", "GPU", Shown::kNumber, "%", 1, share(&Link::gpu_wait_ns)},
         {"peer_wait_percent", "credit", Shown::kNumber, "%", 1, share(&Link::peer_wait_ns)},
         {"transfer_percent", "network", Shown::kNumber, "%", 1, share(&Link::transfer_ns)},
         {"flush_percent", "flush", Shown::kNumber, "%", 1, share(&Link::flush_ns)},
         {"slow_factor", "slower", Shown::kNumber, "times", 1,
          [](auto* link) { return link->slow ? Cell(link->slow->factor) : Cell(); }},
         {"throughput_least_gb_s", "", Shown::kNot, kLowerThroughput},
         {"throughput_most_gb_s", "", Shown::kNot, kUpperThroughput},
         {"seen_by", "", Shown::kNot, kSeenBy},
         {"trouble", "trouble", with_troubles ? Shown::kText : Shown::kAbsent,
          [&](auto* link) { return text_cell(trouble_text(*link, "; ")); }}},
        {"flush_percent", "steps", "proxy_operations", "bytes", "step_median_ns", "communicator",
         "time_ns", "host", "channel", "peer_wait_percent"}));
    document_.tables.back().left_out = network_.links.size() - shown;
  }

  void add_matrices() {
    std::map<PairKey, const metrics::Pair*> pairs;
    std::map<std::uint32_t, std::set<std::uint32_t>> ranks;  // by communicator
    for (const metrics::Pair& pair : network_.pairs) {
      pairs[{pair.communicator, pair.rank, pair.peer}] = &pair;
      ranks[pair.communicator].insert({pair.rank, pair.peer});
    }
    std::vector<const metrics::Pair*> listed;
    for (const metrics::Pair& pair : network_.pairs) {
      if (!is_for_people_ || ranks[pair.communicator].size() > kMatrixRanks) {
        listed.push_back(&pair);
      }
    }
    const std::size_t shown =
        is_for_people_ && top_ != 0 ? std::min(top_, listed.size()) : listed.size();
    const std::size_t left_out = listed.size() - shown;
    listed.resize(shown);
    Table& list = document_.tables.emplace_back(table_of(
        "matrix", "Sends from rank to rank, all channels together", listed,
        {{"communicator", "communicator",
          [&](auto* pair) { return label_of(network_.communicators[pair->communicator]); }},
         {"rank", "rank", Shown::kInteger, &metrics::Pair::rank},
         {"peer", "to rank", Shown::kInteger, &metrics::Pair::peer},
         {"bytes", "bytes", Shown::kBytes, [](auto* pair) { return known_bytes(pair->bytes); }},
         {"throughput_gb_s", "throughput", Shown::kNumber, "GB/s",
          [](auto* pair) { return pair->throughput.gb_s(); }},
         {"wait_ns", "waiting", Shown::kDuration, "", 0,
          [&](auto* pair) { return network_.has_steps ? Cell(pair->wait_ns) : Cell(); }},
         {"throughput_least_gb_s", "", Shown::kNot, kLowerThroughput},
         {"throughput_most_gb_s", "", Shown::kNot, kUpperThroughput},
         {"seen_by", "", Shown::kNot, kSeenBy}}));
    list.is_whole = true;
    list.left_out = left_out;
    for (const auto& [communicator, seen] : ranks) {
      if (is_for_people_ && seen.size() <= kMatrixRanks) {
        add_matrix(communicator, seen, pairs);
      }
    }
  }

  // Rows send, columns receive.
  void add_matrix(std::uint32_t communicator, const std::set<std::uint32_t>& ranks,
                  const std::map<PairKey, const metrics::Pair*>& pairs) {
    Table& table = document_.tables.emplace_back();
    table.key = "matrix_of_" + std::to_string(communicator);
    table.is_whole = true;
    table.title = "Sends in communicator " + label_of(network_.communicators[communicator]) +
                  ", all channels together, GB/s: from the rank on the left to that above";
    table.columns.push_back({"rank", "rank", Shown::kInteger});
    for (const std::uint32_t peer : ranks) {
      const std::string name = std::to_string(peer);
      table.columns.push_back({"to_" + name, name, Shown::kNumber, "GB/s"});
    }
    for (const std::uint32_t rank : ranks) {
      std::vector<Cell> row = {std::uint64_t{rank}};
      for (const std::uint32_t peer : ranks) {
        const auto found = pairs.find({communicator, rank, peer});
        row.push_back(found == pairs.end() ? Cell() : cell_of(found->second->throughput.gb_s()));
      }
      table.rows.push_back(std::move(row));
    }
  }

  // Adds the classes in which links were compared with each other.
  void add_classes() {
    using Class = metrics::LinkClass;
    Table& table = document_.tables.emplace_back(table_of(
        "classes", "Classes of sending links, by what is usual in them", network_.classes,
        {{"communicator", "communicator",
          [&](auto& one) { return label_of(network_.communicators[one.kind.communicator]); }},
         {"class", "class", class_name},
         {"step_bytes", "steps of", Shown::kBytes, [](auto& one) { return one.kind.step_bytes; }},
         {"links", "links", Shown::kInteger, &Class::links},
         {"pairs", "pairs", Shown::kInteger, &Class::pairs},
         {"usual_gb_s", "usual", Shown::kNumber, "GB/s", &Class::usual_gb_s},
         {"spread_percent", "spread", Shown::kNumber, "%", 1, &Class::spread_percent},
         {"judged", "judged", &Class::is_judged}},
        {"pairs", "communicator", "spread_percent"}));
    table.is_whole = true;
  }

  // Notes how many figures are not known, or not known well.
  void add_doubts() {
    std::uint64_t unknown = 0;
    std::uint64_t one_sided = 0;
    std::uint64_t wide = 0;
    for (const metrics::Pair& pair : network_.pairs) {
      const metrics::Throughput& throughput = pair.throughput;
      if (throughput.seen_by == metrics::SeenBy::kProxy || throughput.bytes == 0) {
        continue;
      }
      const bool is_known = throughput.gb_s().has_value();
      unknown += is_known ? 0 : 1;
      one_sided += is_known && throughput.seen_by == metrics::SeenBy::kSender ? 1 : 0;
      wide += is_known && throughput.seen_by == metrics::SeenBy::kBoth && throughput.is_wide();
    }
    auto& notes = document_.notes;
    if (unknown > 0) {
      notes.push_back("The throughput of " + counted(unknown, "pair of ranks", "pairs of ranks") +
                      " is not known to a factor of two, so it is left out.");
    }
    if (wide > 0) {
      notes.push_back("The throughput of " + counted(wide, "pair of ranks", "pairs of ranks") +
                      " is not known to a tenth: JSON and CSV have its bounds.");
    }
    if (one_sided > 0) {
      notes.push_back(
          "For " + counted(one_sided, "pair of ranks", "pairs of ranks") +
          ", only the sender's side is known: a send may complete into a buffer, so the "
          "throughput is the most that it can be.");
    }
  }

  void add_notes() {
    auto& notes = document_.notes;
    add_doubts();
    if (network_.foreign > 0) {
      notes.push_back(counted(network_.foreign, "transfer") +
                      " went through the proxy of another process (PXN). The ranks of " +
                      std::to_string(network_.foreign_known) +
                      " of them are known, and these are counted here.");
    }
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
    if (network_.without_states > 0) {
      notes.push_back("NCCL did not say where the time of " +
                      counted(network_.without_states, "step") + " went.");
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
  std::map<const Link*, metrics::LinkTrouble> troubles_;  // of slow links
  Document document_;
};

}  // namespace

Document make_network_report(const model::Traces& traces, const Network& network, std::size_t top,
                             bool is_for_people) {
  return NetworkReport(traces, network, top, is_for_people).make();
}

}  // namespace ringside::report
