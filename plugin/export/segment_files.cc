// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/segment_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "plugin/posix/descriptors.h"

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
std::uint64_t segment_bytes_of(const SegmentLimits& limits) {
  return std::clamp(limits.most_bytes / kParts, kLeastSegment_bytes, kMostSegment_bytes);
}

}  // namespace

std::string segment_path(const std::string& first, std::uint64_t number) {
  if (number <= 1) {
    return first;
  }
  std::array<char, 32> part{};
  std::snprintf(part.data(), part.size(), ".s%06llu", static_cast<unsigned long long>(number));
  std::string path = first;
  return path.insert(path.rfind(".json"), part.data());
}

SegmentFiles::SegmentFiles(const SegmentLimits& limits)
    : limits_(limits), segment_bytes_(segment_bytes_of(limits)) {
  if (limits.compress) {
    compress();
  }
}

SegmentFiles::~SegmentFiles() {
  static_cast<void>(finish());
}

// Makes a segment's file. On failure no file is left, and `result` is as it was. Allocates nothing
// once the file exists.
Result SegmentFiles::make_file(std::uint32_t number, const std::string& path,
                               const SegmentHeader& header, Segment& result) {
  Segment made;
  made.number = number;
  Result ended = create_private(path, made.file);
  if (limits_.in_memory) {
    // Allocates beyond the end of the file, whose size still tells how much is written. A full
    // tmpfs is noticed here, not in the middle of a segment.
    const auto size = static_cast<off_t>(segment_bytes_);
    const int file = made.file.descriptor();
    if (!ended.is_ok() || fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size) != 0) {
      if (ended.is_ok()) {
        unlink(path.c_str());
      }
      made.file =
          OpenFile(posix::own_descriptor([] { return memfd_create("ringside", MFD_CLOEXEC); }));
      ended = Result::of_call(made.file.is_open());
      anonymous_ = true;
    }
  }
  std::string_view stored;
  ended = std::move(ended).then([&] { return encode(header.lines, stored); }).then([&] {
    return write_at(made.file.descriptor(), 0, stored);
  });
  if (!ended.is_ok()) {
    delete_file(made);
    return ended;
  }
  made.bytes = stored.size();
  made.header_bytes = header.lines.size();
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
    exchange(std::move(current_.file), current_.bytes, current_.header_bytes);
  }
  return made;
}

bool SegmentFiles::is_full(std::int64_t now_ns) const {
  if (!is_open() || now_ns < retry_ns_) {
    return false;
  }
  // Compression makes little of the buffer.
  const std::uint64_t size = bytes() + (limits_.compress ? 0 : buffered_bytes());
  // If the first lines alone are longer than a segment, there must not be a new file for each
  // event.
  const std::uint64_t full_at = std::max(segment_bytes_ - kMargin_bytes, current_.header_bytes * 2);
  return limits_.most_bytes != 0 && size >= full_at;
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
  current_.body_bytes = 0;
  retry_ns_ = now_ns + kRetryAfter_ns;
}

Result SegmentFiles::close_current() {
  closed_.emplace_back();  // first, because this may throw std::bad_alloc
  before_bytes_ += bytes();
  current_.bytes = bytes();
  current_.file = exchange({}, 0, 0);
  current_.counts = {};
  current_.counts.add_written(counts());
  current_.counts.add_written(current_.at_start, -1);
  if (limits_.in_memory && current_.file.check().is_ok()) {
    // Memory that was allocated ahead and is not needed is given back.
    const std::uint64_t page = 4096;
    const std::uint64_t end = (current_.bytes + page - 1) / page * page;
    if (end < segment_bytes_) {
      fallocate(current_.file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(end), static_cast<off_t>(segment_bytes_ - end));
    }
  }
  Result closed;
  if (!current_.file.path().empty()) {
    if (closed = current_.file.close(); !closed.is_ok()) {
      lose(std::exchange(current_.counts, {}));
    }
  }
  closed_.back() = std::exchange(current_, {});
  return closed;
}

Result SegmentFiles::begin_next(std::int64_t now_ns) {
  Result closed = close_current();
  current_ = std::exchange(next_, {});
  current_.start_ns = now_ns;
  current_.at_start = counts();
  exchange(std::move(current_.file), current_.bytes, current_.header_bytes);
  return closed;
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
  return total;
}

std::uint64_t SegmentFiles::kept_operations() const {
  std::uint64_t total = operations();
  for (const Segment& segment : closed_) {
    total += segment.counts.operations;
  }
  return total;
}

// What does not fit beside the current segment costs none of the older ones.
bool SegmentFiles::delete_until_fits(std::uint64_t more) {
  if (limits_.most_bytes == 0) {
    return true;
  }
  if (bytes_of_current(0) + next_.bytes + more > limits_.most_bytes) {
    return false;
  }
  while (kept_bytes() + more > limits_.most_bytes) {
    delete_oldest();
  }
  return true;
}

Result SegmentFiles::make_room(std::uint64_t bytes) {
  const bool has_room = delete_until_fits(bytes_of_current(bytes) - bytes_of_current(0));
  return Result(has_room ? 0 : EFBIG);
}

void SegmentFiles::make_room_for_end() {
  delete_until_fits(bytes_of_current(buffered_bytes() + kMargin_bytes) - bytes_of_current(0));
}

// Deletes the file by its name, but only if the name still belongs to the file that was made.
void SegmentFiles::delete_file(const Segment& segment) {
  if (segment.file.is_in_place()) {
    unlink(segment.file.path().c_str());
  }
}

void SegmentFiles::delete_oldest() {
  const Segment& segment = closed_.front();
  delete_file(segment);
  deleted_.add_written(segment.counts);
  closed_.pop_front();
}

Result SegmentFiles::finish() {
  if (!is_open()) {
    return {};
  }
  static_cast<void>(flush());  // a loss is counted
  Result closed = close_current();
  while (limits_.in_memory && !closed_.empty()) {
    delete_file(closed_.front());
    closed_.pop_front();
  }
  return closed;
}

Result SegmentFiles::hold_kept(std::vector<TracePart>& parts) const {
  parts.reserve(parts.size() + closed_.size() + 1);
  const auto hold = [&](OpenFile held, const Segment& segment, std::uint64_t to) {
    const bool is_first = parts.empty();
    if (!held.is_open()) {
      return Result(errno);
    }
    parts.emplace_back(std::move(held), is_first ? segment.first_line_bytes : segment.header_bytes,
                       to);
    return Result();
  };
  for (const Segment& segment : closed_) {
    Result held = hold(OpenFile(segment.file.duplicate()), segment, segment.body_bytes);
    if (!held.is_ok()) {
      return held;
    }
  }
  return is_open() ? hold(OpenFile(file().duplicate()), current_, text_bytes()) : Result();
}

}  // namespace ringside::exporting
