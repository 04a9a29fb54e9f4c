// SPDX-License-Identifier: Apache-2.0
//
// The health of a job, in one headline and findings: the page of `ringside report`, `ringside
// summary` and `ringside run` begin with it.
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_HEALTH_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_HEALTH_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {

/// Documents that are judged describe so many operations of a communicator at most.
inline constexpr std::size_t kMostJudged = 20;

struct HealthFinding {
  Finding finding;
  std::string section;        // the id of the section of the page that has its evidence
  std::string command = {};   // a command line that shows more; empty: there is none
  std::string timeline = {};  // one that makes a timeline of this part, likewise
};

/// The troubles of a job, the gravest first.
struct Health {
  std::string
      status;  // "error", "warning", "ok" or "unknown": nothing is wrong, but not all is known
  std::string headline;  // a sentence without its full stop
  std::vector<HealthFinding> findings;
  bool has_timeline = true;         // `ringside merge` can make one of the inputs
  std::string report_command = {};  // that writes the page with all of it
  /// The command that makes a timeline from {from} to {to}, in seconds.
  std::string merge_command = {};
};

/// `hang`: as `ringside hang` makes it; nothing where no operation is in flight. `network`, `match`
/// and `topology`: as those commands make them. `has_unjudged_links`: see metrics::Network.
Health judge_health(const Summary& summary, const replay::Replays& replays,
                    const match::Matches& matches, const std::optional<Document>& hang,
                    const Document& network, bool has_unjudged_links, const Document& match,
                    const Document& topology);

/// Gives each finding the command line that shows more: `inputs` are the options and paths of the
/// user, as a shell takes them. `hang_inputs`: those of them that `ringside hang` has. `paths`:
/// without options.
void add_commands(const std::string& inputs, const std::string& hang_inputs,
                  const std::string& paths, Health& health);

/// The headline, then the gravest findings, then how many more there are. A line that begins with
/// two blanks has the command that shows more of those above it.
std::vector<std::string> health_lines(const Health& health);

/// Writes keys "status", "headline" and "findings".
void write_health(JsonWriter& json, const Health& health);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_HEALTH_H
