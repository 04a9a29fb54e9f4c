// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_ACCOUNT_RULES_H
#define RINGSIDE_ANALYZER_LINT_ACCOUNT_RULES_H

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks that each event type of a ringside_account adds up: produced is the sum of all else.
void check_account(const Event& event, Findings& findings);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_ACCOUNT_RULES_H
