// SPDX-License-Identifier: Apache-2.0
//
// The ranks of groups, as the `pg_config` of Flight Recorder dumps lists them.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_GROUPS_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_GROUPS_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// The ranks of a list such as "[0, 1]"; none if it is empty. Nothing if it is damaged: if it holds
/// anything else, or a rank twice.
std::optional<std::vector<std::uint32_t>> ranks_in(std::string_view listed);

/// Dumps name a group by PyTorch's name of it and its ranks. If the list of one dump is damaged, or
/// another one than those of the other dumps, the others' list is taken, if it is one and has
/// the dump's rank. Both are told. If dumps name a group of the same ranks otherwise, that is told,
/// too, and of the group of the other name a dump then tells nothing. So is a group that other
/// dumps list with a dump's rank, and that this dump lacks. All is left as it is where a rank has
/// several dumps: these may be of several jobs.
void mend_dump_groups(model::Traces& traces, model::Problems& problems);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_GROUPS_H
