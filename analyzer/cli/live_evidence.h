// SPDX-License-Identifier: Apache-2.0
//
// What other sources know of a job that is in trouble, in lines.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_EVIDENCE_H
#define RINGSIDE_ANALYZER_CLI_LIVE_EVIDENCE_H

#include <string>
#include <vector>

#include "analyzer/model/trace.h"
#include "live/choose.h"
#include "live/watch_report.h"

namespace ringside::cli {

/// What kernel, RAS and Flight Recorder of these hosts say, of four hosts at most. `hosts`: as they
/// are asked; of this host alone where the choice has none. RAS knows the whole job: the first host
/// that has an answer of it is believed for all. A source that says nothing has no line; one that
/// cannot be asked says why, but for RAS, which most jobs do not have.
std::vector<live::WatchEvidence> evidence_of_hosts(const live::Choice& choice,
                                                   const std::vector<std::string>& hosts);

/// What is wrong with links, slots and adapters by the traces' own readings of the machines.
std::vector<live::WatchEvidence> evidence_of_links(const model::Traces& traces);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_EVIDENCE_H
