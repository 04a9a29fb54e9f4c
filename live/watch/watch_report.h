// SPDX-License-Identifier: Apache-2.0
//
// A finding of `ringside watch`, for people and for programs.
#ifndef RINGSIDE_LIVE_WATCH_WATCH_REPORT_H
#define RINGSIDE_LIVE_WATCH_WATCH_REPORT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "live/watch/watcher.h"

namespace ringside::live {

/// A line of somebody else about the same trouble.
struct WatchEvidence {
  std::string
      source;        ///< "kernel", "ras", "links", "flight_recorder", or "host" if it says nothing
  std::string host;  ///< as it was asked; empty: this one, or the whole job
  std::string text;  ///< a line
};

/// The words of `ringside hang` on the dumps that were written for a finding.
struct Verdict {
  std::vector<std::string> sentences;
  std::vector<std::string> dumps;  ///< paths on the processes' hosts
  std::size_t missing = 0;         ///< processes that have written none
  std::vector<WatchEvidence> evidence;

  bool is_empty() const {
    return sentences.empty() && dumps.empty() && missing == 0 && evidence.empty();
  }
};

/// "kernel log of node1: ..."
std::string evidence_text(const WatchEvidence& evidence);

/// Lines: the moment, the job and the sentence, then the verdict. A kVerdict has the last only,
/// since its line stands before.
std::string finding_as_text(const WatchFinding& finding, const Verdict& verdict,
                            std::int64_t realtime_ns);

/// One line: schema_version, time, finding, ends, sentence, and what is known of job, directory,
/// communicator, ranks, idle_ranks, hosts, function, seq, seconds, percent_of_time, verdict, dumps,
/// dumps_missing and evidence.
std::string finding_as_json(const WatchFinding& finding, const Verdict& verdict,
                            std::int64_t realtime_ns);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_WATCH_WATCH_REPORT_H
