// SPDX-License-Identifier: Apache-2.0
//
// The file under a trace: whole lines, written with write(2), and the account of what was written.
//
// When a write fails (disk full, file size limit, quota), the file is cut back to what it held
// before, the lines of that write are given up and counted, and the next lines are tried again:
// space may come back.
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
  std::array<std::uint64_t, record::kAccountTypes> dropped_memory{};  ///< lost before the file
  std::uint64_t marks = 0, ranges = 0;  ///< written, of the application
  std::uint64_t marks_dropped = 0, ranges_dropped = 0;
  std::uint64_t operations = 0;  ///< written, of lines that were counted with count_operation
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

  /// Adds a line (with its newline) and what it stands for to the buffer, and writes the buffer
  /// when much is in it.
  void add(std::string_view line, const assemble::Tally& tally) override;

  /// Writes the buffer. False, with errno set, if any of it was lost.
  bool flush();
  /// Likewise, if any of all that was ever added was lost: when a full buffer was written, too.
  bool flush_whole();
  /// Has the file system store what was written; some say only then that it has no room.
  bool sync();
  void close();

  /// The lines that are added from here on are those of one event.
  void begin_event() {
    event_begin_ = buffer_.size();
    event_tally_ = {};
  }
  /// Memory was too short for all lines of the event: takes back those that were added, and counts
  /// it as lost. Nothing was written since begin_event.
  void drop_event(const assemble::Tally& tally) noexcept;
  /// The lines of an operation were added.
  void count_operation() { ++pending_.operations; }

  const WriteCounts& counts() const { return counts_; }
  std::uint64_t bytes() const { return bytes_; }
  /// So much is in the buffer that it should be written.
  bool has_much() const { return buffer_.size() >= kFlushAt_bytes; }

 protected:
  /// Adds a line to the buffer, and writes nothing.
  void append(std::string_view line, const assemble::Tally& tally);
  /// Before so many bytes are written. False, with errno set, if they must not be.
  virtual bool make_room(std::uint64_t /*bytes*/) { return true; }
  /// Goes on in another file, which is open for reading and writing and holds so many bytes; the
  /// buffer must be written. Returns the descriptor of the one before, -1 if there was none.
  int exchange(int file, std::uint64_t bytes) noexcept;
  int descriptor() const { return file_; }
  std::uint64_t buffered_bytes() const { return buffer_.size(); }

 private:
  static constexpr std::size_t kFlushAt_bytes = 1U << 20;

  int file_ = -1;
  std::string path_;
  std::string buffer_;
  WriteCounts pending_;
  std::size_t event_begin_ = 0;  // in the buffer
  assemble::Tally event_tally_;  // what was counted of the event so far
  WriteCounts counts_;
  std::uint64_t bytes_ = 0;
  int first_error_ = 0;
};

/// Opens a new file, private to the user: never one that exists, never through a link. -1, with
/// errno, if that fails.
int create_private(const std::string& path);

/// Writes all of a text at this place of a file. False, with errno, if any of it is not written.
bool write_at(int file, std::uint64_t offset, std::string_view text);

/// Gives a file another name, which no other file may have. False, with errno, if it fails.
bool give_name(const std::string& from, const std::string& to);

/// Makes a directory and those above it, private to the user. False, with errno, if it is not there
/// then.
bool make_directories(const std::string& path);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H
