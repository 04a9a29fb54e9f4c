// SPDX-License-Identifier: Apache-2.0
//
// The files of a trace that is written in segments, so that its size is bounded. When a segment is
// full, the next one begins. The oldest are deleted before a write would exceed the bound. Used by
// the drain thread alone.
#ifndef RINGSIDE_PLUGIN_EXPORT_SEGMENT_FILES_H
#define RINGSIDE_PLUGIN_EXPORT_SEGMENT_FILES_H

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "plugin/export/trace_file.h"
#include "plugin/result/result.h"

namespace ringside::exporting {

/// Returns the path of a segment, from 1, of the trace whose first segment has this path. Names of
/// later segments sort after the first one's: ".json" comes before ".s000002.json".
std::string segment_path(const std::string& first, std::uint64_t number);

struct SegmentLimits {
  std::uint64_t most_bytes = 0;  ///< bound of all files together; 0: none
  bool in_memory = false;        ///< memory is allocated ahead, and finish() deletes all
  bool compress = false;         ///< not with in_memory
};

/// The lines with which a segment's file begins. They are written when the file is made, so that no
/// file lacks them.
struct SegmentHeader {
  std::string lines;
  std::uint64_t first_line_bytes = 0;  ///< length of the first of these lines
};

class SegmentFiles final : public TraceFile {
 public:
  explicit SegmentFiles(const SegmentLimits& limits);
  ~SegmentFiles() override;

  /// Begins segment 1 in this file. Later segments derive their names from it. The name ends in
  /// ".json", or ".json.gz" if it is compressed. Fails with the system's error if the file cannot
  /// be made or has no room for the header. There is no file then, and the call may be repeated.
  Result open_first(const std::string& path, const SegmentHeader& header, std::int64_t now_ns);

  /// Adds a line to the buffer. The owner calls flush() between two events, so that a write that
  /// fails loses whole events only.
  void add(std::string_view line, const assemble::Tally& tally) override { append(line, tally); }

  bool is_full(std::int64_t now_ns) const;
  /// Makes the next segment's file with its header, while lines still go to the current one.
  /// Fails with EFBIG if the bound leaves no room, else as open_first(). The current segment goes
  /// on then, and is_full() returns false for a second.
  Result prepare_next(const SegmentHeader& header, std::int64_t now_ns);
  /// Deletes the next segment's file, because the current segment could not be ended.
  void discard_next(std::int64_t now_ns);
  /// Makes the next segment the current one. All lines of the one before must be written. Fails if
  /// the file of the one before could not be closed. Its events are counted as lost then.
  Result begin_next(std::int64_t now_ns);

  /// Marks the end of the segment's body: the lines that follow are its last ones. The buffer must
  /// be written.
  void end_of_body() { current_.body_bytes = text_bytes(); }
  /// Bytes of the current segment's text, without its last lines.
  std::uint64_t body_bytes() const {
    return current_.body_bytes != 0 ? current_.body_bytes : text_bytes();
  }

  /// Deletes old segments until there is room for the lines that end this one. The account in these
  /// lines must be made after this.
  void make_room_for_end();
  /// Ends the last segment. Deletes all segments if they are in memory. Fails as begin_next().
  Result finish();

  bool compresses() const { return limits_.compress; }
  using TraceFile::buffered_bytes;
  /// True if the segments are in anonymous memory, because the directory had no room.
  bool is_anonymous() const { return anonymous_; }

  /// Opens all segments that are kept, and adds their bodies to `parts`. Fails with the
  /// system's error if a file cannot be opened.
  Result hold_kept(std::vector<TracePart>& parts) const;

  std::uint32_t number() const { return current_.number; }
  std::uint64_t operations() const { return counts().operations - current_.at_start.operations; }
  std::uint32_t oldest_number() const { return oldest().number; }
  std::int64_t oldest_start_ns() const { return oldest().start_ns; }
  std::uint64_t kept_operations() const;
  std::uint64_t kept_bytes() const;
  std::uint64_t total_bytes() const { return before_bytes_ + bytes(); }
  /// Counts of the segment that was closed last; nullptr if none is kept.
  const WriteCounts* last_closed() const {
    return closed_.empty() ? nullptr : &closed_.back().counts;
  }
  const WriteCounts& deleted() const { return deleted_; }

 private:
  struct Segment {
    std::uint32_t number = 0;
    OpenFile file;            ///< stays open after the end of a segment without a name
    std::uint64_t bytes = 0;  ///< bytes that count for the bound
    // Offsets in the text.
    std::uint64_t first_line_bytes = 0, header_bytes = 0, body_bytes = 0;
    std::int64_t start_ns = 0;
    WriteCounts at_start;  ///< the file's counts when it began
    WriteCounts counts;    ///< counts of this segment alone, once it is closed
  };

  Result make_room(std::uint64_t bytes) override;
  bool delete_until_fits(std::uint64_t more);
  Result make_file(std::uint32_t number, const std::string& path, const SegmentHeader& header,
                   Segment& result);
  std::uint64_t bytes_of_current(std::uint64_t more) const;
  const Segment& oldest() const { return closed_.empty() ? current_ : closed_.front(); }
  Result close_current();
  void delete_oldest();
  static void delete_file(const Segment& segment);

  const SegmentLimits limits_;
  const std::uint64_t segment_bytes_;
  std::string first_path_;
  Segment current_;
  Segment next_;
  std::deque<Segment> closed_;  // oldest first
  WriteCounts deleted_;
  std::uint64_t before_bytes_ = 0;
  std::int64_t retry_ns_ = std::numeric_limits<std::int64_t>::min();  // earliest next segment
  bool anonymous_ = false;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_SEGMENT_FILES_H
