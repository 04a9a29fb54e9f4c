// SPDX-License-Identifier: Apache-2.0
//
// Traces of a job beside dumps of PyTorch's Flight Recorder of the same job: an operation gets what
// the dump of its rank says of the call.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_DUMP_JOIN_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_DUMP_JOIN_H

#include <string>
#include <vector>

#include "analyzer/model/trace.h"

namespace ringside::match {

struct JoinedDumps {
  model::Traces dumps;             // as they were read, by themselves
  std::vector<std::string> notes;  // of what could not be joined
};

/// Takes the dumps out of `traces`, if there are traces of NCCL's calls beside them; else leaves
/// all as it is. Operations of these get the stack, PyTorch's number and the process group.
///
/// The key: the group's name is what the communicator's name has behind its last colon, and in a
/// group the entries of a dump follow each other as the calls of NCCL do. Each entry lies before
/// its calls and those before the next entry, by the host's own clock. An operation for which this
/// is not certain stays as it is, and is counted in a note.
JoinedDumps join_dumps(model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_DUMP_JOIN_H
