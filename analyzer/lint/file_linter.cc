// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/file_linter.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/lint/account_rules.h"
#include "analyzer/lint/async_rules.h"
#include "analyzer/lint/container_rules.h"
#include "analyzer/lint/event.h"
#include "analyzer/lint/event_rules.h"
#include "analyzer/lint/flow_rules.h"
#include "analyzer/lint/operation_rules.h"
#include "analyzer/lint/reference_rules.h"
#include "analyzer/lint/slice_rules.h"
#include "analyzer/load/json/event_parser.h"
#include "analyzer/load/json/json_error.h"
#include "analyzer/load/source/line_reader.h"
#include "ringside/trace_schema.h"

namespace ringside::lint {
namespace {

class FileLinter {
 public:
  FileLinter() : container_(findings_) {}

  void take_line(const load::Line& line) {
    const std::string_view text = container_.take_line(line);
    if (text.empty()) {
      return;
    }
    Event event;
    event.line = line.number;
    event.is_merged = is_merged_;
    event.scan = scan_json(text);
    if (!parse(text, event)) {
      container_.take_event(false);
      return;
    }
    ++events_;
    fill(event);
    if (event.phase == "M" && event.name == schema::kLineMerged && event.line == 1) {
      event.is_merged = is_merged_ = true;
    }
    if (is_merged_ && event.phase == "M" && event.name == schema::kLineMergedForeign) {
      foreign_.insert(event.pid);
    } else {
      event.is_foreign = foreign_.contains(event.pid);
    }
    const char* const end = is_merged_ ? schema::kLineMergedEnd : schema::kLineEnd;
    container_.take_event(event.phase == "M" && event.name == end);
    check(event);
  }

  FileReport finish(bool must_be_closed) {
    container_.finish(must_be_closed);
    // The processes of a merged file end one by one.
    const bool is_closed = container_.is_closed() && (!is_merged_ || open_traces_ == 0);
    slices_.finish(findings_);
    asyncs_.finish(is_closed, findings_);
    // The line that another one refers to may be in another segment, or be one of those that the
    // account counts as lost.
    const bool is_whole = is_closed && !is_segment_ && !lacks_lines_;
    flows_.finish(is_whole, findings_);
    for (auto& [pid, references] : references_) {
      references.finish(is_whole, !is_merged_ || is_whole, findings_);
    }
    FileReport report;
    report.events = events_;
    report.is_closed = container_.is_closed();
    report.findings = std::move(findings_);
    std::vector<Finding>& kept = report.findings.kept();
    std::stable_sort(kept.begin(), kept.end(), [](const Finding& a, const Finding& b) {
      return std::pair(a.line, a.rule) < std::pair(b.line, b.rule);
    });
    return report;
  }

 private:
  bool parse(std::string_view text, Event& event) {
    simdjson::dom::element element;
    // The reader's padding lies behind the line, so that no copy is needed.
    const auto error = parser_.parse(text.data(), text.size(), false).get(element);
    if (error == simdjson::SUCCESS && element.get_object().get(event.object) == simdjson::SUCCESS) {
      return true;
    }
    const std::string what = load::json_error_text(error);
    if (error == simdjson::SUCCESS || event.scan.has_more) {
      findings_.add(event.line, Rule::kOneEventALine, "the line is not one JSON object");
    } else if (error == simdjson::UNESCAPED_CHARS) {
      findings_.add(event.line, Rule::kControlCharacter, "a raw control character in a string");
    } else if (error == simdjson::UTF8_ERROR) {
      findings_.add(event.line, Rule::kUtf8, "not valid UTF-8");
    } else if (!event.scan.bare_word.empty()) {
      findings_.add(event.line, Rule::kNotANumber,
                    "no JSON value: " + std::string(event.scan.bare_word));
    } else {
      findings_.add(event.line, Rule::kInvalidJson, what);
    }
    return false;
  }

  static void fill(Event& event) {
    event.phase = text_at(event.object, "ph");
    event.category = text_at(event.object, "cat");
    event.name = text_at(event.object, "name");
    event.bind_id = text_at(event.object, "bind_id");
    event.pid = integer_at(event.object, "pid").value_or(-1);
    event.tid = integer_at(event.object, "tid").value_or(-1);
    event.ts_ns = load::nanoseconds(event.scan.ts);
    event.dur_ns = load::nanoseconds(event.scan.dur);
    simdjson::dom::object object;
    if (event.object["args"].get_object().get(object) == simdjson::SUCCESS) {
      event.arguments = object;
    }
    if (event.object["id2"].get_object().get(object) == simdjson::SUCCESS) {
      event.id = text_at(object, "local");
    }
  }

  void check(const Event& event) {
    if (event.line == 1) {
      check_first_event(event, findings_);
    }
    if (!event.scan.big_integer.empty() && !event.is_foreign) {
      findings_.add(event.line, Rule::kBigInteger,
                    std::string(event.scan.big_integer) + " is beyond 2^53 and not a string");
    }
    check_event(event, findings_);
    if (is_operation(event)) {
      check_operation(event, findings_);
    }
    check_account(event, findings_);
    if (event.phase == "M" && event.arguments) {
      lacks_lines_ = lacks_lines_ || (event.name == schema::kLineAccount && has_lost_lines(event));
      open_traces_ += event.name == schema::kLineTrace ? 1 : 0;
      open_traces_ -= event.name == schema::kLineEnd ? 1 : 0;
      lacks_lines_ = lacks_lines_ ||
                     (event.name == schema::kLineEnd && is_of_part(*event.arguments)) ||
                     (event.name == schema::kLineMerged && is_true_at(*event.arguments, "part")) ||
                     (event.name == schema::kLineMergedEnd &&
                      integer_at(*event.arguments, "lines_left_out").value_or(1) > 0);
      is_segment_ = is_segment_ ||
                    (event.name == schema::kLineTrace &&
                     integer_at(*event.arguments, "segment").value_or(1) > 1) ||
                    (event.name == schema::kLineEnd && has(*event.arguments, "next_segment"));
    }
    flows_.take(event, findings_);
    if (event.is_foreign) {
      return;  // what another profiler writes is as it is
    }
    slices_.take(event);
    asyncs_.take(event);
    references_[is_merged_ ? event.pid : 0].take(event, findings_);
  }

  simdjson::dom::parser parser_;
  Findings findings_;
  ContainerRules container_;
  SliceRules slices_;
  AsyncRules asyncs_;
  FlowRules flows_;
  std::map<std::int64_t, ReferenceRules> references_;  // by pid in a merged file
  std::uint64_t events_ = 0;
  bool is_merged_ = false;
  std::set<std::int64_t> foreign_;  // pids of another profiler's processes
  std::int64_t open_traces_ = 0;    // in a merged file, that have begun and not ended
  bool is_segment_ = false;         // one of several
  bool lacks_lines_ = false;        // that the account counts, or that a recovery could not have
};

}  // namespace

FileReport lint_file(const std::string& path, bool must_be_closed) {
  FileReport report;
  load::LineReader reader;
  if (auto error = reader.open(path)) {
    report.error = "cannot be opened: " + *error;
    return report;
  }
  FileLinter linter;
  load::Line line;
  while (reader.next(line)) {
    linter.take_line(line);
  }
  if (reader.error()) {
    report.error = "cannot be read: " + *reader.error();
  } else if (reader.bytes_read() == 0) {
    report.error = "empty: nothing has been written to it yet";
  } else {
    report = linter.finish(must_be_closed);
  }
  return report;
}

}  // namespace ringside::lint
