// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/segment_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "plugin/record/own_descriptor.h"

namespace ringside::exporting {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::uint64_t kParts = 8;
constexpr std::uint64_t kLeastSegment_bytes = kMiB;
constexpr std::uint64_t kMostSegment_bytes = 64 * kMiB;
// If the next segment could not be begun, the next attempt is made after this time.
constexpr std::int64_t kRetryAfter_ns = 1'000'000'000;
// Room that a segment keeps for the lines of one event and for its last lines (clock, account,
// end).
constexpr std::uint64_t kMargin_bytes = 128U << 10;
// An upper bound of a compressed piece: text that zlib cannot shrink grows very little.
constexpr std::uint64_t kCompressedPiece_bytes =
    GzipWriter::kPiece_bytes + (GzipWriter::kPiece_bytes >> 4);

std::uint64_t segment_bytes_of(const SegmentLimits& limits) {
  return std::clamp(limits.most_bytes / kParts, kLeastSegment_bytes, kMostSegment_bytes);
}

void subtract(const WriteCounts& from, const WriteCounts& what, WriteCounts& result) {
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    result.written[type] = from.written[type] - what.written[type];
    result.merged[type] = from.merged[type] - what.merged[type];
  }
  result.operations = from.operations - what.operations;
}

}  // namespace

std::string segment_path(const std::string& first, std::uint64_t number) {
  if (number <= 1) {
    return first;
  }
  constexpr std::string_view kEnding = ".json";
  std::array<char, 32> part{};
  std::snprintf(part.data(), part.size(), ".s%06llu", static_cast<unsigned long long>(number));
  return first.substr(0, first.size() - kEnding.size()) + part.data() + std::string(kEnding);
}

SegmentFiles::SegmentFiles(const SegmentLimits& limits)
    : limits_(limits), segment_bytes_(segment_bytes_of(limits)) {}

SegmentFiles::~SegmentFiles() {
  finish();
}

// Makes a segment's file. On failure no file is left, and `result` is as it was. Allocates nothing
// once the file exists.
Result SegmentFiles::make_file(std::uint32_t number, std::string path, const SegmentHeader& header,
                               Segment& result) {
  Segment made;
  made.number = number;
  made.path = std::move(path);
  Result ended = create_private(made.path, made.file);
  if (limits_.in_memory) {
    // Allocates beyond the end of the file, whose size still tells how much is written. A full
    // tmpfs is noticed here, not in the middle of a segment.
    const auto size = static_cast<off_t>(segment_bytes_);
    if (!ended.is_ok() || fallocate(made.file, FALLOC_FL_KEEP_SIZE, 0, size) != 0) {
      if (ended.is_ok()) {
        ::close(made.file);
        unlink(made.path.c_str());
      }
      made.path.clear();
      made.file = record::own_descriptor(memfd_create("ringside", MFD_CLOEXEC));
      ended = Result::of_call(made.file >= 0);
      anonymous_ = true;
    }
  }
  if (!ended.is_ok()) {
    return ended;
  }
  struct stat found {};
  if (fstat(made.file, &found) == 0) {
    made.inode = found.st_ino;
  }
  ended = write_at(made.file, 0, header.lines);
  if (!ended.is_ok()) {
    delete_file(made);
    return ended;
  }
  made.bytes = made.header_bytes = header.lines.size();
  made.first_line_bytes = header.first_line_bytes;
  result = std::move(made);
  return ended;
}

Result SegmentFiles::open_first(const std::string& path, const SegmentHeader& header,
                                std::int64_t now_ns) {
  first_path_ = path;
  Result made = make_file(1, path, header, current_);
  if (made.is_ok()) {
    current_.start_ns = now_ns;
    exchange(current_.file, current_.bytes);
  }
  return made;
}

bool SegmentFiles::is_full(std::int64_t now_ns) const {
  if (!is_open() || now_ns < retry_ns_) {
    return false;
  }
  const bool old = limits_.most_age_ns != 0 &&
                   now_ns - current_.start_ns > limits_.most_age_ns / std::int64_t{kParts};
  const std::uint64_t size = bytes() + buffered_bytes();
  // If the first lines alone are longer than a segment, there must not be a new file for each
  // event.
  const std::uint64_t full_at = std::max(segment_bytes_ - kMargin_bytes, current_.header_bytes * 2);
  return old || (limits_.most_bytes != 0 && size >= full_at);
}

Result SegmentFiles::prepare_next(const SegmentHeader& header, std::int64_t now_ns) {
  delete_file(std::exchange(next_, {}));  // an earlier call ran out of memory
  if (limits_.in_memory) {
    while (!closed_.empty() && kept_bytes() + segment_bytes_ > limits_.most_bytes) {
      delete_oldest();
    }
  }
  const bool has_room = limits_.in_memory || delete_until_fits(header.lines.size());
  const std::uint32_t number = current_.number + 1;
  Result made = has_room ? make_file(number, segment_path(first_path_, number), header, next_)
                         : Result(EFBIG);
  if (!made.is_ok()) {
    retry_ns_ = now_ns + kRetryAfter_ns;
  }
  return made;
}

void SegmentFiles::discard_next(std::int64_t now_ns) {
  delete_file(std::exchange(next_, {}));
  retry_ns_ = now_ns + kRetryAfter_ns;
}

void SegmentFiles::close_current() {
  closed_.emplace_back();  // first, because this may throw std::bad_alloc
  current_.file = exchange(-1, 0);
  subtract(counts(), current_.at_start, current_.counts);
  if (limits_.in_memory) {
    // Memory that was allocated ahead and is not needed is given back.
    const std::uint64_t page = 4096;
    const std::uint64_t end = (current_.bytes + page - 1) / page * page;
    if (end < segment_bytes_) {
      fallocate(current_.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end),
                static_cast<off_t>(segment_bytes_ - end));
    }
  }
  if (!current_.path.empty() && current_.file >= 0) {
    ::close(current_.file);
    current_.file = -1;
  }
  current_.to_compress = limits_.compress && !limits_.in_memory && !current_.path.empty();
  closed_.back() = std::move(current_);
}

void SegmentFiles::begin_next(std::int64_t now_ns) {
  const std::uint64_t size = bytes();
  current_.bytes = size;
  current_.end_ns = now_ns;
  close_current();
  before_bytes_ += size;
  current_ = std::exchange(next_, {});
  current_.start_ns = now_ns;
  current_.at_start = counts();
  exchange(current_.file, current_.bytes);
  delete_expired(now_ns);
}

std::uint64_t SegmentFiles::bytes_of_current(std::uint64_t more) const {
  const std::uint64_t size = is_open() ? bytes() + more : 0;
  return limits_.in_memory && is_open() ? std::max(size, segment_bytes_) : size;
}

std::uint64_t SegmentFiles::kept_bytes() const {
  std::uint64_t total = bytes_of_current(0) + next_.bytes;
  for (const Segment& segment : closed_) {
    total += segment.bytes;
  }
  return total + (compression_ != nullptr ? compression_->written_bytes() : 0);
}

std::uint64_t SegmentFiles::kept_operations() const {
  std::uint64_t total = operations();
  for (const Segment& segment : closed_) {
    total += segment.counts.operations;
  }
  return total;
}

bool SegmentFiles::fits(std::uint64_t more) const {
  return limits_.most_bytes == 0 || kept_bytes() + more <= limits_.most_bytes;
}

bool SegmentFiles::delete_until_fits(std::uint64_t more) {
  while (!closed_.empty() && !fits(more)) {
    delete_oldest();
  }
  return fits(more);
}

Result SegmentFiles::make_room(std::uint64_t bytes) {
  const bool has_room = delete_until_fits(bytes_of_current(bytes) - bytes_of_current(0));
  return Result(has_room ? 0 : EFBIG);
}

void SegmentFiles::make_room_for_end(bool last) {
  std::uint64_t more = bytes_of_current(buffered_bytes() + kMargin_bytes) - bytes_of_current(0);
  if (last && limits_.compress) {
    // The source stays until all of it is compressed. The result is seldom more than a quarter of
    // it.
    more += kCompressedPiece_bytes + segment_bytes_ / 4;
  }
  delete_until_fits(more);
}

void SegmentFiles::delete_expired(std::int64_t now_ns) {
  while (limits_.most_age_ns != 0 && !closed_.empty() &&
         now_ns - closed_.front().end_ns > limits_.most_age_ns) {
    delete_oldest();
  }
}

// Deletes the file by its name, but only if the name still belongs to the file that was made.
void SegmentFiles::delete_file(const Segment& segment) {
  if (segment.file >= 0) {
    ::close(segment.file);
  }
  struct stat found {};
  if (!segment.path.empty() && lstat(segment.path.c_str(), &found) == 0 &&
      found.st_ino == segment.inode) {
    unlink(segment.path.c_str());
  }
}

void SegmentFiles::delete_oldest() {
  Segment& segment = closed_.front();
  if (compression_ != nullptr && compression_->source() == segment.path) {
    compression_.reset();
  }
  delete_file(segment);
  for (std::size_t type = 0; type < record::kAccountTypes; ++type) {
    deleted_.written[type] += segment.counts.written[type];
    deleted_.merged[type] += segment.counts.merged[type];
  }
  closed_.pop_front();
}

void SegmentFiles::finish() {
  if (!is_open()) {
    return;
  }
  static_cast<void>(flush());  // a loss is counted
  const std::uint64_t size = bytes();
  current_.bytes = size;
  close_current();
  before_bytes_ += size;
  current_ = {};
  while (limits_.in_memory && !closed_.empty()) {
    delete_file(closed_.front());
    closed_.pop_front();
  }
}

Result SegmentFiles::hold_kept(std::vector<TracePart>& parts) const {
  parts.reserve(parts.size() + closed_.size() + 1);
  const auto hold = [&](int file, const Segment& segment, std::uint64_t to) {
    const bool is_first = parts.empty();
    file = record::own_descriptor(file);
    if (file < 0) {
      return Result(errno);
    }
    parts.emplace_back(file, is_first ? segment.first_line_bytes : segment.header_bytes, to,
                       segment.compressed);
    return Result();
  };
  for (const Segment& segment : closed_) {
    const int file = segment.file >= 0
                         ? fcntl(segment.file, F_DUPFD_CLOEXEC, 0)
                         : open(segment.path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (Result held = hold(file, segment, segment.body_bytes); !held.is_ok()) {
      return held;
    }
  }
  return is_open() ? hold(fcntl(descriptor(), F_DUPFD_CLOEXEC, 0), current_, bytes()) : Result();
}

SegmentFiles::Segment* SegmentFiles::next_to_compress() {
  const auto found = std::find_if(closed_.begin(), closed_.end(),
                                  [](const Segment& segment) { return segment.to_compress; });
  return found != closed_.end() ? &*found : nullptr;
}

void SegmentFiles::take_compressed(Segment& segment, bool ok) {
  const std::uint64_t size = compression_ != nullptr ? compression_->written_bytes() : 0;
  compression_.reset();
  segment.to_compress = false;
  if (!ok) {
    return;  // the plain file stays
  }
  delete_file(segment);
  segment.compressed = true;
  segment.path += ".gz";
  segment.bytes = size;
  struct stat found {};
  segment.inode = stat(segment.path.c_str(), &found) == 0 ? found.st_ino : 0;
}

void SegmentFiles::compress_piece(Segment& segment) {
  if (compression_ == nullptr) {
    compression_ = std::make_unique<GzipWriter>(segment.path);
  }
  // After the last account nothing may be deleted. Without room, the plain file stays.
  const bool has_room =
      is_open() ? delete_until_fits(kCompressedPiece_bytes) : fits(kCompressedPiece_bytes);
  if (compression_ == nullptr) {
    return;  // the source was deleted for it
  }
  if (!has_room || !compression_->is_open()) {
    take_compressed(segment, false);
    return;
  }
  const GzipWriter::Progress progress = compression_->step();
  if (progress != GzipWriter::Progress::kMore) {
    take_compressed(segment, progress == GzipWriter::Progress::kDone);
  }
}

void SegmentFiles::compress_for(std::int64_t duration_ns) {
  Segment* segment = next_to_compress();
  if (segment == nullptr) {
    return;
  }
  lacks_zlib_ = !has_zlib();
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(duration_ns);
  while (segment != nullptr && !lacks_zlib_ && std::chrono::steady_clock::now() < end) {
    compress_piece(*segment);
    segment = next_to_compress();
  }
}

}  // namespace ringside::exporting
