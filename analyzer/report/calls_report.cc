// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/calls_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/call_sites.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/job_ranks.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using match::MatchedOperation;

constexpr std::uint32_t kMostColumns = 8;  // of ranks

class CallsDocument {
 public:
  CallsDocument(const model::Traces& traces, const match::Matches& matches,
                const align::Alignment& alignment, std::size_t screen_columns)
      : traces_(traces),
        matches_(matches),
        alignment_(alignment),
        screen_columns_(screen_columns),
        tags_(traces, matches, metrics::RowsBy::kUserTag),
        judgements_(match::judge_all(traces, matches, align::judging_clock(alignment))) {}

  Document make(std::size_t top, bool has_frames) {
    document_.command = "calls";
    table_ = {"calls",
              "Operations, by the time of the first call",
              {{"communicator", "communicator"},
               {"run", "run", Shown::kInteger},
               {"number", "number", Shown::kInteger},
               {"function", "function"},
               {"bytes_min", "", Shown::kNot},
               {"bytes_max", "", Shown::kNot},
               {"bytes", "bytes", Shown::kBytes},
               {"datatype", "datatype"},
               {"called_ns", "called", Shown::kMoment},
               {"verdict", "verdict"}},
              {}};
    table_.gives_way = {"run",       "torch_seq",    "process_group", "datatype",
                        "called_ns", "communicator", "called_by",     "bytes"};
    find_rank_columns();
    for (std::uint32_t rank = 0; rank < rank_columns_; ++rank) {
      const std::string number = std::to_string(rank);
      table_.columns.push_back({"rank_" + number, "rank " + number});
    }
    if (rank_columns_ == 0) {
      table_.columns.push_back({"ranks", "ranks"});
    }
    table_.columns.insert(table_.columns.end(), {{"process_group", "process group"},
                                                 {"torch_seq", "PyTorch's", Shown::kInteger, "seq"},
                                                 {"called_by", "called at"},
                                                 {"user_tag", "user tag"}});
    const auto order = by_first_call();
    const std::size_t shown = top == 0 ? order.size() : std::min(top, order.size());
    for (std::size_t i = 0; i < shown; ++i) {
      add(order[i].second, order[i].first);
    }
    table_.left_out = order.size() - shown;
    table_.is_whole = true;
    for (const char* const key : {"process_group", "torch_seq", "called_by", "user_tag"}) {
      drop_empty_column(table_, key);
    }
    std::set<std::uint32_t> communicators;
    for (const MatchedOperation& operation : matches_.operations) {
      communicators.insert(operation.communicator);
    }
    document_.sentences.push_back(counted(order.size(), "operation") + " of " +
                                  counted(communicators.size(), "communicator") + '.');
    for (const std::string& line : run_lines(matches_.runs.runs)) {
      document_.sentences.push_back(line);
    }
    const JobRanks job_ranks(traces_, matches_.communicators);
    for (std::uint32_t i = 0; i < matches_.communicators.size(); ++i) {
      const match::Communicator& communicator = matches_.communicators[i];
      const auto absent = match::ranks_without_trace(communicator);
      if (!absent.empty()) {
        document_.notes.push_back(label_of(communicator) + ": no " + file_word(traces_) + " of " +
                                  match::rank_list(absent));
      }
      if (const auto ranks = job_ranks.text(i, {}); !ranks.empty()) {
        document_.notes.push_back(ranks);
      } else if (!job_ranks.of(i).empty()) {
        document_.notes.push_back(label_of(communicator) +
                                  ": its ranks are not those of the job; `ringside "
                                  "communicators` lists both");
      }
    }
    document_.tables.push_back(std::move(table_));
    if (has_frames) {
      frames_.finish(traces_, document_);
    }
    if (matches_.unpaired > 0) {
      document_.notes.push_back(
          counted(matches_.unpaired, "send or receive", "sends or receives") +
          " cannot be paired, since a rank or peer is not known; these are not listed.");
    }
    return std::move(document_);
  }

 private:
  // As many as the largest communicator has ranks, or none if these are many.
  void find_rank_columns() {
    for (const match::Communicator& communicator : matches_.communicators) {
      std::uint32_t ranks = communicator.nranks;
      for (std::uint32_t i = 0; i < communicator.members.size(); ++i) {
        const std::uint32_t rank = communicator.members[i].rank.value_or(i);
        ranks = std::max(ranks, rank < kMostColumns ? rank + 1 : kMostColumns + 1);
      }
      rank_columns_ = std::max(rank_columns_, ranks);
    }
    // "completed" in each, beside number, function and verdict.
    constexpr std::size_t kRank = 11;
    constexpr std::size_t kOthers = 32;
    const bool fits = screen_columns_ == 0 || kOthers + rank_columns_ * kRank <= screen_columns_;
    rank_columns_ = rank_columns_ > kMostColumns || !fits ? 0 : rank_columns_;
  }

  std::vector<std::pair<std::int64_t, std::size_t>> by_first_call() const {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    order.reserve(matches_.operations.size());
    for (std::size_t i = 0; i < matches_.operations.size(); ++i) {
      std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
      for (const match::Part& part : match::parts_of(matches_, matches_.operations[i])) {
        const std::int64_t call_ns = traces_.files[part.file].operations.call_ns(part.operation);
        first_ns = std::min(first_ns, alignment_.to_common_ns(part.file, call_ns));
      }
      order.emplace_back(first_ns, i);
    }
    std::sort(order.begin(), order.end());
    return order;
  }

  std::string function_text(const MatchedOperation& operation) const {
    const std::string name(match::function_name(traces_, operation));
    return operation.way == match::Way::kPair ? name + ' ' + std::to_string(operation.source) +
                                                    "->" + std::to_string(operation.destination)
                                              : name;
  }

  void add(std::size_t index, std::int64_t called_ns) {
    const MatchedOperation& operation = matches_.operations[index];
    const match::Communicator& communicator = matches_.communicators[operation.communicator];
    std::map<std::uint32_t, model::State> states;  // of ranks; of several calls the least
    std::set<std::string> types;
    std::optional<std::uint64_t> least_bytes;
    std::optional<std::uint64_t> most_bytes;
    model::NameId process_group = model::kNoName;  // of the first rank that tells it
    std::optional<std::uint64_t> torch_seq;        // likewise
    for (const match::Part& part : match::parts_of(matches_, operation)) {
      const model::Operation one = match::operation_of(traces_, part);
      const std::uint32_t rank = communicator.members[part.member].rank.value_or(part.member);
      const auto known = states.try_emplace(rank, one.state).first;
      known->second = std::max(known->second, one.state);
      process_group = process_group == model::kNoName ? one.process_group : process_group;
      torch_seq = torch_seq ? torch_seq : one.torch_seq;
      if (one.datatype != model::kNoName) {
        types.insert(match::datatype_name(traces_.names.text(one.datatype)));
      }
      if (one.bytes) {
        least_bytes = std::min(least_bytes.value_or(*one.bytes), *one.bytes);
        most_bytes = std::max(most_bytes.value_or(*one.bytes), *one.bytes);
      }
    }
    const std::string label = label_of(communicator);
    std::vector<Cell> row = {label,
                             std::uint64_t{communicator.run} + 1,
                             operation.number,
                             function_text(operation),
                             cell_of(least_bytes),
                             cell_of(most_bytes),
                             least_bytes == most_bytes ? cell_of(least_bytes) : Cell(),
                             types.empty() ? Cell() : Cell(model::joined(types, types.size())),
                             called_ns,
                             std::string(match::verdict_name(judgements_[index].verdict))};
    add_ranks(index, states, row);
    const auto callers = match::callers_of(traces_, matches_, operation);
    row.push_back(process_group == model::kNoName
                      ? Cell()
                      : Cell(std::string(traces_.names.text(process_group))));
    row.push_back(cell_of(torch_seq));
    row.push_back(call_site_cell(traces_, callers));
    row.push_back(group_cell(tags_.by(), tags_.text_of(tags_.group_of(operation))));
    for (const match::Caller& caller : callers) {
      frames_.add(label, match::call_sites(traces_, {caller}), {caller});
    }
    table_.rows.push_back(std::move(row));
  }

  // Says what each rank that has a trace did. In a pair, the other ranks have no part.
  std::map<std::uint32_t, std::string> what_ranks_did(
      std::size_t index, const std::map<std::uint32_t, model::State>& states) const {
    const MatchedOperation& operation = matches_.operations[index];
    const match::Judgement& judgement = judgements_[index];
    const auto& members = matches_.communicators[operation.communicator].members;
    const auto absent = match::absent_ranks(matches_, operation, judgement);
    std::map<std::uint32_t, std::string> did;
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const std::uint32_t rank = members[i].rank.value_or(i);
      const auto state = states.find(rank);
      if (state != states.end()) {
        did[rank] = state_name(state->second);
      } else if (operation.way != match::Way::kPair || rank == operation.source ||
                 rank == operation.destination) {
        const bool is_left_out = judgement.verdict == match::Verdict::kMissing &&
                                 std::find(absent.begin(), absent.end(), rank) != absent.end();
        did[rank] = is_left_out                                            ? "not called"
                    : judgement.difference == match::Difference::kFunction ? "another call"
                                                                           : "not recorded";
      }
    }
    return did;
  }

  void add_ranks(std::size_t index, const std::map<std::uint32_t, model::State>& states,
                 std::vector<Cell>& row) const {
    const auto did = what_ranks_did(index, states);
    for (std::uint32_t rank = 0; rank < rank_columns_; ++rank) {
      const auto found = did.find(rank);
      row.push_back(found == did.end() ? Cell() : Cell(found->second));
    }
    if (rank_columns_ > 0) {
      return;
    }
    std::map<std::string, std::vector<std::uint32_t>> ranks_of;  // by what they did
    for (const auto& [rank, what] : did) {
      ranks_of[what].push_back(rank);
    }
    const std::uint32_t all =
        matches_.communicators[matches_.operations[index].communicator].nranks;
    std::string text;
    for (const auto& [what, ranks] : ranks_of) {
      text += (text.empty() ? "" : "; ") + what +
              (ranks.size() == all ? " on all" : " on " + match::rank_list(ranks));
    }
    row.emplace_back(text);
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const align::Alignment& alignment_;
  const std::size_t screen_columns_;
  const metrics::Grouping tags_;
  const std::vector<match::Judgement> judgements_;
  std::uint32_t rank_columns_ = 0;
  Document document_;
  Table table_;
  FrameTable frames_{{"called_by", "called at"}};
};

}  // namespace

Document calls_document(const model::Traces& traces, const match::Matches& matches,
                        const align::Alignment& alignment, std::size_t top, bool has_frames,
                        std::size_t screen_columns) {
  return CallsDocument(traces, matches, alignment, screen_columns).make(top, has_frames);
}

}  // namespace ringside::report
