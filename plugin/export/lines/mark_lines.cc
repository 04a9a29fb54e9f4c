// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/mark_lines.h"

#include <algorithm>

#include "ringside/trace_schema.h"

namespace ringside::exporting {

void MarkLines::write(const assemble::Mark& mark, const assemble::Tally& tally) {
  describe(mark);
  mark.is_range ? write_range(mark, tally) : write_instant(mark, tally);
}

void MarkLines::write_of_process(std::int64_t ts_ns, std::string_view text) {
  assemble::Mark made;
  made.start_ns = ts_ns;
  made.tid = lines_.pid();
  made.text = text;
  write_instant(made, {});
}

void MarkLines::describe(const assemble::Mark& mark) {
  JsonText& line = lines_.begin_metadata(schema::kLineMark);
  line.raw("\"mark\":").integer(mark.id);
  line.member_string("name", mark.text).member("tid", mark.tid);
  if (!mark.source.empty()) {
    line.member_string("source", mark.source);
  }
  if (mark.is_range) {
    line.member_true("range");
  }
  line.member("start_ns", mark.start_ns);
  if (mark.end_ns != assemble::kUnknownTime && !mark.in_flight) {
    line.member("end_ns", mark.end_ns);
  }
  lines_.end();
}

void MarkLines::write_instant(const assemble::Mark& mark, const assemble::Tally& tally) {
  lines_.begin()
      .raw("{\"ph\":\"i\",\"cat\":\"mark\",\"s\":\"")
      .raw(mark.id == 0 ? "p" : "t")
      .raw("\",\"pid\":")
      .integer(lines_.pid())
      .raw(",\"tid\":")
      .integer(mark.tid)
      .raw(",\"ts\":")
      .microseconds(mark.start_ns)
      .raw(",\"name\":")
      .string(mark.text)
      .raw(",\"args\":{");
  lines_.end(tally);
}

void MarkLines::write_range(const assemble::Mark& mark, const assemble::Tally& tally) {
  const std::int64_t end_ns = std::max(mark.end_ns, mark.start_ns);
  JsonText& line =
      mark.nests
          ? lines_.begin_slice(schema::kCategoryMark, mark.text, mark.tid, mark.start_ns, end_ns)
          : lines_.begin_async(schema::kCategoryMark, mark.text, mark.id, mark.tid, mark.start_ns);
  line.raw(",\"args\":{\"mark\":").integer(mark.id);
  if (!mark.source.empty()) {
    line.member_string("source", mark.source);
  }
  if (mark.in_flight) {
    line.member_true("in_flight");
  }
  lines_.end(tally);
  if (!mark.nests) {
    lines_.end_async(schema::kCategoryMark, mark.text, mark.id, mark.tid, end_ns);
  }
}

}  // namespace ringside::exporting
