// SPDX-License-Identifier: Apache-2.0
//
// Judges matched operations. A verdict is never stronger than the data: if records may have been
// lost, an absent call is "not recorded" and not "missing".
#ifndef RINGSIDE_ANALYZER_MATCH_VERDICT_VERDICT_H
#define RINGSIDE_ANALYZER_MATCH_VERDICT_VERDICT_H

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/cut_off.h"
#include "analyzer/match/verdict/state_mismatch.h"

namespace ringside::match {

enum class Verdict : std::uint8_t {
  kMatched,           // recorded on all ranks, and they agree
  kFunctionMismatch,  // ranks called different functions at one place in their order
  kSizeMismatch,      // bytes or counts differ
  kDatatypeMismatch,
  kRootMismatch,
  kStateMismatch,  // finished on some ranks, in flight on others that were dumped or killed
  kMissing,        // a rank did not call it, although its trace is complete, or goes on after it
  kNotRecorded,    // absent in some traces, but these are incomplete, or ranks have no trace
  kUndecided,      // it is not known which records belong together, or records may be lost
};
inline constexpr std::size_t kVerdictCount = 9;

const char* verdict_name(Verdict verdict);

/// The member in which the ranks' records of one operation differ.
enum class Difference : std::uint8_t {
  kNone,
  kFunction,
  kBytes,
  kCount,
  kTotals,  // of an AlltoAll: all ranks together take more or less than they give
  kDatatype,
  kRoot,
  kState
};

/// Returns a name such as "bytes"; "" for kNone.
const char* difference_name(Difference difference);

struct Judgement {
  Verdict verdict = Verdict::kMatched;
  Difference difference = Difference::kNone;
  /// Function mismatch: another operation that was called at the same place. These links form a
  /// circle through all of them.
  std::size_t other = 0;
  /// Function mismatch with shifted numbers after it: the members that called the operation at that
  /// place. Others may have called it at another place. Empty: all members that recorded it.
  std::vector<std::uint32_t> callers = {};
  /// Function mismatch: all members made these calls, but in different orders. `callers` are then
  /// all members that made this call first, where the orders begin to differ.
  bool is_another_order = false;
  /// Undecided: what a rank's record should say of it is damaged.
  bool is_damaged = false;
  /// Undecided: it is only inferred that these ranks are of one communicator. The other members say
  /// what they did wrong if they are.
  bool is_of_inferred = false;
  /// Undecided: a call before it that a rank left out has shifted the pairs.
  bool is_shifted = false;
  /// The call before it was not left out: it names another peer, or may do so if awaited_by is not
  /// set.
  bool is_shifted_by_peer = false;
  /// Missing: the members that left it out, ascending.
  std::vector<std::uint32_t> left_out_by = {};
  /// Missing: this was found by the order of their calls. Equal numbers no longer mean equal calls
  /// from there on.
  bool is_found_by_order = false;
  /// Missing: the number of the call is not known, because several calls are alike. It is one of
  /// `one_of`, if that is set. `other` links all judgements about the same calls.
  bool is_number_unknown = false;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> one_of = {};
  /// A send or receive without its other end: the rank that has the other end of one more pair with
  /// this one's rank, of the same size and at the same place. So both name different peers.
  std::optional<std::uint32_t> awaited_by = {};
};

/// True if the ranks disagree about the operation, or a rank's part is of another operation. It has
/// no figures then.
bool disagrees(const Judgement& judgement);

/// True if Judgement::left_out_by did not call the operation; where the ranks' communicator is only
/// inferred, if they are of it.
bool is_left_out(const Judgement& judgement);

bool is_finished(const model::Operation& operation);

/// Whether the rank's record of the operation is damaged, so that it does not say all that it
/// should.
bool is_damaged(const model::TraceFile& file, std::uint32_t operation);

bool is_cut_off_in_flight(const model::TraceFile& file, const model::Operation& operation);

/// The ranks' records of one operation, side by side.
struct Comparison {
  Difference difference = Difference::kNone;  // between records that are sound; none of a group
  bool has_in_flight = false;
  bool is_doubtful = false;                 // a rank's record of it is damaged
  bool has_sound = false;                   // a rank's is not
  std::optional<std::int64_t> surplus = 0;  // of all ranks together; nothing if one does not tell
};

/// Compares the ranks' records of each of these operations, indices into Matches::operations.
std::vector<Comparison> compare_ranks(const model::Traces& traces, const Matches& matches,
                                      std::span<const std::uint32_t> operations);

/// Judges one operation by the comparison of its ranks. Function mismatches are found by
/// judge_all() instead. `cut_off` is that of the operation's communicator.
Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation, const Comparison& compared,
                const CutOff& cut_off, StateMismatch& states);
/// The same by the hosts' own clocks, and for a communicator of which no rank was cut off.
/// `operation` is one of `matches`.
Judgement judge(const model::Traces& traces, const Matches& matches,
                const MatchedOperation& operation);

/// Returns the ranks whose traces lack this operation. If it is missing, returns those that surely
/// did not call it.
std::vector<std::uint32_t> absent_ranks(const Matches& matches, const MatchedOperation& operation,
                                        const Judgement& judgement);

/// Returns how many members called the operation and have no part of it, since newer records have
/// overwritten that.
std::uint32_t overwritten_parts(const Matches& matches, const MatchedOperation& operation);

/// Returns the members that did not record the operation and left it out, judged by numbers: their
/// traces are complete, or go on after it.
std::vector<std::uint32_t> left_out_by_number(const model::Traces& traces, const Matches& matches,
                                              const MatchedOperation& operation,
                                              const CutOff& cut_off);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_VERDICT_VERDICT_H
