// SPDX-License-Identifier: Apache-2.0
//
// The marks and ranges of the application's threads. Ranges and NCCL's calls are slices of one
// track. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H

#include <cstddef>
#include <cstdint>

#include "plugin/assemble/event.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/sink.h"
#include "plugin/assemble/thread_slices.h"

namespace ringside::assemble {

class UserMarks {
 public:
  /// The most ranges that may be open in the process. An application that never ends its ranges
  /// must not fill the memory.
  static constexpr std::size_t kMostOpen = 4096;

  UserMarks(Sink& sink, Events& events, ThreadSlices& slices)
      : sink_(sink), events_(events), slices_(slices) {}

  /// Writes a mark, or begins a range. False: too many ranges are open, and this one is lost.
  bool start(const RecordView& view);
  /// Writes a range that ends. The caller erases its event.
  void stop(const RecordView& view, Event& range);
  Mark open_row(record::EventId id, const Mark& range, std::int64_t now_ns) const;

 private:
  Sink& sink_;
  Events& events_;
  ThreadSlices& slices_;
  std::size_t open_ = 0;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_USER_MARKS_H
