// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/user_marks.h"

#include <algorithm>
#include <utility>

namespace ringside::assemble {

bool UserMarks::start(const RecordView& view) {
  const bool is_range = view.type == record::EventType::kRange;
  if (is_range && open_ == kMostOpen) {
    return false;
  }
  const std::size_t text_bytes =
      std::min<std::size_t>(view.payload.mark.text_bytes, view.text.size());
  Mark made;
  made.id = row_id(view.id);
  made.tid = view.tid;
  made.text = view.text.substr(0, text_bytes);
  made.source = view.text.substr(text_bytes);
  made.is_range = is_range;
  made.start_ns = is_range ? slices_.boundary_ns(view.tid, view.ts_ns) : view.ts_ns;
  if (!is_range) {
    sink_.row(&made, {view.type, 1, 0});
    return true;
  }
  Event& range = events_.insert(view.id, view.type, 0U, std::uint64_t{0}, false, std::move(made));
  ++open_;
  slices_.begin(view.tid, view.id);
  sink_.range_begins(std::get<Mark>(range.data));
  return true;
}

void UserMarks::stop(const RecordView& view, Event& range) {
  auto& ended = std::get<Mark>(range.data);
  // A group that began within the range may end after it, and a range within a group likewise.
  const ThreadSlices::End end =
      slices_.end(ended.tid, view.tid, view.id, ended.start_ns, view.ts_ns);
  ended.nests = end.nests;
  ended.end_ns = end.ts_ns;
  --open_;
  sink_.row(&ended, range.tally());
}

Mark UserMarks::open_row(record::EventId id, const Mark& range, std::int64_t now_ns) const {
  Mark open = range;
  open.in_flight = true;
  open.end_ns = slices_.end_of_open_ns(open.tid, id, open.start_ns, now_ns);
  return open;
}

}  // namespace ringside::assemble
