// SPDX-License-Identifier: Apache-2.0
//
// A reader reads files of one format. The first bytes of a file say its format; its name does not.
#ifndef RINGSIDE_ANALYZER_LOAD_READER_H
#define RINGSIDE_ANALYZER_LOAD_READER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "analyzer/load/dump_choice.h"
#include "analyzer/load/source/range_reader.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::load {

/// The facts known about a file before it is read.
struct FileStart {
  std::optional<std::string> error;  // why it cannot be opened
  struct stat status {};
  std::string bytes;  // the first ones of a plain file; none of a pipe, which can be read once only
};

class Reader {
 public:
  Reader() = default;
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Threads may read so many pieces at the same time.
  virtual std::size_t pieces() const = 0;
  /// The size of all pieces together; 0: not known.
  virtual std::uint64_t bytes() const = 0;
  /// Whether its calls are those of torch.distributed, which are joined with traces of the same
  /// job.
  virtual bool is_joined_with_traces() const { return false; }
  /// Said before the first piece is read, where there are no such traces: leaves out what only the
  /// join asks for.
  virtual void leave_out_tensors() {}
  /// Reads a piece, once. `buffer` is the thread's. Returns the size of the piece.
  virtual std::uint64_t read(std::size_t piece, TextBuffer& buffer) = 0;

  /// The paths of the traces that are in the file, or were when it was made. Asked for when all
  /// pieces are read.
  virtual std::vector<std::string> traces() const = 0;
  /// Adds one of them to `traces`, once, and what could not be read of it to `problems`.
  virtual void finish(std::size_t trace, model::Traces& traces, model::Problems& problems) = 0;
};

/// The reader for this file.
std::unique_ptr<Reader> open_reader(const std::string& path, std::uint64_t range_bytes,
                                    const DumpChoice& dumps = {});

/// The readers, each in a source file of its own. A file that no other takes is read as a trace.
std::unique_ptr<Reader> make_trace_reader(const std::string& path, const FileStart& start,
                                          std::uint64_t range_bytes);
/// No reader if the file does not begin as a partial.
std::unique_ptr<Reader> make_partial_reader(const std::string& path, const FileStart& start);
/// Reads a partial that is in memory, made of the file of that path.
std::unique_ptr<Reader> make_partial_reader(const std::string& path, std::string partial);
/// No reader if the file does not begin as a dump of PyTorch's Flight Recorder.
std::unique_ptr<Reader> make_dump_reader(const std::string& path, const FileStart& start,
                                         const DumpChoice& dumps);
/// No reader if the file does not begin as records of durations (durations.h).
std::unique_ptr<Reader> make_durations_reader(const std::string& path, const FileStart& start);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_READER_H
