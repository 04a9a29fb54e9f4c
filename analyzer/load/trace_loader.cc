// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace_loader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "analyzer/load/dump/dump_groups.h"
#include "analyzer/load/dump/flight_recorder.h"
#include "analyzer/load/durations.h"
#include "analyzer/load/job_dumps/dump_processes.h"
#include "analyzer/load/job_dumps/dump_twins.h"
#include "analyzer/load/other_processes.h"
#include "analyzer/load/process_ends.h"
#include "analyzer/load/reader.h"
#include "analyzer/load/segments.h"
#include "analyzer/load/source/descriptor.h"
#include "analyzer/load/trace/callers.h"
#include "analyzer/model/parallel.h"

namespace ringside::load {
namespace {

using Readers = std::vector<std::unique_ptr<Reader>>;

FileStart start_of(const std::string& path) {
  FileStart start;
  // A pipe is opened once only, where it is read: opening it here could wait or break it.
  if (::stat(path.c_str(), &start.status) != 0) {
    start.error = std::strerror(errno);
    return start;
  }
  if (!S_ISREG(start.status.st_mode) || start.status.st_size <= 0) {
    return start;
  }
  const Descriptor file(path);
  if (file.number() < 0) {
    start.error = std::strerror(file.error());
    return start;
  }
  start.bytes.resize(kDumpStartBytes);
  const ssize_t got = ::pread(file.number(), start.bytes.data(), kDumpStartBytes, 0);
  start.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return start;
}

// A file that another process reads, a trace, gets no reader yet.
Readers open_all(const std::vector<std::string>& paths, std::uint64_t range_bytes,
                 const DumpChoice& dumps, const std::vector<bool>& is_elsewhere = {}) {
  Readers readers(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (is_elsewhere.empty() || !is_elsewhere[i]) {
      readers[i] = open_reader(paths[i], range_bytes, dumps);
    }
  }
  if (std::all_of(readers.begin(), readers.end(),
                  [](const auto& reader) { return reader && reader->is_joined_with_traces(); })) {
    for (const auto& reader : readers) {
      reader->leave_out_tensors();
    }
  }
  return readers;
}

// The reader of a file that is no trace; nothing if it is one.
std::unique_ptr<Reader> open_other_reader(const std::string& path, const FileStart& start,
                                          const DumpChoice& dumps) {
  if (auto reader = make_partial_reader(path, start)) {
    return reader;
  }
  if (auto reader = make_dump_reader(path, start, dumps)) {
    return reader;
  }
  return make_durations_reader(path, start);
}

// Returns the size of all files; 0 if that of one is not known.
std::uint64_t bytes_of(const Readers& readers) {
  std::uint64_t bytes = 0;
  for (const auto& reader : readers) {
    if (reader == nullptr || reader->bytes() == 0) {
      return 0;
    }
    bytes += reader->bytes();
  }
  return bytes;
}

void read_all(const Readers& readers, unsigned threads, Progress* progress) {
  std::vector<std::pair<Reader*, std::size_t>> pieces;
  for (const auto& reader : readers) {
    for (std::size_t piece = 0; reader != nullptr && piece < reader->pieces(); ++piece) {
      pieces.emplace_back(reader.get(), piece);
    }
  }
  in_parallel(
      pieces.size(), threads, [] { return TextBuffer(); },
      [&](std::size_t i, TextBuffer& buffer) {
        const std::uint64_t bytes = pieces[i].first->read(pieces[i].second, buffer);
        if (progress != nullptr) {
          progress->bytes_done.fetch_add(bytes, std::memory_order_relaxed);
        }
      });
}

// Gives each file that another process has read the reader of its partial.
void read_from(OtherProcesses& others, const std::vector<std::string>& paths, unsigned threads,
               Readers& readers) {
  for (;;) {
    std::vector<ReadFile> files = others.receive();
    if (files.empty()) {
      return;
    }
    Readers some;
    for (ReadFile& file : files) {
      some.push_back(make_partial_reader(paths[file.number], std::move(file.partial)));
    }
    read_all(some, threads, nullptr);
    for (std::size_t i = 0; i < files.size(); ++i) {
      readers[files[i].number] = std::move(some[i]);
    }
  }
}

// A trace that was read.
struct Entry {
  std::string path;
  std::size_t file = 0;
  Reader* reader = nullptr;
  std::size_t index = 0;  // in its file
};

// Returns the traces in the order of the files. If there are partials, they are sorted by path, so
// that they come in the order that they have without partials.
std::vector<Entry> entries_of(const std::vector<std::string>& paths, const Readers& readers) {
  std::vector<Entry> entries;
  bool has_partials = false;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    std::size_t index = 0;
    for (std::string& path : readers[i]->traces()) {
      has_partials = has_partials || path != paths[i];
      entries.push_back({std::move(path), i, readers[i].get(), index++});
    }
  }
  if (has_partials) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& one, const Entry& other) { return one.path < other.path; });
  }
  return entries;
}

}  // namespace

std::unique_ptr<Reader> open_reader(const std::string& path, std::uint64_t range_bytes,
                                    const DumpChoice& dumps) {
  const FileStart start = start_of(path);
  auto reader = open_other_reader(path, start, dumps);
  return reader != nullptr ? std::move(reader) : make_trace_reader(path, start, range_bytes);
}

std::uint64_t trace_bytes(const std::string& path) {
  const FileStart start = start_of(path);
  return start.bytes.empty() || open_other_reader(path, start, {}) != nullptr
             ? 0
             : static_cast<std::uint64_t>(start.status.st_size);
}

model::Traces load_traces(const std::vector<std::string>& paths, model::Problems& problems,
                          unsigned threads, std::uint64_t range_bytes, Progress* progress,
                          const DumpChoice& dumps) {
  OtherProcesses* const others = other_processes();
  Readers readers = open_all(paths, range_bytes, dumps,
                             others != nullptr ? others->share_out(paths) : std::vector<bool>());
  if (progress != nullptr) {
    progress->bytes_all.store(bytes_of(readers), std::memory_order_relaxed);
  }
  read_all(readers, threads, progress);
  if (others != nullptr) {
    read_from(*others, paths, threads, readers);
  }
  model::Traces traces;
  const std::vector<Entry> entries = entries_of(paths, readers);
  traces.files.reserve(entries.size());
  for (const Entry& entry : entries) {
    entry.reader->finish(entry.index, traces, problems);
  }
  join_segments(traces);
  leave_out_dump_twins(traces, problems);
  mend_dump_groups(traces, problems);
  separate_dump_processes(traces);
  find_callers(traces);
  read_process_ends(traces);
  return traces;
}

void append_problems(const model::Problems& others, model::Problems& problems) {
  for (const model::Problem& line : others.lines()) {
    problems.add_line(line.path, line.line, line.reason);
  }
  problems.count_lines(others.bad_lines() - others.lines().size());
  for (const model::Problem& file : others.files()) {
    problems.add_file(file.path, file.reason);
  }
}

std::vector<LoadedTrace> load_each(const std::vector<std::string>& paths, unsigned threads,
                                   Progress* progress) {
  const Readers readers = open_all(paths, kRangeBytes, {});
  read_all(readers, threads, progress);
  const std::vector<Entry> entries = entries_of(paths, readers);
  std::vector<LoadedTrace> loaded;
  loaded.reserve(entries.size());  // a vector that grows would copy them
  for (const Entry& entry : entries) {
    LoadedTrace& trace = loaded.emplace_back();
    trace.file = entry.file;
    entry.reader->finish(entry.index, trace.traces, trace.problems);
    std::erase_if(trace.traces.files, [&](const model::TraceFile& file) {
      if (!file.process.tells_begin) {
        trace.problems.add_file(file.path, "a dump of PyTorch's Flight Recorder, and not a trace");
      } else if (!file.process.tells_start) {
        trace.problems.add_file(file.path, durations_refused());
      }
      return !file.process.tells_begin || !file.process.tells_start;
    });
  }
  return loaded;
}

}  // namespace ringside::load
