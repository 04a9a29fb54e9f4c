// SPDX-License-Identifier: Apache-2.0
//
// Which contexts of which processes are ranks of the same communicator.
#ifndef RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_H
#define RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/runs.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// One rank of a communicator, as one process recorded it.
struct Member {
  std::uint32_t file = 0;     // index into Traces::files
  std::uint32_t context = 0;  // number in that file
  std::optional<std::uint32_t> rank;
  /// True if an operation that is not in the file was not called by this rank: the process closed
  /// the file, nothing was lost, and one window spans the life of the communicator.
  bool is_complete = false;
  /// True if that can be said of what came before the last call in the file. Behind that call it
  /// can be said of a complete one only: a process that was killed, or was dumped while it ran, did
  /// not leave out what it had not come to.
  bool is_complete_so_far = false;
  /// What of that is true, where not all is. `is_lossless`: nothing is absent between what is there
  /// (a killed process loses its end only). The others: the first window began before the
  /// communicator, the last one outlasted it.
  bool is_lossless = false;
  bool is_from_start = false;
  bool is_to_end = false;
};

/// True of a process that was killed, or was dumped while it ran.
inline bool is_cut_off(const Member& member) {
  return member.is_complete_so_far && !member.is_complete;
}

/// What makes the members one communicator.
enum class Identity : std::uint8_t {
  kHash,   // NCCL's hash of the communicator
  kOrder,  // the order of creation in each process: the interface (v1 to v3) gives no hash
  kAlone,  // neither: that order contradicts itself, or NCCL gave no context; one rank by itself
};

struct Communicator {
  Identity identity = Identity::kHash;
  std::string hash;            // empty unless identity is kHash
  std::uint32_t run = 0;       // index into Runs::runs, of the latest of its processes
  std::uint32_t instance = 0;  // from 0: those of the same hash, by run and creation
  std::uint32_t order =
      0;                // place in the order of creation, from 1; 0: context 0, of no communicator
  std::string name;     // empty if not known
  std::string process;  // "host:pid" of the first member
  std::uint32_t nranks = 0;
  bool nranks_inferred = false;  // from the ranks seen: there may be more
  std::vector<Member> members;   // by rank
  /// Members, by index and ascending, some of whose calls could not be aligned; and how many calls.
  std::vector<std::uint32_t> unaligned_members;
  std::uint64_t unaligned_calls = 0;
  std::vector<std::string> notes;  // how its operations were matched, where not by their numbers
};

/// A time of a file as nanoseconds since the epoch, by its own clock; absurd ones are clamped.
std::int64_t since_epoch(const model::Process& process, std::int64_t time_ns);

/// Finds all communicators that have at least one operation, in the order of their creation.
/// None spans two runs, unless its processes lived at the same time and no rank comes twice (a job
/// of which some processes were restarted).
std::vector<Communicator> find_communicators(const model::Traces& traces, const Runs& runs);

/// Ranks of which no trace was read; empty if nranks is inferred or a member's rank is not known.
std::vector<std::uint32_t> ranks_without_trace(const Communicator& communicator);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_COMMUNICATORS_H
