// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/mark_lines.h"

#include <algorithm>

#include "ringside/trace_schema.h"

namespace ringside::exporting {

void MarkLines::write(const assemble::Mark& mark) {
  if (mark.number != 0) {
    write_description(mark);
  }
  if (!mark.is_range) {
    write_instant(mark);
  } else if (mark.end_ns != assemble::kUnknownTime) {
    write_range(mark);
  }
}

void MarkLines::write_of_process(std::int64_t ts_ns, std::string_view text) {
  assemble::Mark made;
  made.ts_ns = ts_ns;
  made.tid = lines_.pid();
  made.whole_process = true;
  made.text = text;
  write(made);
}

void MarkLines::write_description(const assemble::Mark& mark) {
  JsonText& line = lines_.begin_metadata(schema::kLineMark);
  line.raw("\"mark\":").integer(mark.number);
  line.member_string("name", mark.text).member("tid", mark.tid);
  if (!mark.source.empty()) {
    line.member_string("source", mark.source);
  }
  if (mark.is_range) {
    line.member_true("range");
  }
  line.member("start_ns", mark.ts_ns);
  if (mark.end_ns != assemble::kUnknownTime && !mark.in_flight) {
    line.member("end_ns", mark.end_ns);
  }
  lines_.end();
}

void MarkLines::write_instant(const assemble::Mark& mark) {
  lines_.begin()
      .raw("{\"ph\":\"i\",\"cat\":\"mark\",\"s\":\"")
      .raw(mark.whole_process ? "p" : "t")
      .raw("\",\"pid\":")
      .integer(lines_.pid())
      .raw(",\"tid\":")
      .integer(mark.tid)
      .raw(",\"ts\":")
      .microseconds(mark.ts_ns)
      .raw(",\"name\":")
      .string(mark.text)
      .raw(",\"args\":{");
  // A mark without a number was set by the plugin itself.
  lines_.end({.marks = mark.number != 0 ? 1U : 0U});
}

void MarkLines::write_range(const assemble::Mark& mark) {
  const std::int64_t end_ns = std::max(mark.end_ns, mark.ts_ns);
  JsonText& line =
      mark.nests
          ? lines_.begin_slice(schema::kCategoryMark, mark.text, mark.tid, mark.ts_ns, end_ns)
          : lines_.begin_async(schema::kCategoryMark, mark.text, mark.number, mark.tid, mark.ts_ns);
  line.raw(",\"args\":{\"mark\":").integer(mark.number);
  if (!mark.source.empty()) {
    line.member_string("source", mark.source);
  }
  if (mark.in_flight) {
    line.member_true("in_flight");
  }
  lines_.end({.ranges = 1});
  if (!mark.nests) {
    lines_.end_async(schema::kCategoryMark, mark.text, mark.number, mark.tid, end_ns);
  }
}

}  // namespace ringside::exporting
