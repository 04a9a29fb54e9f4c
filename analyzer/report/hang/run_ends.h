// SPDX-License-Identifier: Apache-2.0
//
// Who ended first in each run of a job, when and how, by the traces' last moments.
#ifndef RINGSIDE_ANALYZER_REPORT_HANG_RUN_ENDS_H
#define RINGSIDE_ANALYZER_REPORT_HANG_RUN_ENDS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/communicators/runs.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/model/trace.h"

namespace ringside::report {

/// The end of one process.
struct End {
  std::uint32_t file = 0;
  std::int64_t at_ns = 0;  // on the common clock; the last sign of life of one that died
  bool has_died = false;   // without closing its trace: by a signal, or by _exit()
  std::optional<std::int64_t> status = std::nullopt;  // as waitpid gives it
};

/// The ends of a run of which a process died or failed, by their times.
struct RunEnds {
  std::vector<End> ends;
  std::size_t unknown = 0;  // processes whose end is in no trace, or which live
  std::size_t first = 0;    // so many came first; which of them was before the other is not known
  std::string text;         // a sentence without its full stop
};

/// "by SIGKILL", "with exit status 1". `status`: as waitpid gives it.
std::string how_it_ended(int status);

/// Of each run of which a process has died, or has ended with another status than 0.
std::vector<RunEnds> find_run_ends(const model::Traces& traces, const align::Alignment& alignment,
                                   const std::vector<match::Run>& runs);

/// True if the first end explains all that is stuck, or nothing is stuck: it is to be said first.
bool explains(const RunEnds& run, const metrics::Hang& hang);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_HANG_RUN_ENDS_H
