// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_GENERATE_PARSE_H
#define RINGSIDE_TEST_GENERATE_PARSE_H

#include <string>
#include <string_view>
#include <vector>

#include "simulate/options.h"

namespace ringside::simulate {

/// FUNCTION:BYTES[:world|split|orthogonal]. Throws std::invalid_argument with a text for the user,
/// as all functions here.
Step parse_step(std::string_view text);

Fault parse_straggler(std::string_view text);           // RANK:DELAY_US[:FROM[:UNTIL[:GROWTH_US]]]
LateMode parse_late_every(std::string_view text);       // RANK:DELAY_US:EVERY[:LENGTH[:FROM]]
StepPlan parse_clock_step(std::string_view text);       // HOST:ITERATION:US[:hidden]
LateMode parse_late_random(std::string_view text);      // RANK:FACTOR:PERCENT
Fault parse_slow_link(std::string_view text);           // FROM_RANK:TO_RANK:CHANNEL:FACTOR
Fault parse_mismatch(std::string_view text);            // WHAT:RANK:OPERATION
Fault parse_drop(std::string_view text);                // RANK:PERCENT
Fault parse_at(FaultKind kind, std::string_view text);  // RANK:OPERATION or RANK:ITERATION

/// The pattern that every iteration runs if none is given.
std::vector<Step> default_pattern(bool has_splits);

}  // namespace ringside::simulate

#endif  // RINGSIDE_TEST_GENERATE_PARSE_H
