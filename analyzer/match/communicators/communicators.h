// SPDX-License-Identifier: Apache-2.0
//
// Finds which contexts of which processes are ranks of the same communicator.
#ifndef RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_COMMUNICATORS_H
#define RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_COMMUNICATORS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/communicators/runs.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// One rank of a communicator, as one process recorded it.
struct Member {
  std::uint32_t file = 0;     // index into Traces::files
  std::uint32_t context = 0;  // number in that file
  std::optional<std::uint32_t> rank;
  /// True if this rank called no operation that is not in the file. The process closed the file,
  /// nothing was lost, and one window spans the life of the communicator.
  bool is_complete = false;
  /// True if this rank made no call before the last one in the file that is not in the file. A
  /// process that was killed, or dumped while it ran, can only be complete so far, as can a rank
  /// whose last call never finished: NCCL gave the communicator up, and refused later calls unseen.
  bool is_complete_so_far = false;
  /// The single conditions of completeness. `is_lossless`: no call is missing between two that are
  /// in the file (a killed process loses its end only). The others: the first window began before
  /// the communicator, and the last window ended after it.
  bool is_lossless = false;
  bool is_from_start = false;
  bool is_to_end = false;
  /// Set if newer records have overwritten its first ones, and numbers count the collectives of all
  /// functions: of the collectives with this number or a greater one, none is missing so far.
  std::optional<std::uint64_t> recorded_from;
};

inline bool is_cut_off(const Member& member) {
  return member.is_complete_so_far && !member.is_complete;
}

/// How the members were found to be of one communicator.
enum class Identity : std::uint8_t {
  kHash,   // NCCL's hash of the communicator
  kSole,   // no process has another one, so the interface (v1 to v3) need not give a hash
  kOrder,  // inferred from the order of creation in each process: the interface gives no hash
  kAlone,  // one rank by itself, see Communicator::why_alone
};

struct Communicator {
  Identity identity = Identity::kHash;
  std::string hash;            // empty unless identity is kHash
  std::uint32_t run = 0;       // index into Runs::runs: the run of its latest process
  std::uint32_t instance = 0;  // counts communicators of the same hash from 0, by run and creation
  std::uint32_t order = 0;     // order of creation, from 1; 0: no communicator
  std::string name;            // empty if not known
  std::string distinction;     // from others of its run that have its name; empty: none has it
  std::string process;         // "host:pid" of the first member
  std::uint32_t nranks = 0;
  bool nranks_inferred = false;  // nranks is a guess from the ranks seen; there may be more
  std::vector<Member> members;   // by rank
  /// Why nothing says which ranks are of it, so that nothing of it can be compared; empty if some
  /// record does.
  std::string why_alone;
  /// All members made the same calls, with the same sizes, types and roots. They are matched by
  /// number or order, none is a send or receive, and none is in flight.
  bool is_alike = false;
  /// Ascending indices of members that have calls which could not be aligned, and the number of
  /// these calls.
  std::vector<std::uint32_t> unaligned_members;
  std::uint64_t unaligned_calls = 0;
  std::vector<std::string> notes;  // how operations were matched without sequence numbers
};

/// Returns the name with what distinguishes it; empty if the communicator has no name.
std::string distinct_name(const Communicator& communicator);

/// Converts a time of a file to nanoseconds since the epoch, by the file's own clock. Absurd times
/// are clamped.
std::int64_t since_epoch(const model::Process& process, std::int64_t time_ns);

/// Finds all communicators that have at least one operation, in the order of their creation. A
/// communicator spans two runs only if its processes lived at the same time and no rank occurs
/// twice. This is so where some processes of a job were restarted.
std::vector<Communicator> find_communicators(const model::Traces& traces, const Runs& runs);

/// Returns why the ranks of some communicators are not known, each reason once; empty if all are.
std::string why_alone(const std::vector<Communicator>& communicators);

/// Returns the ranks without a trace; none if a member's rank is not known, or which ranks there
/// are. If nranks is inferred, there may be more.
std::vector<std::uint32_t> ranks_without_trace(const Communicator& communicator);
/// Returns how many these are in the communicator that has the most.
std::size_t most_ranks_without_trace(const std::vector<Communicator>& communicators);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_COMMUNICATORS_H
