// SPDX-License-Identifier: Apache-2.0
//
// The files of a trace that is written in segments, so that its size is bounded: when one is full
// the next is begun, and the oldest are deleted before a write would go beyond the bound. Used by
// the drain thread alone.
#ifndef RINGSIDE_PLUGIN_EXPORT_SEGMENT_FILES_H
#define RINGSIDE_PLUGIN_EXPORT_SEGMENT_FILES_H

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "plugin/export/gzip.h"
#include "plugin/export/trace_file.h"
#include "plugin/export/trace_snapshot.h"

namespace ringside::exporting {

struct SegmentLimits {
  std::uint64_t most_bytes = 0;  ///< of all files together; 0: no bound
  std::int64_t most_age_ns = 0;  ///< older segments are deleted; 0: none is for its age
  bool in_memory = false;        ///< memory is taken ahead, and all is deleted at the end
  bool compress = false;
};

/// What a segment's file begins with. A file is only made together with it, so that none is
/// without.
struct SegmentHeader {
  std::string lines;
  std::uint64_t first_line_bytes = 0;  ///< of these lines
};

class SegmentFiles final : public TraceFile {
 public:
  explicit SegmentFiles(const SegmentLimits& limits);
  ~SegmentFiles() override;

  /// Begins segment 1 in this file; later ones are named for it. False, with errno, if the file
  /// cannot be made or has no room for the header: then there is none, and this may be tried again.
  bool open_first(const std::string& path, const SegmentHeader& header, std::int64_t now_ns);

  /// Adds a line to the buffer. The owner flushes: between two events, so that a write that fails
  /// takes whole events.
  void add(std::string_view line, const assemble::Tally& tally) override { append(line, tally); }

  /// True if it is time for the next segment.
  bool is_full(std::int64_t now_ns) const;
  /// Makes the next segment's file with its header, while the current one is still written. False,
  /// with errno, if that fails: then the current one goes on, and is_full waits for a moment.
  bool prepare_next(const SegmentHeader& header, std::int64_t now_ns);
  /// The next segment is not begun, since the current one could not be ended.
  void discard_next(std::int64_t now_ns);
  /// The next segment is the current one from here on; all lines of the one before are written.
  void begin_next(std::int64_t now_ns);

  /// All that is written to the current segment from here on is its end. The buffer must be
  /// written.
  void end_of_body() { current_.body_bytes = bytes(); }

  /// Deletes what the lines that end the segment will need, before the account among them is made:
  /// what is deleted later is in no account. last: and what compression will need after them.
  void make_room_for_end(bool last);
  /// Ends the last segment. In memory, deletes all.
  void finish();

  /// Goes on with what is to be compressed, for so long at most. Deletes the oldest where the bound
  /// leaves no room for that, but none after finish(): then what finds no room stays as it is.
  void compress_for(std::int64_t duration_ns);
  /// No more is compressed: what is not finished stays as it is.
  void end_compression() { compression_.reset(); }
  bool lacks_zlib() const { return lacks_zlib_; }
  /// Memory that a kill frees: the directory had no room.
  bool is_anonymous() const { return anonymous_; }

  /// All that is kept and written, without first lines and ends. False, with errno, if a file
  /// cannot be opened.
  bool hold_kept(std::vector<TracePart>& parts) const;

  std::uint32_t number() const { return current_.number; }
  std::string path_of_next() const;
  /// In the current one.
  std::uint64_t operations() const { return counts().operations - current_.at_start.operations; }
  std::uint32_t oldest_number() const { return oldest().number; }
  std::int64_t oldest_start_ns() const { return oldest().start_ns; }
  std::uint64_t kept_operations() const;
  /// On disk, or in memory.
  std::uint64_t kept_bytes() const;
  std::uint64_t total_bytes() const { return before_bytes_ + bytes(); }
  /// What is in the segment that was closed last; nullptr if none is kept.
  const WriteCounts* last_closed() const {
    return closed_.empty() ? nullptr : &closed_.back().counts;
  }
  /// What was written in segments that are deleted.
  const WriteCounts& deleted() const { return deleted_; }

 private:
  struct Segment {
    std::uint32_t number = 0;
    std::string path;  ///< empty: has no name
    int file = -1;     ///< of a closed one: kept open if it has no name
    ino_t inode = 0;
    std::uint64_t bytes = 0;  ///< that count for the bound
    std::uint64_t first_line_bytes = 0, header_bytes = 0, body_bytes = 0;
    std::int64_t start_ns = 0, end_ns = 0;
    WriteCounts at_start;  ///< the file's counts when it began
    WriteCounts counts;    ///< its own, once it is closed
    bool to_compress = false, compressed = false;
  };

  bool make_room(std::uint64_t bytes) override;
  bool fits(std::uint64_t more) const;
  bool delete_until_fits(std::uint64_t more);
  Segment make_file(std::uint32_t number, std::string path, const SegmentHeader& header);
  std::uint64_t bytes_of_current(std::uint64_t more) const;
  const Segment& oldest() const { return closed_.empty() ? current_ : closed_.front(); }
  void close_current();
  void delete_oldest();
  void delete_expired(std::int64_t now_ns);
  static void delete_file(const Segment& segment);
  Segment* next_to_compress();
  void compress_piece(Segment& segment);
  void take_compressed(Segment& segment, bool ok);

  const SegmentLimits limits_;
  const std::uint64_t segment_bytes_;
  std::string first_path_;
  Segment current_;
  Segment next_;
  std::deque<Segment> closed_;  // oldest first
  WriteCounts deleted_;
  std::uint64_t before_bytes_ = 0;
  std::int64_t retry_ns_ = std::numeric_limits<std::int64_t>::min();  // until then none is begun
  std::unique_ptr<GzipWriter> compression_;  // of the first of closed_ that is to be compressed
  bool lacks_zlib_ = false;
  bool anonymous_ = false;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_SEGMENT_FILES_H
