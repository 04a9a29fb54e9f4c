// SPDX-License-Identifier: Apache-2.0
//
// One rank's execution trace as a file. Protobuf: messages behind their lengths (varints), first
// GlobalMetadata and then Nodes, as Chakra's own tools read and write them. JSON: one object with
// "workload_graph", as Chakra's feeder reads it; what the feeder does not look for is in "attrs".
#ifndef RINGSIDE_ANALYZER_CHAKRA_TRACE_FILE_H
#define RINGSIDE_ANALYZER_CHAKRA_TRACE_FILE_H

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "analyzer/chakra/node.h"

namespace ringside::chakra {

enum class Format : std::uint8_t { kProtobuf, kJson };

class TraceFile {
 public:
  TraceFile(std::string path, Format format) : path_(std::move(path)), format_(format) {}
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Makes the file, or replaces it. Each of these returns false after a failure; errno says why.
  bool begin(const std::vector<Attribute>& attributes);
  bool add(const Node& node);
  /// Closes the file without its end; it can be opened again.
  bool pause();
  bool go_on();
  /// Writes the end, and has the file on the disk.
  bool finish();

 private:
  bool write(const std::string& text);

  std::string path_;
  Format format_;
  bool is_first_ = true;
  std::FILE* file_ = nullptr;
};

/// The message GlobalMetadata or Node behind its length, and the same as an object of JSON on one
/// line.
std::string protobuf_of(const std::vector<Attribute>& metadata);
std::string protobuf_of(const Node& node);
std::string json_of(const Node& node);

}  // namespace ringside::chakra

#endif  // RINGSIDE_ANALYZER_CHAKRA_TRACE_FILE_H
