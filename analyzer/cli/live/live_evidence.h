// SPDX-License-Identifier: Apache-2.0
//
// Lines of other sources about a job that is in trouble.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_LIVE_EVIDENCE_H
#define RINGSIDE_ANALYZER_CLI_LIVE_LIVE_EVIDENCE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/cli/live/hang_answer.h"
#include "analyzer/model/trace.h"
#include "live/choose.h"
#include "live/watch/watch_report.h"

namespace ringside::cli {

/// Returns the lines of kernel, RAS and Flight Recorder of these hosts, four at most. `hosts` are
/// named as they are asked; if the choice has none, this host alone is asked. RAS knows the whole
/// job: the first host that has an answer of it is believed for all. A source that says nothing has
/// no line; one that cannot be asked says why, but for RAS, which most jobs do not have.
std::vector<live::WatchEvidence> evidence_of_hosts(const live::Choice& choice,
                                                   const std::vector<std::string>& hosts);

/// Whose stacks are to be taken.
struct StacksToTake {
  struct Process {
    std::int64_t pid = 0;
    std::string subject;  ///< of sentences about it
    bool is_waiting = false;
  };
  live::Hosts hosts;
  std::map<std::string, std::vector<Process>> processes;  ///< by the host as it is asked
  bool is_start_up = false;  ///< they have no communicator: who of them waits for others is said

  /// A process that has answered.
  void add(const live::Reply& reply, bool is_waiting);

  /// Returns what they were doing, by the tools on their hosts, all at the same time, which takes
  /// five seconds or until hosts.stop.
  std::vector<live::WatchEvidence> take() const;
};

/// Returns those of the ranks at fault, and of one that waits.
StacksToTake stacks_to_take(const live::Choice& choice, const std::vector<live::Reply>& replies,
                            const model::Traces& traces, const HangAnswer& answer);

/// Returns those of the ranks that a finding of `watch` names.
StacksToTake stacks_of_late(const live::Choice& choice, const live::WatchFinding& finding,
                            const live::LiveProcesses& processes);

/// Returns the faults of links, slots and adapters, by the traces' own readings of the machines.
std::vector<live::WatchEvidence> evidence_of_links(const model::Traces& traces);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_LIVE_EVIDENCE_H
