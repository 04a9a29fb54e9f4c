// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/line_writer.h"

namespace ringside::exporting {

JsonText& LineWriter::begin_metadata(std::string_view name, std::string_view before) {
  line_.clear();
  return line_.raw(before)
      .raw("{\"ph\":\"M\",\"name\":\"")
      .raw(name)
      .raw("\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(pid_)
      .raw(",\"ts\":0,\"args\":{");
}

JsonText& LineWriter::begin_slice(std::string_view category, std::string_view name,
                                  std::int32_t tid, std::int64_t start_ns, std::int64_t end_ns) {
  line_.clear();
  return line_.raw("{\"ph\":\"X\",\"cat\":\"")
      .raw(category)
      .raw("\",\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(tid)
      .raw(",\"ts\":")
      .microseconds(start_ns)
      .raw(",\"dur\":")
      .microseconds(end_ns - start_ns)
      .raw(",\"name\":")
      .string(name);
}

JsonText& LineWriter::begin_async_phase(char phase, std::string_view category,
                                        std::string_view name, std::uint64_t id, std::int32_t tid,
                                        std::int64_t ts_ns) {
  line_.clear();
  const char quoted[] = {'"', phase, '"'};
  return line_.raw("{\"ph\":")
      .raw({quoted, sizeof quoted})
      .raw(",\"cat\":\"")
      .raw(category)
      .raw("\",\"id2\":{\"local\":")
      .hex(id)
      .raw("},\"pid\":")
      .integer(pid_)
      .raw(",\"tid\":")
      .integer(tid)
      .raw(",\"ts\":")
      .microseconds(ts_ns)
      .raw(",\"name\":")
      .string(name);
}

void LineWriter::end(const assemble::Tally& tally) {
  line_.raw("}},\n");
  sink_.add(line_.text(), tally);
}

void LineWriter::end_without_args() {
  line_.raw("},\n");
  sink_.add(line_.text(), {});
}

void LineWriter::end_async(std::string_view category, std::string_view name, std::uint64_t id,
                           std::int32_t tid, std::int64_t ts_ns) {
  begin_async_phase('e', category, name, id, tid, ts_ns);
  end_without_args();
}

void LineWriter::end_file() {
  line_.raw("}}\n]\n");
  sink_.add(line_.text(), {});
}

}  // namespace ringside::exporting
