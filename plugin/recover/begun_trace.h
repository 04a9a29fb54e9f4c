// SPDX-License-Identifier: Apache-2.0
//
// The trace file that the dead process had begun, compressed or not.
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

  bool is_there() const { return is_there_; }
  std::uint64_t bytes() const { return bytes_; }

  /// Copies the whole lines of the first `bytes` of its text, as far as they are there, and sets
  /// `copied` to their length. Fails with the error of the read.
  Result copy_to(exporting::TraceFile& out, std::uint64_t bytes, std::uint64_t& copied) const;

 private:
  exporting::OpenFile file_;
  bool is_there_ = false;
  std::uint64_t bytes_ = 0;
};

}  // namespace ringside::recover

#endif  // RINGSIDE_PLUGIN_RECOVER_BEGUN_TRACE_H
