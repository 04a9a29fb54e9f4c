// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page/comparison.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/compare_report.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/page/page_data.h"

namespace ringside::report {
namespace {

constexpr double kThreshold = 5;  // percent; that of `ringside compare`

std::string run_text(std::size_t index) {
  return "run " + std::to_string(index + 1);
}

std::string without_stop(const std::string& sentence) {
  return sentence.substr(0, sentence.size() - (sentence.ends_with('.') ? 1 : 0));
}

Table runs_table(const std::vector<ComparedRun>& runs) {
  using Run = ComparedRun;
  return table_of(
      "runs", "Runs", runs,
      {{"run", "run", Shown::kInteger, [&](auto& run) { return &run - &runs[0] + 1; }},
       {"input", "traces", &Run::input},
       {"ranks", "ranks", Shown::kInteger, &Run::ranks},
       {"hosts", "hosts", Shown::kInteger, &Run::hosts},
       {"operations", "operations", Shown::kInteger, &Run::operations},
       {"status", "status", [](auto& run) { return run.health.status; }},
       {"headline", "of this run alone", [](auto& run) { return run.health.headline; }}});
}

Table kinds_table(const std::vector<ComparedRun>& runs) {
  std::map<metrics::OperationKind, std::vector<std::optional<double>>> medians_ns;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (const metrics::Change& change : metrics::compare(runs[0].times, runs[i].times)) {
      auto& row = medians_ns[change.kind];
      row.resize(runs.size());
      row[0] = change.median_a_ns;
      row[i] = change.median_b_ns;
    }
  }
  using Kind = decltype(medians_ns)::value_type;
  Columns<Kind> columns = {
      {"communicator", "communicator", [](auto& kind) { return kind.first.communicator; }},
      {"nranks", "ranks", Shown::kInteger, [](auto& kind) { return kind.first.nranks; }},
      {"function", "function", [](auto& kind) { return kind.first.function; }},
      {"bytes", "message", Shown::kBytes, [](auto& kind) { return kind.first.bytes; }},
      {"datatype", "datatype",
       [](auto& kind) { return match::datatype_name(kind.first.datatype); }}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    columns.push_back({run_text(i) + "_ns", run_text(i), Shown::kDuration, "", 1,
                       [i](auto& kind) { return kind.second[i]; }});
  }
  return table_of("kinds", "Median time of each kind of operations", medians_ns, columns);
}

int gravity(std::string_view status) {
  return status == "error" ? 3 : status == "warning" ? 2 : status == "unknown" ? 1 : 0;
}

// A series is no better than its worst run.
void take_health(const std::vector<ComparedRun>& runs, Health& health) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Health& own = runs[i].health;
    const std::string text = run_text(i) + ": " + own.headline;
    if (gravity(own.status) >= gravity("warning")) {
      const Severity severity = own.status == "error" ? Severity::kError : Severity::kWarning;
      health.findings.push_back(
          {{severity, "run", text}, "runs", "ringside summary " + runs[i].input});
    }
    if (gravity(own.status) > gravity(health.status)) {
      health.status = own.status;
      health.headline = text;
    }
  }
}

}  // namespace

std::string comparison_json(const std::vector<ComparedRun>& runs) {
  Health health;
  health.status = "unknown";
  health.headline = "Nothing can be judged: too few operations of known time are of one kind";
  std::vector<std::string> sentences;
  std::vector<std::string> notes;
  std::vector<Table> tables = {runs_table(runs), kinds_table(runs)};
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto changes = metrics::compare(runs[i - 1].times, runs[i].times);
    Document document = compare_document({}, changes, kThreshold);
    const std::string pair =
        "Run " + std::to_string(i + 1) + " (B) against " + run_text(i - 1) + " (A): ";
    sentences.push_back(pair + document.sentences.front());
    for (Finding& finding : document.findings) {
      const bool is_slower = finding.severity == Severity::kError;
      if (is_slower && health.status != "error") {
        health.status = "error";
        health.headline = without_stop(sentences.back());
      }
      finding.text = run_text(i) + ": " + finding.text;
      health.findings.push_back({std::move(finding), "runs",
                                 "ringside compare " + runs[i - 1].input + ' ' + runs[i].input});
    }
    if (health.status == "unknown" &&
        std::any_of(changes.begin(), changes.end(),
                    [](const metrics::Change& change) { return change.chance.has_value(); })) {
      health.status = "ok";
      health.headline = runs.size() == 2 ? without_stop(sentences.back())
                                         : "No run got slower than the one before it";
    }
    for (std::string& note : document.notes) {
      notes.push_back(pair + note);
    }
    document.tables.front().key = "changes_" + std::to_string(i);
    document.tables.front().title = pair + "kinds of operations, by change of the time";
    tables.push_back(std::move(document.tables.front()));
  }
  std::vector<std::string> origin;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    origin.push_back("Run " + std::to_string(i + 1) + ": " + runs[i].origin.front());
    for (const std::string& note : runs[i].notes) {
      notes.push_back(run_text(i) + ": " + note);
    }
  }
  take_health(runs, health);
  std::stable_sort(health.findings.begin(), health.findings.end(),
                   [](const HealthFinding& a, const HealthFinding& b) {
                     return a.finding.severity > b.finding.severity;
                   });
  JsonWriter json;
  json.begin_output(kPageVersion, "report");
  json.begin_object("health");
  write_health(json, health);
  json.end_object();
  json.begin_object("figures");
  json.end_object();
  json.texts("jobs", std::vector<std::string>());
  json.texts("origin", origin);
  json.begin_object("sections");
  json.begin_object("runs");
  json.texts("sentences", sentences);
  json.texts("notes", notes);
  json.end_object();
  json.end_object();
  json.begin_object("tables");
  for (const Table& table : tables) {
    write_table(json, table.key, table);
  }
  json.end_object();
  json.end_object();
  return json.finish();
}

}  // namespace ringside::report
