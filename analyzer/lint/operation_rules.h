// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_OPERATION_RULES_H
#define RINGSIDE_ANALYZER_LINT_OPERATION_RULES_H

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks the args of one operation: whether they are all there and agree with each other.
void check_operation(const Event& event, Findings& findings);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_OPERATION_RULES_H
