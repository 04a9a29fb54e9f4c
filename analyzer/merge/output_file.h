// SPDX-License-Identifier: Apache-2.0
//
// A file that appears under its name when it is complete, and not before.
#ifndef RINGSIDE_ANALYZER_MERGE_OUTPUT_FILE_H
#define RINGSIDE_ANALYZER_MERGE_OUTPUT_FILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/report/export/unfinished_file.h"

namespace ringside::merge {

/// The first error is kept, and makes all that follows do nothing.
class OutputFile {
 public:
  /// Begins PATH.partial, private to the user. If PATH exists, that is an error, unless `replace`.
  /// "-" is stdout; a terminal there gets the bytes made printable.
  OutputFile(std::string path, bool replace);
  /// Removes what was not finished; so does a signal that ends the process.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  /// Gives it its name. False if anything failed: error() says what.
  bool finish();

  /// Empty if all is well.
  const std::string& error() const { return error_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void fail(const std::string& what);
  void flush(std::size_t size);
  void write_all(std::string_view rest);

  std::string path_;
  std::optional<report::UnfinishedFile> partial_;  // none: stdout
  int descriptor_ = -1;
  bool replaces_;
  bool is_terminal_ = false;
  std::string buffer_;
  std::uint64_t bytes_ = 0;
  std::string error_;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_OUTPUT_FILE_H
