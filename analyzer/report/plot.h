// SPDX-License-Identifier: Apache-2.0
//
// Bandwidth against message size, drawn with characters.
#ifndef RINGSIDE_ANALYZER_REPORT_PLOT_H
#define RINGSIDE_ANALYZER_REPORT_PLOT_H

#include <cstddef>
#include <string>

#include "analyzer/report/summary/summary.h"

namespace ringside::report {

/// A bar for each row that has a busbw, from 0 to the greatest of all, by communicator and
/// function; behind it the busbw, and percent of peak where that is known. Lines fit `width`
/// columns (at least kLeastPlotWidth). `is_utf8`: bars of blocks, to an eighth of a column; else of
/// '#'.
std::string bandwidth_plot(const Summary& summary, std::size_t width, bool is_utf8);

inline constexpr std::size_t kLeastPlotWidth = 40;

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_PLOT_H
