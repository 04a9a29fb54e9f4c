// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_ACCOUNT_RULES_H
#define RINGSIDE_ANALYZER_LINT_ACCOUNT_RULES_H

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks that each event type of a ringside_account adds up: produced is the sum of all else.
void check_account(const Event& event, Findings& findings);

/// Whether an account line counts events that lost their lines behind the rings: the file, or the
/// process, or its memory came to an end.
bool has_lost_lines(const Event& event);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_ACCOUNT_RULES_H
