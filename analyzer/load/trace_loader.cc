// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace_loader.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "analyzer/load/part_loader.h"
#include "analyzer/load/range_reader.h"
#include "analyzer/load/segments.h"
#include "analyzer/model/parallel.h"

namespace ringside::load {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), error_(number_ < 0 ? errno : 0) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  int error() const { return error_; }

 private:
  int number_;
  int error_;
};

struct FilePlan {
  std::optional<std::string> open_error;
  bool is_plain = false;  // else it is read from start to end, as a whole
  struct stat status {};
  std::size_t first_part = 0;
  std::size_t part_count = 0;
};

bool is_gzip(int descriptor) {
  unsigned char start[2] = {};
  return ::pread(descriptor, start, sizeof(start), 0) == 2 && start[0] == 0x1f && start[1] == 0x8b;
}

FilePlan plan_of(const std::string& path, std::uint64_t range_bytes) {
  FilePlan plan;
  plan.part_count = 1;
  // A pipe is opened once only, where it is read: opening it here could wait or break it.
  if (::stat(path.c_str(), &plan.status) != 0) {
    plan.open_error = std::strerror(errno);
    return plan;
  }
  if (!S_ISREG(plan.status.st_mode) || plan.status.st_size <= 0) {
    return plan;
  }
  const Descriptor file(path);
  if (file.number() < 0) {
    plan.open_error = std::strerror(file.error());
    return plan;
  }
  plan.is_plain = !is_gzip(file.number());
  if (plan.is_plain) {
    plan.part_count = static_cast<std::size_t>(
                          (static_cast<std::uint64_t>(plan.status.st_size) - 1) / range_bytes) +
                      1;
  }
  return plan;
}

// 0 if there are others, too.
std::uint64_t plain_bytes(const std::vector<FilePlan>& plans) {
  std::uint64_t bytes = 0;
  for (const FilePlan& plan : plans) {
    if (!plan.is_plain) {
      return 0;
    }
    bytes += static_cast<std::uint64_t>(plan.status.st_size);
  }
  return bytes;
}

template <typename Reader>
void load_part(Reader& reader, PartLoader& loader, Part& part) {
  Line line;
  while (reader.next(line) && loader.take(line)) {
  }
  part.read_error = reader.error();
}

void load_stream(const std::string& path, FilePlan& plan, Part& part) {
  LineReader reader;
  if (auto error = reader.open(path)) {
    plan.open_error = std::move(error);
    return;
  }
  PartLoader loader(part, true);
  load_part(reader, loader, part);
  part.file.size_bytes = reader.bytes_read();
}

void load_range(const std::string& path, const FilePlan& plan, std::size_t index,
                std::uint64_t range_bytes, TextBuffer& buffer, Part& part) {
  const Descriptor file(path);
  struct stat now {};
  if (file.number() < 0 || ::fstat(file.number(), &now) != 0) {
    part.read_error = std::strerror(errno);
    return;
  }
  if (now.st_dev != plan.status.st_dev || now.st_ino != plan.status.st_ino) {
    part.read_error = "another file took its place while it was read";
    return;
  }
  const auto size = static_cast<std::uint64_t>(plan.status.st_size);
  const std::uint64_t begin = index * range_bytes;
  const std::uint64_t end = std::min(size, begin + std::min(range_bytes, size - begin));
  RangeReader reader(file.number(), begin, end, buffer);
  PartLoader loader(part, index == 0);
  load_part(reader, loader, part);
  part.file.size_bytes = end - begin;
}

// Puts the parts of a file together as if they had been read one after the other.
void join_parts(const std::string& path, const FilePlan& plan, std::vector<Part>& parts,
                model::Traces& traces, model::Problems& problems) {
  if (plan.open_error) {
    problems.add_file(path, "cannot be opened: " + *plan.open_error);
    return;
  }
  Part whole;
  whole.file.path = path;
  whole.file.process = std::move(parts[plan.first_part].file.process);
  for (std::size_t i = 0; i < plan.part_count; ++i) {
    Part part = std::exchange(parts[plan.first_part + i], Part());
    if (part.not_a_trace) {
      problems.add_file(path, *part.not_a_trace);
      return;
    }
    const std::optional<std::string> error = part.read_error;
    append_part(std::move(part), path, traces.names, whole, problems);
    if (error) {
      problems.add_file(path, "cannot be read to its end: " + *error);
      break;
    }
  }
  if (whole.file.lines == 0) {
    if (problems.files().empty() || problems.files().back().path != path) {
      problems.add_file(path, "empty: nothing has been written to it yet");
    }
    return;
  }
  traces.files.push_back(std::move(whole.file));
}

}  // namespace

model::Traces load_traces(const std::vector<std::string>& paths, model::Problems& problems,
                          unsigned threads, std::uint64_t range_bytes, Progress* progress) {
  std::vector<FilePlan> plans;
  std::vector<std::size_t> file_of_part;
  for (const std::string& path : paths) {
    plans.push_back(plan_of(path, range_bytes));
    plans.back().first_part = file_of_part.size();
    file_of_part.resize(file_of_part.size() + plans.back().part_count, plans.size() - 1);
  }
  if (progress != nullptr) {
    progress->bytes_all.store(plain_bytes(plans), std::memory_order_relaxed);
  }
  std::vector<Part> parts(file_of_part.size());
  // Workers share nothing but the number of the next part: each part, and the plan of a file that
  // is one part, is written by the one thread that took it. run_on_threads() orders that before the
  // joining.
  std::atomic<std::size_t> next{0};
  const auto work = [&](std::size_t) {
    TextBuffer buffer;
    for (;;) {
      const std::size_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= parts.size()) {
        return;
      }
      FilePlan& plan = plans[file_of_part[i]];
      const std::string& path = paths[file_of_part[i]];
      if (plan.is_plain) {
        load_range(path, plan, i - plan.first_part, range_bytes, buffer, parts[i]);
      } else if (!plan.open_error) {
        load_stream(path, plan, parts[i]);
      }
      if (progress != nullptr) {
        progress->bytes_done.fetch_add(parts[i].file.size_bytes, std::memory_order_relaxed);
      }
    }
  };
  run_on_threads(std::min(threads == 0 ? core_count() : threads, parts.size()), work);
  model::Traces traces;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    join_parts(paths[i], plans[i], parts, traces, problems);
  }
  join_segments(traces);
  return traces;
}

}  // namespace ringside::load
