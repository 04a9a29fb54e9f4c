// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_EVENT_RULES_H
#define RINGSIDE_ANALYZER_LINT_EVENT_RULES_H

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks one event by itself: its keys, phase, category, ids and times.
void check_event(const Event& event, Findings& findings);

/// Checks the args of the ringside_trace event.
void check_first_event(const Event& event, Findings& findings);

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_EVENT_RULES_H
