// SPDX-License-Identifier: Apache-2.0
//
// Lines of other sources about a job that is in trouble.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_LIVE_EVIDENCE_H
#define RINGSIDE_ANALYZER_CLI_LIVE_LIVE_EVIDENCE_H

#include <cstdint>
#include <string>
#include <vector>

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

/// Returns what these ranks were doing: their stacks, by the tools on their hosts, which takes ten
/// seconds. `files`: indices into `traces`; of two at fault and one that waits at most.
std::vector<live::WatchEvidence> evidence_of_stacks(const live::Choice& choice,
                                                    const std::vector<live::Reply>& replies,
                                                    const model::Traces& traces,
                                                    const std::vector<std::uint32_t>& files);

/// Returns the faults of links, slots and adapters, by the traces' own readings of the machines.
std::vector<live::WatchEvidence> evidence_of_links(const model::Traces& traces);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_LIVE_EVIDENCE_H
