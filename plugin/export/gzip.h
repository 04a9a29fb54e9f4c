// SPDX-License-Identifier: Apache-2.0
//
// Compression by the zlib of the machine, looked up when it is first wanted: the plugin must load
// where there is none. Used by the drain thread alone.
#ifndef RINGSIDE_PLUGIN_EXPORT_GZIP_H
#define RINGSIDE_PLUGIN_EXPORT_GZIP_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugin/export/trace_file.h"

namespace ringside::exporting {

/// True if libz.so.1 can be loaded.
bool has_zlib();

/// Makes `path`.gz of a file, piece by piece, in a temporary file that gets its name when it is
/// complete.
class GzipWriter {
 public:
  static constexpr std::size_t kPiece_bytes = std::size_t{256} << 10;

  explicit GzipWriter(std::string path);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  bool is_open() const { return gzip_ != nullptr; }
  const std::string& source() const { return path_; }
  std::uint64_t written_bytes() const;

  enum class Progress { kMore, kDone, kFailed };
  /// Compresses the next piece. After kDone the new file is there beside the source; after kFailed
  /// there is nothing but the source.
  Progress step();

 private:
  bool finish();

  std::string path_;
  std::string temporary_;
  int source_ = -1;
  int target_ = -1;
  int given_ = -1;  // zlib's, of the same file
  void* gzip_ = nullptr;
  std::vector<char> piece_;
};

/// Adds a part of what is compressed in a file to a trace, for as long as `is_wanted` says so.
/// False on error, with errno: ECANCELED if it is not wanted any more.
bool copy_gzip_part(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace,
                    const std::function<bool()>& is_wanted);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_GZIP_H
