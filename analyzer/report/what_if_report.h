// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_WHAT_IF_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_WHAT_IF_REPORT_H

#include <string>
#include <vector>

#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// What a user asks: parts that apply together. Nothing: all questions of the default table.
struct AskedChange {
  std::vector<std::string> without;  // "rank:3", "host:node4"
  bool is_balanced = false;
  std::string network;  // "2x", "peak", "infinite"; empty: as it was

  bool is_empty() const { return without.empty() && !is_balanced && network.empty(); }
};

/// The question, in terms of the job; else what is wrong with it, as a sentence without its dot.
struct ReadChange {
  replay::WhatIfQuestion question;
  std::string wrong;
};
ReadChange read_change(const AskedChange& asked, const replay::Job& job);

/// How fast a network that is asked for is: 2 of "2x", infinity of "infinite". Nothing if the text
/// is neither.
std::optional<double> network_speed(const std::string& asked);

/// Answers what the longest run would take with that change, or all questions of the default table.
Document what_if_document(const replay::Replays& replays, const AskedChange& asked);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_WHAT_IF_REPORT_H
