// SPDX-License-Identifier: Apache-2.0
//
// The rules of the lines of a reading of the machine.
#ifndef RINGSIDE_ANALYZER_LINT_MACHINE_RULES_H
#define RINGSIDE_ANALYZER_LINT_MACHINE_RULES_H

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks the values of a ringside_topology, ringside_gpu or ringside_port, whose keys are there.
void check_machine(const Event& event, Findings& findings);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_MACHINE_RULES_H
