// SPDX-License-Identifier: Apache-2.0
//
// Compression with the machine's zlib. It is loaded at its first use, because the plugin must load
// on machines without zlib, too.
#ifndef RINGSIDE_PLUGIN_EXPORT_GZIP_H
#define RINGSIDE_PLUGIN_EXPORT_GZIP_H

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "plugin/result/result.h"

struct z_stream_s;

namespace ringside::exporting {

bool has_zlib();

/// Compresses texts to members of a gzip file. Such a file has any number of members, so it is
/// whole after each of them, and a member that could not be written leaves no trace in the next.
class GzipMembers {
 public:
  GzipMembers();
  ~GzipMembers();
  GzipMembers(const GzipMembers&) = delete;
  GzipMembers& operator=(const GzipMembers&) = delete;

  /// Sets `member`, which is valid until the next call. Fails with ENOSYS without zlib, with ENOMEM
  /// if memory is too short.
  Result compress(std::string_view text, std::string_view& member) noexcept;

 private:
  std::unique_ptr<z_stream_s> stream_;
  bool has_begun_ = false;
  std::string member_;
};

/// Reads the text of a file from its beginning. Its first bytes tell whether it is compressed.
class TextReader {
 public:
  /// The descriptor must stay open. Its offset is used if the file is compressed.
  explicit TextReader(int file);
  ~TextReader();
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  /// Reads up to so many bytes, and sets `got`. It is 0 at the end of the text, or where a
  /// compressed file is cut off. Fails with ENOSYS without zlib, with EIO if the file is damaged,
  /// else with the error of the read.
  Result read(char* text, std::size_t bytes, std::size_t& got);
  /// Passes over this many bytes of the text.
  Result skip(std::uint64_t bytes);

 private:
  int file_;
  bool is_compressed_;
  void* gzip_ = nullptr;
  std::uint64_t offset_ = 0;  // in a file that is not compressed
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_GZIP_H
