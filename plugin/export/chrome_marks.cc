// SPDX-License-Identifier: Apache-2.0
//
// The lines of marks and of the ranges of the application's threads.
#include <algorithm>

#include "plugin/export/chrome_trace.h"
#include "ringside/trace_schema.h"

namespace ringside::exporting {

void ChromeTrace::mark(const assemble::Mark& mark) {
  const bool has_end = mark.end_ns != assemble::kUnknownTime;
  if (mark.number != 0) {
    metadata(schema::kLineMark).raw("\"mark\":").integer(mark.number);
    line_.member_string("name", mark.text).member("tid", mark.tid);
    if (!mark.source.empty()) {
      line_.member_string("source", mark.source);
    }
    if (mark.is_range) {
      line_.member_true("range");
    }
    line_.member("start_ns", mark.ts_ns);
    if (has_end && !mark.in_flight) {
      line_.member("end_ns", mark.end_ns);
    }
    end_line({});
  }
  if (!mark.is_range) {
    instant(mark);
  } else if (has_end) {
    range(mark);
  }
}

void ChromeTrace::mark_process(std::int64_t ts_ns, std::string_view text) {
  assemble::Mark made;
  made.ts_ns = ts_ns;
  made.tid = pid_;
  made.whole_process = true;
  made.text = text;
  mark(made);
}

void ChromeTrace::instant(const assemble::Mark& mark) {
  line_.clear();
  line_.raw("{\"ph\":\"i\",\"cat\":\"mark\",\"s\":\"")
      .raw(mark.whole_process ? "p" : "t")
      .raw("\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(mark.tid)
      .raw(",\"ts\":")
      .microseconds(mark.ts_ns)
      .raw(",\"name\":")
      .string(mark.text)
      .raw(",\"args\":{");
  // One without a number is the plugin's own.
  end_line({.marks = mark.number != 0 ? 1U : 0U});
}

void ChromeTrace::range(const assemble::Mark& mark) {
  const std::int64_t end_ns = std::max(mark.end_ns, mark.ts_ns);
  if (mark.nests) {
    begin_slice(schema::kCategoryMark, mark.text, mark.tid, mark.ts_ns, end_ns);
  } else {
    begin_async('b', schema::kCategoryMark, mark.text, mark.number, mark.tid, mark.ts_ns);
  }
  line_.raw(",\"args\":{\"mark\":").integer(mark.number);
  if (!mark.source.empty()) {
    line_.member_string("source", mark.source);
  }
  if (mark.in_flight) {
    line_.member_true("in_flight");
  }
  end_line({.ranges = 1});
  if (!mark.nests) {
    begin_async('e', schema::kCategoryMark, mark.text, mark.number, mark.tid, end_ns);
    line_.raw("},\n");
    file_.add(line_.text(), {});
  }
}

}  // namespace ringside::exporting
