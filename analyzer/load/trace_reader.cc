// SPDX-License-Identifier: Apache-2.0
//
// Ringside's own traces: a plain file in ranges, a compressed one and a pipe from start to end.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "analyzer/load/part_loader.h"
#include "analyzer/load/reader.h"
#include "analyzer/load/source/descriptor.h"

namespace ringside::load {
namespace {

template <typename Lines>
void load_part(Lines& lines, PartLoader& loader, Part& part) {
  Line line;
  while (lines.next(line) && loader.take(line)) {
  }
  part.read_error = lines.error();
}

class TraceReader final : public Reader {
 public:
  TraceReader(std::string path, const FileStart& start, std::uint64_t range_bytes)
      : path_(std::move(path)),
        status_(start.status),
        open_error_(start.error),
        range_bytes_(range_bytes),
        is_plain_(!start.bytes.empty() && !start.bytes.starts_with("\x1f\x8b")),
        parts_(is_plain_ ? static_cast<std::size_t>(
                               (static_cast<std::uint64_t>(status_.st_size) - 1) / range_bytes) +
                               1
                         : 1) {}

  std::size_t pieces() const override { return parts_.size(); }

  std::uint64_t bytes() const override {
    return is_plain_ ? static_cast<std::uint64_t>(status_.st_size) : 0;
  }

  std::uint64_t read(std::size_t piece, TextBuffer& buffer) override {
    Part& part = parts_[piece];
    if (is_plain_) {
      load_range(piece, buffer, part);
    } else if (!open_error_) {
      load_stream(part);
    }
    return part.file.size_bytes;
  }

  std::vector<std::string> traces() const override { return {path_}; }

  void finish(std::size_t trace, model::Traces& traces, model::Problems& problems) override;

 private:
  void load_stream(Part& part);
  void load_range(std::size_t index, TextBuffer& buffer, Part& part) const;

  std::string path_;
  struct stat status_;
  std::optional<std::string> open_error_;
  std::uint64_t range_bytes_;
  bool is_plain_;
  std::vector<Part> parts_;  // each is written by the one thread that reads it
};

void TraceReader::load_stream(Part& part) {
  LineReader reader;
  if (auto error = reader.open(path_)) {
    open_error_ = std::move(error);
    return;
  }
  PartLoader loader(part, true);
  load_part(reader, loader, part);
  part.file.size_bytes = reader.bytes_read();
}

void TraceReader::load_range(std::size_t index, TextBuffer& buffer, Part& part) const {
  const Descriptor file(path_);
  struct stat now {};
  if (file.number() < 0 || ::fstat(file.number(), &now) != 0) {
    part.read_error = std::strerror(errno);
    return;
  }
  if (now.st_dev != status_.st_dev || now.st_ino != status_.st_ino) {
    part.read_error = "another file took its place while it was read";
    return;
  }
  const std::uint64_t begin = index * range_bytes_;
  const std::uint64_t end = begin + std::min(range_bytes_, bytes() - begin);
  RangeReader reader(file.number(), begin, end, buffer);
  PartLoader loader(part, index == 0);
  load_part(reader, loader, part);
  part.file.size_bytes = end - begin;
}

// Puts the parts of the file together as if they had been read one after the other.
void TraceReader::finish(std::size_t /*trace*/, model::Traces& traces, model::Problems& problems) {
  if (open_error_) {
    problems.add_file(path_, "cannot be opened: " + *open_error_);
    return;
  }
  Part whole;
  whole.file.path = path_;
  whole.file.process = std::move(parts_.front().file.process);
  for (Part& read : parts_) {
    Part part = std::exchange(read, Part());
    if (part.not_a_trace) {
      problems.add_file(path_, *part.not_a_trace);
      return;
    }
    const std::optional<std::string> error = part.read_error;
    append_part(std::move(part), path_, traces.names, whole, problems);
    if (error) {
      problems.add_file(path_, "cannot be read to its end: " + *error);
      break;
    }
  }
  if (whole.file.lines == 0) {
    if (problems.files().empty() || problems.files().back().path != path_) {
      problems.add_file(path_, "empty: nothing has been written to it yet");
    }
    return;
  }
  traces.files.push_back(std::move(whole.file));
}

}  // namespace

std::unique_ptr<Reader> make_trace_reader(const std::string& path, const FileStart& start,
                                          std::uint64_t range_bytes) {
  return std::make_unique<TraceReader>(path, start, range_bytes);
}

}  // namespace ringside::load
