// SPDX-License-Identifier: Apache-2.0
#include "live/watch/watch_report.h"

#include <optional>
#include <string_view>

#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/document/numbers.h"
#include "launch/text.h"
#include "live/watch/moment.h"

namespace ringside::live {
namespace {

// All newlines are between the members: those of texts are escaped.
std::string on_one_line(std::string_view json) {
  std::string line;
  bool is_indent = false;
  for (const char letter : json) {
    is_indent = letter == '\n' || (is_indent && letter == ' ');
    if (!is_indent) {
      line += letter;
    }
  }
  return line + '\n';
}

std::vector<std::string> printable_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> made;
  made.reserve(texts.size());
  for (const std::string& text : texts) {
    made.push_back(launch::printable(text));
  }
  return made;
}

}  // namespace

std::string evidence_text(const WatchEvidence& evidence) {
  const std::string source = evidence.source == "kernel"            ? "kernel log"
                             : evidence.source == "ras"             ? "NCCL's RAS"
                             : evidence.source == "links"           ? "links"
                             : evidence.source == "flight_recorder" ? "Flight Recorder"
                                                                    : evidence.source;
  return source + (evidence.host.empty() ? "" : " of " + launch::printable(evidence.host)) + ": " +
         launch::printable(evidence.text);
}

std::string finding_as_text(const WatchFinding& finding, const Verdict& verdict,
                            std::int64_t realtime_ns) {
  std::string text;
  if (finding.kind != WatchFinding::Kind::kVerdict) {
    text = moment_text(realtime_ns) + "  " +
           (finding.job.empty() ? "" : launch::printable(finding.job) + ": ") + finding.sentence +
           '\n';
  }
  for (const std::string& sentence : verdict.sentences) {
    text += "    " + launch::printable(sentence) + '\n';
  }
  if (!verdict.dumps.empty()) {
    text += "    " + report::counted(verdict.dumps.size(), "dump") + ", the first " +
            launch::printable(verdict.dumps.front()) + '\n';
  }
  if (verdict.missing > 0) {
    text += "    " + report::counted(verdict.missing, "process", "processes") +
            (verdict.missing == 1 ? " has" : " have") + " written no dump\n";
  }
  for (const WatchEvidence& one : verdict.evidence) {
    text += "    " + evidence_text(one) + '\n';
  }
  return text;
}

std::string finding_as_json(const WatchFinding& finding, const Verdict& verdict,
                            std::int64_t realtime_ns) {
  constexpr int kDecimals = 3;
  report::JsonWriter json;
  json.begin_object();
  json.integer("schema_version", 1);
  json.text("time", moment_text(realtime_ns));
  json.text("finding", name_of(finding.kind));
  json.boolean("ends", finding.ends);
  json.text("sentence", finding.sentence);
  json.text("job", launch::printable(finding.job));
  json.text("directory", launch::printable(finding.directory));
  json.text("communicator", finding.communicator);
  const auto add_ranks = [&](const char* key, const std::vector<std::int64_t>& ranks) {
    json.begin_row(key);
    for (const std::int64_t rank : ranks) {
      json.integer({}, rank);
    }
    json.end_row();
  };
  add_ranks("ranks", finding.ranks);
  add_ranks("idle_ranks", finding.idle_ranks);
  json.texts("hosts", printable_texts(finding.hosts));
  json.text("function", launch::printable(finding.function));
  json.integer("seq", finding.seq);
  json.number("seconds", finding.seconds, kDecimals);
  json.number("percent_of_time", finding.percent_of_time, kDecimals);
  json.texts("verdict", printable_texts(verdict.sentences));
  json.texts("dumps", printable_texts(verdict.dumps));
  json.integer("dumps_missing", verdict.missing);
  json.begin_array("evidence");
  for (const WatchEvidence& one : verdict.evidence) {
    json.begin_object();
    json.text("source", launch::printable(one.source));
    json.text("host", launch::printable(one.host));
    json.text("text", launch::printable(one.text));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return on_one_line(json.finish());
}

}  // namespace ringside::live
