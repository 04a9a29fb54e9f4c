// SPDX-License-Identifier: Apache-2.0
//
// A second loader, to test the analyzer's: slow and obvious, written from docs/trace-format.md. It
// shares nothing with analyzer/load but the model.
#ifndef RINGSIDE_TEST_LOAD_PLAIN_LOADER_H
#define RINGSIDE_TEST_LOAD_PLAIN_LOADER_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::plain {

struct Loaded {
  model::Traces traces;
  model::Problems problems;
};

/// Whether a line that is no JSON may be used as far as it goes. A reader may do so where the
/// damage is in what it does not need (docs/trace-format.md, "Reading"), so which lines these are
/// is asked of the reader that is compared. Without this none are.
using MayUse = std::function<bool(std::string_view line, bool is_first)>;

/// Loads files, plain or compressed, in the order given. Reasons of problems are no part of the
/// comparison; they only say that there is one.
Loaded load_plainly(const std::vector<std::string>& paths, const MayUse& may_use = {});

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_PLAIN_LOADER_H
