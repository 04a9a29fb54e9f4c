// SPDX-License-Identifier: Apache-2.0
//
// The sentences and cells that the table and the Markdown have in common.
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_SUMMARY_TEXT_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_SUMMARY_TEXT_H

#include <string>
#include <vector>

#include "analyzer/report/document/document.h"
#include "analyzer/report/document/text_table.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {

/// Says what was read, and what is not complete: one line each.
std::vector<std::string> input_lines(const Summary& summary);

/// Says from when, where and what the traces are: when the job began, its hosts and the directories
/// of its traces; then the job, NCCL's version and the interface.
std::vector<std::string> origin_lines(const Summary& summary);

/// "world 0x1234, 4 ranks" and what is particular about it.
std::string communicator_title(const match::Communicator& communicator);

/// Says what in a communicator did not match or did not finish: one line each.
std::vector<std::string> communicator_lines(const match::Communicator& communicator,
                                            const metrics::CommunicatorRows& rows);

/// The rows of a communicator, by its index.
Table rows_table(const Summary& summary, std::size_t communicator);

/// Says what the figures mean: one line each.
std::vector<std::string> footer_lines(const Summary& summary);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_SUMMARY_TEXT_H
