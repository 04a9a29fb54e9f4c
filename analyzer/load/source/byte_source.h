// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, which may be compressed by gzip: its first bytes say so, not its name.
// Memory stays bounded whatever is in the file.
#ifndef RINGSIDE_ANALYZER_LOAD_SOURCE_BYTE_SOURCE_H
#define RINGSIDE_ANALYZER_LOAD_SOURCE_BYTE_SOURCE_H

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace ringside::load {

class ByteSource {
 public:
  ByteSource();
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Returns why the file cannot be opened; nothing if it can.
  std::optional<std::string> open(const std::string& path);

  /// Reads up to `size` bytes of the text. Returns 0 at its end, and if it cannot be read further:
  /// error() says which. All bytes that could be read have been given by then.
  std::size_t read(char* text, std::size_t size);

  /// Reads the rest of the text, `most` bytes at most.
  std::string text(std::size_t most);

  const std::optional<std::string>& error() const { return error_; }
  bool is_compressed() const { return inflater_ != nullptr; }

 private:
  struct Inflater;

  std::size_t read_file(char* bytes, std::size_t size);
  std::size_t inflate_some(char* text, std::size_t size);

  int descriptor_ = -1;
  std::string start_;  // read to find out what the file is, not given yet
  std::unique_ptr<Inflater> inflater_;
  std::optional<std::string> error_;
};

/// The first bytes of a file's text, `most` at most, by default enough to tell most formats; fewer
/// where it cannot be read.
std::string first_bytes(const std::string& path, std::size_t most = 256);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_SOURCE_BYTE_SOURCE_H
