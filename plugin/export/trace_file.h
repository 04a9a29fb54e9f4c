// SPDX-License-Identifier: Apache-2.0
//
// The file under a trace: whole lines, written with write(2), and the account of what was written.
//
// When a write fails (disk full, file size limit, quota), the file is cut back to its last whole
// line, the lines are given up and counted, and the next ones are tried again: space may come back.
#ifndef RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H
#define RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/assemble/rows.h"
#include "plugin/export/line_sink.h"

namespace ringside::exporting {

/// Callbacks that reached the file, or were lost at it, by event type.
struct WriteCounts {
  std::array<std::uint64_t, record::kAccountTypes> written{};
  std::array<std::uint64_t, record::kAccountTypes> merged{};
  std::array<std::uint64_t, record::kAccountTypes> dropped{};
  std::uint64_t marks = 0, ranges = 0;  ///< written, of the application
  std::uint64_t marks_dropped = 0, ranges_dropped = 0;
};

class TraceFile : public LineSink {
 public:
  TraceFile() = default;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  virtual ~TraceFile();

  /// Creates the file, private to the user; never opens one that exists, never follows a link.
  /// False, with errno set, if that fails. An existing `directory` is used as it is; a missing one
  /// is made.
  bool create(const std::string& path);
  bool is_open() const { return file_ >= 0; }
  const std::string& path() const { return path_; }

  /// Adds a line (with its newline) and what it stands for to the buffer.
  void add(std::string_view line, const assemble::Tally& tally) override;

  /// Writes the buffer. False, with errno set, if any of it was lost.
  bool flush();
  /// Likewise, if any of all that was ever added was lost: when a full buffer was written, too.
  bool flush_whole();
  /// Has the file system store what was written; some say only then that it has no room.
  bool sync();
  void close();

  const WriteCounts& counts() const { return counts_; }
  std::uint64_t bytes() const { return bytes_; }

 protected:
  /// Before so many bytes are written. False, with errno set, if they must not be.
  virtual bool make_room(std::uint64_t /*bytes*/) { return true; }
  /// Goes on in another file, empty and open for reading and writing; the buffer must be written.
  /// Returns the descriptor of the one before, -1 if there was none.
  int exchange(int file, const std::string& path);
  int descriptor() const { return file_; }
  std::uint64_t buffered_bytes() const { return buffer_.size(); }

 private:
  static constexpr std::size_t kFlushAt_bytes = 1U << 20;

  int file_ = -1;
  std::string path_;
  std::string buffer_;
  WriteCounts pending_;
  WriteCounts counts_;
  std::uint64_t bytes_ = 0;
  int first_error_ = 0;
};

/// Opens a new file, private to the user: never one that exists, never through a link. -1, with
/// errno, if that fails.
int create_private(const std::string& path);

/// Adds a part of a file to a trace. False on error, with errno.
bool copy_part(int file, std::uint64_t from, std::uint64_t to, TraceFile& trace);

/// Makes a directory and those above it, private to the user. False, with errno, if it is not there
/// then.
bool make_directories(const std::string& path);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H
