// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/left_out.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/match/embedding.h"

namespace ringside::match {
namespace {

// What is numbered together.
using Series = std::pair<Way, model::NameId>;

Series series_of(const MatchedOperation& operation) {
  return {operation.way, operation.func};
}

// Calls that one or several members left out, of which is known only where they were.
struct OneOf {
  std::vector<std::uint32_t> members;
  std::uint64_t from = ~0ULL;
  std::uint64_t to = 0;
};

// Links judgements that say the same of the same members, so that they are one finding.
void link_alike(const Matches& matches, const std::vector<std::size_t>& unknown,
                std::vector<Judgement>& judgements) {
  using Kind = std::tuple<Series, std::vector<std::uint32_t>,
                          std::optional<std::pair<std::uint64_t, std::uint64_t>>>;
  std::map<Kind, std::vector<std::size_t>> alike;
  for (const std::size_t i : unknown) {
    auto members = judgements[i].left_out_by;
    if (members.empty()) {
      members = absent_complete_members(matches, matches.operations[i]);
    }
    alike[{series_of(matches.operations[i]), std::move(members), judgements[i].one_of}].push_back(
        i);
  }
  for (const auto& [kind, indices] : alike) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      judgements[indices[i]].other = indices[(i + 1) % indices.size()];
    }
  }
}

class Explainer {
 public:
  Explainer(const Matches& matches, std::size_t first, std::size_t last, const SignedCalls& calls,
            std::vector<Judgement>& judgements)
      : matches_(matches), first_(first), last_(last), calls_(calls), judgements_(judgements) {}

  Explained explain() {
    if (!find_missing() || missing_.empty()) {
      return Explained::kByNumbers;
    }
    if (matches_.is_part || !embed()) {
      return Explained::kNot;
    }
    withdraw_from(first_place_, calls_, judgements_);
    for (const auto& [member, embedding] : embeddings_) {
      name(member, distinct_[embedding]);
    }
    for (const auto& [member, embedding] : embeddings_) {
      leave_open(member, distinct_[embedding]);
    }
    apply();
    return Explained::kByCalls;
  }

 private:
  // False where numbers are no count of the calls that were made.
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
      const auto absent = absent_complete_members(matches_, operation);
      for (const std::uint32_t member : absent) {
        missing_[{member, series_of(operation)}].push_back(i);
      }
    }
    // Operations are sorted by their numbers: behind the first absent one nothing may be.
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

  std::vector<std::uint32_t> symbols_of(const std::vector<SignedCall>& calls) {
    std::vector<std::uint32_t> symbols;
    symbols.reserve(calls.size());
    for (const SignedCall& call : calls) {
      const auto next = static_cast<std::uint32_t>(names_.size());
      symbols.push_back(names_.try_emplace(call.signature, next).first->second);
    }
    return symbols;
  }

  // Finds the calls of each complete member within those of the one with the most.
  bool embed() {
    const auto& members = matches_.communicators[matches_.operations[first_].communicator].members;
    std::optional<std::uint32_t> most;
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      if (members[m].is_complete && (!most || calls_[m].size() > calls_[*most].size())) {
        most = m;
      }
    }
    reference_ = *most;
    const auto usual = symbols_of(calls_[reference_]);
    first_place_ = usual.size();
    std::map<std::vector<std::uint32_t>, std::size_t> seen;  // most ranks call the same
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      if (!members[m].is_complete || m == reference_) {
        continue;
      }
      auto symbols = symbols_of(calls_[m]);
      if (symbols == usual) {
        continue;
      }
      const auto [at, is_new] = seen.try_emplace(std::move(symbols), distinct_.size());
      if (is_new) {
        const Embedding& found = distinct_.emplace_back(usual, at->first);
        if (!found.is_there()) {
          return false;
        }
        std::size_t place = 0;
        while (place < first_place_ && !found.may_be_left_out(place)) {
          ++place;
        }
        first_place_ = place;
      }
      embeddings_.emplace_back(m, at->second);
    }
    return !embeddings_.empty();
  }

  void name(std::uint32_t member, const Embedding& embedding) {
    const auto& usual = calls_[reference_];
    for (std::size_t place = 0; place < usual.size(); ++place) {
      if (!embedding.may_be_used(place)) {
        named_[usual[place].operation].push_back(member);
      }
    }
  }

  bool is_named(std::size_t operation, std::uint32_t member) const {
    const auto found = named_.find(operation);
    return found != named_.end() &&
           std::binary_search(found->second.begin(), found->second.end(), member);
  }

  // What is missing beyond what could be named, of each series: one of several calls.
  void leave_open(std::uint32_t member, const Embedding& embedding) {
    struct Candidates {
      std::size_t named = 0;
      std::vector<std::size_t> operations;
      std::uint64_t from = ~0ULL;
      std::uint64_t to = 0;
    };
    std::map<Series, Candidates> of_series;
    const auto& usual = calls_[reference_];
    for (std::size_t place = 0; place < usual.size(); ++place) {
      const MatchedOperation& operation = matches_.operations[usual[place].operation];
      Candidates& candidates = of_series[series_of(operation)];
      if (!embedding.may_be_used(place)) {
        ++candidates.named;
      } else if (embedding.may_be_left_out(place)) {
        candidates.operations.push_back(usual[place].operation);
        candidates.from = std::min(candidates.from, operation.number);
        candidates.to = std::max(candidates.to, operation.number);
      }
    }
    for (const auto& [series, candidates] : of_series) {
      const auto missing = std::as_const(missing_).find({member, series});
      if (missing == missing_.end() || missing->second.size() <= candidates.named) {
        continue;
      }
      std::size_t left = missing->second.size() - candidates.named;
      // Any operation of the series may stand for it; best one that has no part of the member.
      for (const auto* const indices : {&missing->second, &candidates.operations}) {
        for (auto i = indices->rbegin(); i != indices->rend() && left > 0; ++i) {
          OneOf& open = open_[*i];
          if (!named_.contains(*i) && (open.members.empty() || open.members.back() != member)) {
            open.members.push_back(member);
            open.from = std::min(open.from, candidates.from);
            open.to = std::max(open.to, candidates.to);
            --left;
          }
        }
      }
    }
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
        judgements_[i].is_number_unknown = true;
        judgements_[i].one_of = {open.from, open.to};
        unknown.push_back(i);
      }
    }
    for (auto& [i, members] : named_) {
      judgements_[i] = {Verdict::kMissing, Difference::kNone, 0};
      if (members != absent_complete_members(matches_, matches_.operations[i])) {
        judgements_[i].left_out_by = std::move(members);
      }
    }
    link_alike(matches_, unknown, judgements_);
  }

  const Matches& matches_;
  const std::size_t first_;
  const std::size_t last_;
  const SignedCalls& calls_;
  std::vector<Judgement>& judgements_;
  std::map<std::pair<std::uint32_t, Series>, std::vector<std::size_t>> missing_;  // by number
  std::map<Signature, std::uint32_t> names_;
  std::uint32_t reference_ = 0;
  std::size_t first_place_ = 0;  // from which on calls may be left out
  std::vector<Embedding> distinct_;
  std::vector<std::pair<std::uint32_t, std::size_t>> embeddings_;  // of members that left out some
  std::map<std::size_t, std::vector<std::uint32_t>> named_;        // members, by operation
  std::map<std::size_t, OneOf> open_;
};

}  // namespace

Explained explain_missing(const Matches& matches, std::size_t first, std::size_t last,
                          const SignedCalls& calls, std::vector<Judgement>& judgements) {
  return Explainer(matches, first, last, calls, judgements).explain();
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
