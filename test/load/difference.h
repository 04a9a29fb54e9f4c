// SPDX-License-Identifier: Apache-2.0
//
// Finds where two loaded sets of traces differ.
#ifndef RINGSIDE_TEST_LOAD_DIFFERENCE_H
#define RINGSIDE_TEST_LOAD_DIFFERENCE_H

#include <string>

#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::plain {

/// The first difference in words, empty if there is none. Everything is compared: names by their
/// texts, since ids depend on the order in which names were met.
std::string difference_of(const model::Traces& one, const model::Traces& other);

/// Likewise of the bad lines, by path and number, and of the files that could not be read; not of
/// the reasons.
std::string difference_of(const model::Problems& one, const model::Problems& other);

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_DIFFERENCE_H
