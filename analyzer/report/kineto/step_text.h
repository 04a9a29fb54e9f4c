// SPDX-License-Identifier: Apache-2.0
//
// Parts of the critical path of a training's steps, in words.
#ifndef RINGSIDE_ANALYZER_REPORT_KINETO_STEP_TEXT_H
#define RINGSIDE_ANALYZER_REPORT_KINETO_STEP_TEXT_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"
#include "analyzer/metrics/steps/step_path.h"

namespace ringside::report {

/// A kernel's name without its types and arguments.
std::string short_kernel(std::string_view name);

/// "kernels", "launch overhead".
std::string_view path_kind_text(metrics::PathKind kind);

/// A part of a path, in words: "aten::copy_", "gemm of aten::mm", "the DataLoader".
std::string step_part_text(const facts::Facts& facts,
                           const std::vector<metrics::ProcessGraph>& graphs,
                           const metrics::StepPart& part);

/// The work that was done most while a wait of the path lasted, on the rank that was waited for: a
/// part of that (nullptr: there is none), and the time. Time that is not recorded counts only if
/// nothing else is.
std::pair<const metrics::StepPart*, std::int64_t> mostly_in(
    const facts::Facts& facts, const std::vector<metrics::ProcessGraph>& graphs,
    const metrics::StepPath& step, std::uint32_t wait);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_KINETO_STEP_TEXT_H
