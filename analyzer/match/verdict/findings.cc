// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/findings.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "analyzer/match/calls/entry.h"
#include "analyzer/match/verdict/function_mismatch.h"

namespace ringside::match {
namespace {

// The earliest of different calls in one place counts, so that a place comes before the next one.
std::int64_t first_time(const model::Traces& traces, const Matches& matches,
                        const std::vector<Judgement>& judgements, std::size_t index) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::size_t i = index;
  do {
    for (const Part& part : parts_of(matches, matches.operations[i])) {
      first_ns = std::min(first_ns, since_epoch(traces.files[part.file].process,
                                                time_of(operation_of(traces, part))));
    }
    i = judgements[i].other;
  } while (judgements[index].difference == Difference::kFunction && i != index);
  return first_ns;
}

}  // namespace

int gravity(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMatched:
      return 0;
    case Verdict::kNotRecorded:
    case Verdict::kUndecided:
      return 1;
    case Verdict::kStateMismatch:
      return 2;
    case Verdict::kFunctionMismatch:
    case Verdict::kSizeMismatch:
    case Verdict::kDatatypeMismatch:
    case Verdict::kRootMismatch:
    case Verdict::kMissing:
      return 3;
  }
  return 0;
}

bool is_described(const Matches& matches, const std::vector<Judgement>& judgements,
                  std::size_t index) {
  const MatchedOperation& operation = matches.operations[index];
  const Judgement& judgement = judgements[index];
  const bool says_nothing =
      judgement.verdict == Verdict::kNotRecorded
          ? absent_ranks(matches, operation, judgement).empty()
          : judgement.verdict == Verdict::kUndecided &&
                !matches.communicators[operation.communicator].why_alone.empty();
  return judgement.verdict != Verdict::kMatched && !says_nothing &&
         is_first_of_its_place(judgements, index);
}

std::vector<CommunicatorFindings> find_findings(const model::Traces& traces, const Matches& matches,
                                                const std::vector<Judgement>& judgements,
                                                std::size_t cap) {
  std::vector<CommunicatorFindings> all(matches.communicators.size());
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const MatchedOperation& operation = matches.operations[i];
    const Verdict verdict = judgements[i].verdict;
    CommunicatorFindings& findings = all[operation.communicator];
    ++findings.verdicts[static_cast<std::size_t>(verdict)];
    if (is_described(matches, judgements, i)) {
      findings.described.push_back(i);
    }
  }
  for (CommunicatorFindings& findings : all) {
    auto& described = findings.described;
    const std::size_t kept = std::min(cap, described.size());
    std::vector<std::tuple<int, std::int64_t, std::size_t>> order;
    order.reserve(described.size());
    for (const std::size_t i : described) {
      order.emplace_back(-gravity(judgements[i].verdict),
                         first_time(traces, matches, judgements, i), i);
    }
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept),
                      order.end());
    findings.not_described = described.size() - kept;
    described.clear();
    for (std::size_t i = 0; i < kept; ++i) {
      described.push_back(std::get<2>(order[i]));
      findings.called_ns.push_back(std::get<1>(order[i]));
    }
  }
  return all;
}

Verdict agreed_verdict(const Communicator& communicator) {
  return communicator.members.size() < communicator.nranks ? Verdict::kNotRecorded
                                                           : Verdict::kMatched;
}

}  // namespace ringside::match
