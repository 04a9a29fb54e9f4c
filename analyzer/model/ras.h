// SPDX-License-Identifier: Apache-2.0
//
// The answer of NCCL's own RAS service about a running job, at one moment.
#ifndef RINGSIDE_ANALYZER_MODEL_RAS_H
#define RINGSIDE_ANALYZER_MODEL_RAS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ringside::model {

/// A rank of a communicator, whose process answered or not.
struct RasRank {
  std::uint32_t rank = 0;
  std::string host;  // an address
  std::int64_t pid = 0;
  std::map<std::string, std::uint64_t> launched;  // collectives, by function; of one that answered
  std::int64_t init_error = 0;                    // ncclResult_t
  std::int64_t async_error = 0;
  bool is_in_progress = false;  // it is being made, or works on a call that does not block
  bool is_aborted = false;
  bool is_unresponsive = false;
  bool is_dead = false;  // RAS considers it dead
};

struct RasCommunicator {
  std::string hash;  // "0x...", as in traces
  std::uint32_t nranks = 0;
  std::vector<RasRank> ranks;   // those that answered
  std::vector<RasRank> absent;  // no data came from them
};

/// How many of its ranks neither answered nor are said to be missing.
inline std::size_t ranks_not_reported(const RasCommunicator& communicator) {
  const std::size_t reported = communicator.ranks.size() + communicator.absent.size();
  return std::max<std::size_t>(communicator.nranks, reported) - reported;
}

/// A line of a report of RAS diagnostics (`ncclras -D`) that asks for a review.
struct RasDiagnostic {
  std::string check;                 // "ECC", "NVLink", "NCCL environment"
  std::string text;                  // what is said of it
  std::string hash;                  // of the communicator; empty if the line has none
  std::vector<std::uint32_t> ranks;  // those that it names; RAS may leave out further ones
};

struct Ras {
  std::string nccl_version;
  std::string time;  // as RAS writes it, of the host that answered; empty in a text
  std::vector<RasCommunicator> communicators;
  std::uint64_t not_listed = 0;  // communicators that it counts, and does not describe
  std::uint64_t timeouts = 0;
  /// The lines below "Errors" and "Warnings" of the text form, which has no communicators.
  bool is_text = false;
  std::vector<std::string> lines;
  /// A report of diagnostics has nothing of the above but these, and how many checks found nothing.
  bool is_diagnostics = false;
  std::vector<RasDiagnostic> diagnostics;
  std::uint64_t checks_passed = 0;
};

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_RAS_H
