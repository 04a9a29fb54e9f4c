// SPDX-License-Identifier: Apache-2.0
//
// The file under a trace: whole lines, written with write(2), and the account of what was written.
// A compressed file gets a gzip member for each write.
//
// When a write fails (disk full, file size limit, quota), the file is truncated to its length
// before the write. The lines of that write are dropped and counted. The next lines are written
// again as usual, since there may be room again.
#ifndef RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H
#define RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/assemble/rows.h"
#include "plugin/export/gzip.h"
#include "plugin/export/lines/line_writer.h"
#include "plugin/posix/descriptors.h"
#include "plugin/result/result.h"

namespace ringside::exporting {

/// Callbacks that reached the file, or were lost at it, by event type.
struct WriteCounts {
  std::array<std::uint64_t, record::kAccountTypes> written{};
  std::array<std::uint64_t, record::kAccountTypes> merged{};
  std::array<std::uint64_t, record::kAccountTypes> dropped{};
  std::array<std::uint64_t, record::kAccountTypes> dropped_memory{};  ///< lost before the file
  std::uint64_t operations = 0;  ///< written operations, as counted with count_operation()

  /// Adds `times`, 1 or -1, what was written of `other`.
  void add_written(const WriteCounts& other, int times = 1);
  void add_dropped(const WriteCounts& other);
};

/// A descriptor that knows its file (posix/descriptors.h), and where it can be opened again if the
/// application closes what is not its own.
class OpenFile {
 public:
  OpenFile() = default;
  /// Owns the descriptor from now on. -1: none. Without a path, the file has no name.
  explicit OpenFile(int descriptor, std::string path = {}) noexcept;
  OpenFile(OpenFile&& other) noexcept { *this = std::move(other); }
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile() { static_cast<void>(close()); }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  /// Opens the file again if its descriptor is no longer ours. Fails with EBADF if there is no
  /// file, or if it is not at its path. Allocates nothing.
  Result check() noexcept;
  /// Returns another descriptor of the file, also if it is closed; -1 with errno if there can be
  /// none.
  int duplicate() const noexcept;
  /// True if the file is where it was made.
  bool is_in_place() const noexcept;
  /// Closes the file. Some file systems say only then that they have no room. Fails with the error
  /// of close(2). A descriptor of another file stays open.
  Result close() noexcept;

 private:
  int descriptor_ = -1;
  posix::FileIdentity file_;
  std::string path_;
};

/// Creates a file, private to the user. It never opens an existing file and never follows a link.
/// Fails with the error of open(2).
Result create_private(std::string path, OpenFile& file);

class TraceFile : public LineSink {
 public:
  TraceFile() = default;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  virtual ~TraceFile();

  Result create(const std::string& path) { return create_private(path, file_); }
  /// Compresses what is written from now on. Throws std::bad_alloc.
  void compress() { gzip_ = std::make_unique<GzipMembers>(); }
  bool is_open() const { return file_.is_open(); }

  /// Writes the buffer when it is large.
  void add(std::string_view line, const assemble::Tally& tally) override;

  /// Writes the buffer. Fails with the error of the write if the buffer was lost; the loss is
  /// counted.
  Result flush();
  /// Writes the buffer. Fails with the first error since the file was created: lines were lost.
  Result flush_whole();
  /// As flush_whole(); then makes the file system store the lines (fdatasync), and closes the file.
  /// Some file systems report only then that they have no room.
  Result store();
  /// As flush_whole(); then closes the file.
  Result close();

  /// Call this before the lines of an event are added.
  void begin_event() {
    event_begin_ = buffer_.size();
    event_tally_ = {};
  }
  /// Removes the lines that were added since begin_event(), because memory was too short for all of
  /// them, and counts the event as lost. The buffer must not have been written in between.
  void drop_event(const assemble::Tally& tally) noexcept;
  void count_operation() { ++pending_.operations; }

  const WriteCounts& counts() const { return counts_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Bytes of the text in it: more, if it is compressed.
  std::uint64_t text_bytes() const { return text_bytes_; }
  bool has_much() const { return buffer_.size() >= kFlushAt_bytes; }

 protected:
  /// Adds a line to the buffer, and writes nothing.
  void append(std::string_view line, const assemble::Tally& tally);
  /// Called before so many bytes are written. Fails if they must not be written.
  virtual Result make_room(std::uint64_t /*bytes*/) { return {}; }
  /// Continues in another file, which is open for reading and writing. The buffer must be written.
  /// Returns the file before.
  OpenFile exchange(OpenFile file, std::uint64_t bytes, std::uint64_t text_bytes) noexcept;
  const OpenFile& file() const { return file_; }
  /// Sets `stored` to the bytes that the text has in a file. It is valid until the next call.
  Result encode(std::string_view text, std::string_view& stored);
  /// The counts are no longer in a file: it could not be stored.
  void lose(const WriteCounts& counts);
  std::uint64_t buffered_bytes() const { return buffer_.size(); }

 private:
  static constexpr std::size_t kFlushAt_bytes = 1U << 20;

  Result write(std::string_view text);

  OpenFile file_;
  std::unique_ptr<GzipMembers> gzip_;  // nullptr: not compressed
  std::string buffer_;
  WriteCounts pending_;
  std::size_t event_begin_ = 0;  // offset in the buffer
  assemble::Tally event_tally_;  // callbacks of the event's lines so far
  WriteCounts counts_;
  std::uint64_t bytes_ = 0, text_bytes_ = 0;
  int first_error_ = 0;
};

/// A range of the text, whole lines, of a file that is held open.
class TracePart {
 public:
  TracePart(OpenFile file, std::uint64_t from, std::uint64_t to) noexcept
      : file_(std::move(file)), from_(from), to_(to) {}

  /// Adds the lines to a trace. Fails with ECANCELED once `is_wanted` returns false, with EIO if
  /// the file is shorter than the range, else with the error of the read or the write.
  Result copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;

 private:
  OpenFile file_;
  std::uint64_t from_, to_;
};

/// A trace as it was at one moment. The drain thread passes it to the thread that writes dumps,
/// which needs nothing else. Meanwhile the trace may go on and delete its older files.
struct TraceSnapshot {
  std::string head;              ///< the first lines
  std::vector<TracePart> parts;  ///< the lines in the trace's files, in order
  std::string tail;              ///< the lines of operations in flight, and the last lines

  /// As TracePart::copy_to().
  Result copy_to(TraceFile& trace, const std::function<bool()>& is_wanted) const;
};

/// Writes a whole text at this offset of a file. Fails with the error of pwrite(2) if any of it is
/// not written, with EIO if the file takes nothing.
Result write_at(int file, std::uint64_t offset, std::string_view text);

/// Renames a file, but never replaces another one: fails with EEXIST if there is one, else with the
/// error of the system call.
Result give_name(const std::string& from, const std::string& to);

/// Makes a directory and the missing ones above it, private to the user. Fails if the directory
/// does not exist afterwards: with ENOTDIR if a file has its name, else with the error of mkdir(2).
Result make_directories(const std::string& path);

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_TRACE_FILE_H
