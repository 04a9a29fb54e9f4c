// SPDX-License-Identifier: Apache-2.0
//
// Compression with the machine's zlib. It is loaded at its first use, because the plugin must load
// on machines without zlib, too. Used by the drain thread alone.
#ifndef RINGSIDE_PLUGIN_EXPORT_GZIP_H
#define RINGSIDE_PLUGIN_EXPORT_GZIP_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugin/export/trace_file.h"
#include "plugin/result/result.h"

namespace ringside::exporting {

bool has_zlib();

/// Compresses a file to `path`.gz, piece by piece. A temporary file gets that name when it is
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
  /// Compresses the next piece. After kDone the new file exists beside the source. After kFailed
  /// only the source exists.
  Progress step();

 private:
  bool finish();

  std::string path_;
  std::string temporary_;
  int source_ = -1;
  int target_ = -1;
  int given_ = -1;  // zlib's descriptor of the same file
  void* gzip_ = nullptr;
  std::vector<char> piece_;
};

/// Decompresses a file and adds its bytes `from` to `to` to a trace. Fails with ECANCELED once
/// `is_wanted` returns false, with EIO if the file is damaged, with ENOSYS without zlib.
Result copy_gzip_part(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace,
                      const std::function<bool()>& is_wanted);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_GZIP_H
