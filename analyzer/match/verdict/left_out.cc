// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/left_out.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/match/communicators/runs.h"
#include "analyzer/match/verdict/embedding.h"

namespace ringside::match {
namespace {

// A series: the operations of one way and function, which NCCL numbers together.
using Series = std::pair<Way, model::NameId>;

Series series_of(const MatchedOperation& operation) {
  return {operation.way, operation.func};
}

// Calls that some members left out, of which only the approximate place is known.
struct OneOf {
  std::vector<std::uint32_t> members;
  std::uint64_t from = ~0ULL;
  std::uint64_t to = 0;
};

// Links judgements about the same members and calls, so that they become one finding.
void link_alike(const Matches& matches, const std::vector<std::size_t>& unknown,
                std::vector<Judgement>& judgements) {
  using Kind = std::tuple<Series, std::vector<std::uint32_t>,
                          std::optional<std::pair<std::uint64_t, std::uint64_t>>>;
  std::map<Kind, std::vector<std::size_t>> alike;
  for (const std::size_t i : unknown) {
    alike[{series_of(matches.operations[i]), judgements[i].left_out_by, judgements[i].one_of}]
        .push_back(i);
  }
  for (const auto& [kind, indices] : alike) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      judgements[indices[i]].other = indices[(i + 1) % indices.size()];
    }
  }
}

class Explainer {
 public:
  Explainer(const model::Traces& traces, const Matches& matches, std::size_t first,
            std::size_t last, const SignedCalls& calls, const CutOff& cut_off,
            std::vector<Judgement>& judgements)
      : traces_(traces),
        matches_(matches),
        first_(first),
        last_(last),
        calls_(calls),
        cut_off_(cut_off),
        members_(matches.communicators[matches.operations[first].communicator].members),
        judgements_(judgements) {}

  Explained explain() {
    if (!find_missing() || missing_.empty()) {
      return Explained::kByNumbers;
    }
    if (matches_.is_part || !embed()) {
      return Explained::kNot;
    }
    if (embeddings_.empty()) {
      return missing_.empty() ? Explained::kByNumbers : Explained::kNot;
    }
    withdraw_from(first_place_, calls_, judgements_);
    for (const auto& found : embeddings_) {
      name(found);
    }
    for (const auto& found : embeddings_) {
      mark_unnamed(found);
    }
    apply();
    return Explained::kByCalls;
  }

 private:
  // The calls of a member that left out some, embedded in those of the reference.
  struct Embedded {
    std::uint32_t member = 0;
    const Embedding* embedding = nullptr;
    std::size_t end = 0;  // the reference's calls from here on come after the member's last call
  };

  // Returns false if the numbers do not count the calls that were made.
  bool find_missing() {
    std::map<std::pair<std::uint32_t, Series>, std::uint64_t> last_number;
    for (std::size_t i = first_; i < last_; ++i) {
      const MatchedOperation& operation = matches_.operations[i];
      if (operation.way == Way::kPair || operation.way == Way::kGroup) {
        continue;
      }
      if (operation.way == Way::kAligned || operation.occurrence > 0) {
        return false;
      }
      const auto parts = parts_of(matches_, operation);
      std::size_t next = 0;
      for (std::uint32_t member = 0; member < members_.size(); ++member) {
        if (next < parts.size() && parts[next].member == member) {
          ++next;
        } else if (members_[member].is_complete_so_far) {
          missing_[{member, series_of(operation)}].push_back(i);
        }
      }
    }
    // Operations are sorted by number. After the first absent number there must be none.
    for (const auto& [whose, indices] : missing_) {
      const auto& [member, series] = whose;
      const std::uint64_t number = matches_.operations[indices.front()].number;
      for (const SignedCall& call : calls_[member]) {
        const MatchedOperation& operation = matches_.operations[call.operation];
        if (series_of(operation) == series && operation.number > number) {
          return false;
        }
      }
    }
    return true;
  }

  static std::vector<std::uint32_t> symbols_of(const std::vector<SignedCall>& calls) {
    std::vector<std::uint32_t> symbols;
    symbols.reserve(calls.size());
    for (const SignedCall& call : calls) {
      symbols.push_back(call.signature);
    }
    return symbols;
  }

  // Embeds the calls of each member that is complete so far in those of the member with the most.
  bool embed() {
    std::optional<std::uint32_t> most;
    for (std::uint32_t m = 0; m < members_.size(); ++m) {
      if (members_[m].is_complete_so_far && (!most || calls_[m].size() > calls_[*most].size())) {
        most = m;
      }
    }
    reference_ = *most;
    const auto usual = symbols_of(calls_[reference_]);
    first_place_ = usual.size();
    std::map<std::vector<std::uint32_t>, const Embedding*> seen;  // most ranks make the same calls
    for (std::uint32_t m = 0; m < members_.size(); ++m) {
      if (!members_[m].is_complete_so_far) {
        continue;
      }
      auto symbols = symbols_of(calls_[m]);
      if (is_cut_off(members_[m])) {
        symbols.resize(calls_before_last_group(m));
      }
      if (m == reference_ || symbols == usual) {
        drop_calls_after_end(m, usual.size(), usual.size());
        continue;
      }
      const auto [at, is_new] = seen.try_emplace(std::move(symbols), nullptr);
      if (is_new) {
        at->second = &distinct_.emplace_back(usual, at->first);
      }
      if (!at->second->is_there()) {
        return false;
      }
      add(m, *at->second, at->first.size());
    }
    return true;
  }

  // Returns how many calls came before the last group that a member called. A kill may have cut
  // that group, whose calls NCCL reorders. If the reference has no group there, all calls count.
  std::size_t calls_before_last_group(std::uint32_t member) const {
    const std::vector<SignedCall>& calls = calls_[member];
    const std::vector<SignedCall>& usual = calls_[reference_];
    if (calls.empty() || calls.back().group == 0) {
      return calls.size();
    }
    const auto last = std::find_if(usual.begin(), usual.end(), [&](const SignedCall& call) {
      return call.operation == calls.back().operation;
    });
    if (last != usual.end() && std::count_if(usual.begin(), usual.end(), [&](const SignedCall& c) {
                                 return c.group == last->group;
                               }) == 1) {
      return calls.size();
    }
    std::size_t left = calls.size();
    while (left > 0 && calls[left - 1].group == calls.back().group) {
      --left;
    }
    return left;
  }

  void add(std::uint32_t member, const Embedding& embedding, std::size_t calls) {
    const std::size_t end =
        members_[member].is_complete ? calls_[reference_].size() : embedding.first_end();
    drop_calls_after_end(member, end, calls);
    if (end == calls) {
      return;  // it left out no call before its last one
    }
    std::size_t place = 0;
    while (place < first_place_ && !embedding.may_be_removed(place)) {
      ++place;
    }
    first_place_ = place;
    embeddings_.push_back({member, &embedding, end});
  }

  // For a member that was cut off: each series keeps as many missing operations as the member left
  // out before its last call.
  void drop_calls_after_end(std::uint32_t member, std::size_t end, std::size_t calls) {
    if (members_[member].is_complete) {
      return;
    }
    std::map<Series, std::size_t> left_out;
    for (std::size_t place = 0; place < end; ++place) {
      ++left_out[series_of(matches_.operations[calls_[reference_][place].operation])];
    }
    for (std::size_t i = 0; i < calls; ++i) {
      std::size_t& count = left_out[series_of(matches_.operations[calls_[member][i].operation])];
      count -= count > 0 ? 1 : 0;
    }
    for (auto& [whose, indices] : missing_) {
      if (whose.first == member) {
        indices.resize(std::min(indices.size(), left_out[whose.second]));
      }
    }
    std::erase_if(missing_, [](const auto& missing) { return missing.second.empty(); });
  }

  void name(const Embedded& found) {
    const auto& usual = calls_[reference_];
    for (std::size_t place = 0; place < found.end; ++place) {
      if (!found.embedding->may_be_kept(place)) {
        named_[usual[place].operation].push_back(found.member);
      }
    }
  }

  bool is_named(std::size_t operation, std::uint32_t member) const {
    const auto found = named_.find(operation);
    return found != named_.end() &&
           std::binary_search(found->second.begin(), found->second.end(), member);
  }

  // Judges the missing operations of each series for which several calls are possible.
  void mark_unnamed(const Embedded& found) {
    struct OpenCalls {
      std::size_t named = 0;
      std::vector<std::size_t> operations;
      std::uint64_t from = ~0ULL;
      std::uint64_t to = 0;
    };
    std::map<Series, OpenCalls> of_series;
    const auto& usual = calls_[reference_];
    for (std::size_t place = 0; place < found.end; ++place) {
      const MatchedOperation& operation = matches_.operations[usual[place].operation];
      OpenCalls& candidates = of_series[series_of(operation)];
      if (!found.embedding->may_be_kept(place)) {
        ++candidates.named;
      } else if (found.embedding->may_be_removed(place)) {
        candidates.operations.push_back(usual[place].operation);
        candidates.from = std::min(candidates.from, operation.number);
        candidates.to = std::max(candidates.to, operation.number);
      }
    }
    for (const auto& [series, candidates] : of_series) {
      const auto missing = std::as_const(missing_).find({found.member, series});
      if (missing == missing_.end() || missing->second.size() <= candidates.named) {
        continue;
      }
      std::size_t left = missing->second.size() - candidates.named;
      // Any operation of the series may represent the missing call. One that the member did not
      // record is best.
      for (const auto* const indices : {&missing->second, &candidates.operations}) {
        for (auto i = indices->rbegin(); i != indices->rend() && left > 0; ++i) {
          OneOf& open = open_[*i];
          if (!named_.contains(*i) &&
              (open.members.empty() || open.members.back() != found.member)) {
            open.members.push_back(found.member);
            open.from = std::min(open.from, candidates.from);
            open.to = std::max(open.to, candidates.to);
            --left;
          }
        }
      }
    }
  }

  // True if these processes exited, and the others died after that: then it is their last calls
  // that they did not come to.
  bool have_exited_first(const std::vector<std::uint32_t>& members) const {
    const auto file_of = [&](std::uint32_t member) -> const model::TraceFile& {
      return traces_.files[members_[member].file];
    };
    const model::TraceFile& one = file_of(members.front());
    for (std::uint32_t m = 0; m < members_.size(); ++m) {
      const model::TraceFile& file = file_of(m);
      const bool is_one = std::find(members.begin(), members.end(), m) != members.end();
      if (file.process.dump || file.process.boot_id != one.process.boot_id ||
          file.recovered == is_one || (!is_one && end_of(file) <= end_of(one))) {
        return false;
      }
    }
    return true;
  }

  void apply() {
    for (const auto& [whose, indices] : missing_) {
      for (const std::size_t i : indices) {
        judgements_[i] = {Verdict::kUndecided, Difference::kNone, 0};
      }
    }
    std::vector<std::size_t> unknown;
    for (auto& [i, open] : open_) {
      if (!open.members.empty()) {
        judgements_[i] = {Verdict::kMissing, Difference::kNone, 0};
        judgements_[i].left_out_by = std::move(open.members);
        if (have_exited_first(judgements_[i].left_out_by)) {
          continue;
        }
        judgements_[i].is_number_unknown = true;
        judgements_[i].one_of = {open.from, open.to};
        unknown.push_back(i);
      }
    }
    for (auto& [i, members] : named_) {
      judgements_[i] = {Verdict::kMissing, Difference::kNone, 0};
      judgements_[i].is_found_by_order =
          members != left_out_by_number(traces_, matches_, matches_.operations[i], cut_off_);
      judgements_[i].left_out_by = std::move(members);
    }
    link_alike(matches_, unknown, judgements_);
  }

  const model::Traces& traces_;
  const Matches& matches_;
  const std::size_t first_;
  const std::size_t last_;
  const SignedCalls& calls_;
  const CutOff& cut_off_;
  const std::vector<Member>& members_;
  std::vector<Judgement>& judgements_;
  std::map<std::pair<std::uint32_t, Series>, std::vector<std::size_t>> missing_;  // by number
  std::uint32_t reference_ = 0;
  std::size_t first_place_ = 0;  // the first place at which a call may have been left out
  std::deque<Embedding> distinct_;
  std::vector<Embedded> embeddings_;
  std::map<std::size_t, std::vector<std::uint32_t>> named_;  // members, by operation
  std::map<std::size_t, OneOf> open_;
};

}  // namespace

Explained explain_missing(const model::Traces& traces, const Matches& matches, std::size_t first,
                          std::size_t last, const SignedCalls& calls, const CutOff& cut_off,
                          std::vector<Judgement>& judgements) {
  return Explainer(traces, matches, first, last, calls, cut_off, judgements).explain();
}

void doubt_numbers(const Matches& matches, std::size_t first, std::size_t last,
                   std::vector<Judgement>& judgements) {
  bool is_shifted = false;
  for (std::size_t i = first; i < last; ++i) {
    is_shifted = is_shifted || judgements[i].verdict == Verdict::kFunctionMismatch;
  }
  std::vector<std::size_t> unknown;
  for (std::size_t i = first; i < last; ++i) {
    const Way way = matches.operations[i].way;
    if (judgements[i].verdict != Verdict::kMissing || way == Way::kPair) {
      continue;
    }
    if (is_shifted) {
      judgements[i].verdict = Verdict::kUndecided;
    } else {
      judgements[i].is_number_unknown = true;
      unknown.push_back(i);
    }
  }
  link_alike(matches, unknown, judgements);
}

}  // namespace ringside::match
