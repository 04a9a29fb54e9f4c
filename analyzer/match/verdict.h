// SPDX-License-Identifier: Apache-2.0
//
// What can be said of a matched operation. A verdict is never stronger than the data: where records
// may have been lost, an absent one is "not recorded", not "missing".
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/match/cut_off.h"
#include "analyzer/match/matcher.h"

namespace ringside::match {

enum class Verdict : std::uint8_t {
  kMatched,           // on all ranks, and they agree
  kFunctionMismatch,  // at the same place of all their collectives ranks called other functions
  kSizeMismatch,      // in bytes, or in the count
  kDatatypeMismatch,
  kRootMismatch,
  kStateMismatch,  // finished on some ranks; in flight on others, which were dumped or killed
  kMissing,        // a rank whose trace is complete, or goes on behind it, did not call it
  kNotRecorded,    // not in the traces of all ranks, but those are not complete, or not all there
  kUndecided,      // it cannot be said what belongs together, or records may be lost
};
inline constexpr std::size_t kVerdictCount = 9;

/// For people, and in JSON.
const char* verdict_name(Verdict verdict);

/// In what the ranks' records of one operation differ.
enum class Difference : std::uint8_t { kNone, kFunction, kBytes, kCount, kDatatype, kRoot, kState };

/// "bytes" and so on; "" for none.
const char* difference_name(Difference difference);

struct Judgement {
  Verdict verdict = Verdict::kMatched;
  Difference difference = Difference::kNone;
  /// Of a function mismatch: another operation that was called at the same place. Following it
  /// from one to the next leads through all of them and back.
  std::size_t other = 0;
  /// Of a function mismatch after which the numbers are shifted: the members that called it at that
  /// place, since others called it at another. Empty: all that have a part of it.
  std::vector<std::uint32_t> callers = {};
  /// Of a missing one: the members that left it out, ascending.
  std::vector<std::uint32_t> left_out_by = {};
  /// Of a missing one: the order of their calls says so and not the numbers, which are of other
  /// calls from there on.
  bool is_told_by_calls = false;
  /// Of a missing one: it stands for a call whose number is not known, since the calls are alike:
  /// one of `one_of`, if that can be said. All that are alike in this are linked by `other`.
  bool is_number_unknown = false;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> one_of = {};
};

/// True if the ranks do not agree on what the operation is, or one's part is of another: it has no
/// figures then.
bool disagrees(const Judgement& judgement);

/// True if the operation was seen to end.
bool is_finished(const model::Operation& operation);

/// True if it was in flight when its process was dumped or killed.
bool is_cut_off_in_flight(const model::TraceFile& file, const model::Operation& operation);

/// Compares the ranks' records of one operation. A function mismatch is not seen here, see
/// judge_all. `cut_off` is of its communicator.
Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation, const CutOff& cut_off = {});

/// Ranks that have a trace, but not this operation in it; of a missing one, those that surely did
/// not call it.
std::vector<std::uint32_t> absent_ranks(const Matches& matches, const MatchedOperation& operation,
                                        const Judgement& judgement);

/// Members that have no part of the operation, and left it out as far as numbers say: their traces
/// are complete, or came past it.
std::vector<std::uint32_t> left_out_by_number(const model::Traces& traces, const Matches& matches,
                                              const MatchedOperation& operation,
                                              const CutOff& cut_off);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_H
