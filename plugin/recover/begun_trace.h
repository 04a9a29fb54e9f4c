// SPDX-License-Identifier: Apache-2.0
//
// The trace file that the dead process had begun.
#ifndef RINGSIDE_PLUGIN_RECOVER_BEGUN_TRACE_H
#define RINGSIDE_PLUGIN_RECOVER_BEGUN_TRACE_H

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "plugin/export/trace_file.h"
#include "plugin/result/result.h"

namespace ringside::recover {

class BegunTrace {
 public:
  /// Opens the file at `path` if it exists, belongs to `owner`, and begins with `begin`, or is
  /// a part of that.
  BegunTrace(const std::string& path, const std::string& begin, uid_t owner);
  BegunTrace(const BegunTrace&) = delete;
  BegunTrace& operator=(const BegunTrace&) = delete;
  ~BegunTrace();

  bool is_there() const { return is_there_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Returns the offset at which further lines belong. This is `bytes`, or the start of the last
  /// line and the bracket, if the segment was closed just before the process died.
  std::uint64_t open_end(std::uint64_t bytes) const;

  /// Copies the whole lines of the first `bytes`, and sets how many bytes they are. Fails with the
  /// error of the read.
  Result copy_to(exporting::TraceFile& out, std::uint64_t bytes, std::uint64_t& copied) const;

 private:
  int file_ = -1;
  bool is_there_ = false;
  std::uint64_t bytes_ = 0;
};

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_BEGUN_TRACE_H
