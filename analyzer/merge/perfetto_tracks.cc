// SPDX-License-Identifier: Apache-2.0
//
// The tracks of a Perfetto trace, and its packets.
#include <algorithm>
#include <tuple>

#include "analyzer/merge/perfetto_fields.h"
#include "analyzer/merge/perfetto_trace.h"

namespace ringside::merge {

using namespace perfetto;

std::uint64_t PerfettoTrace::interned(InternTable& table, std::uint32_t field,
                                      std::string_view text) {
  const InternTable::Found found = table.find(text);
  if (found.is_new) {
    Message entry;
    entry.integer(1, found.number).bytes(2, text);  // "iid", and "name" or "str"
    new_interned_.message(field, entry);
  }
  return found.number;
}

void PerfettoTrace::begin_process(std::int64_t pid) {
  pid_ = pid;
  process_track_ = ++tracks_;
}

std::uint64_t PerfettoTrace::thread_track(std::int64_t tid) {
  std::uint64_t& track = threads_[tid].first;
  if (track == 0) {
    track = ++tracks_;
  }
  return track;
}

std::uint64_t PerfettoTrace::async_track(const Object& line, std::string_view name) {
  std::string_view local;
  std::string_view category;
  if (line["id2"]["local"].get_string().get(local) != simdjson::SUCCESS ||
      line["cat"].get_string().get(category) != simdjson::SUCCESS) {
    return process_track_;
  }
  std::uint64_t& track = async_tracks_[std::string(category).append(1, '\n').append(local)];
  if (track == 0) {
    track = ++tracks_;
    Message made;
    made.integer(track_field::kUuid, track)
        .integer(track_field::kParent, process_track_)
        .bytes(track_field::kName, name);
    describe(made);
  }
  return track;
}

void PerfettoTrace::end_process() {
  if (process_track_ == 0) {
    return;
  }
  const auto pid = static_cast<std::uint64_t>(pid_);
  Message process;
  process.integer(process_field::kPid, pid).bytes(process_field::kName, process_name_);
  Message made;
  made.integer(track_field::kUuid, process_track_)
      .integer(track_field::kOrder, static_cast<std::uint64_t>(sort_index_))
      .message(track_field::kProcess, process);
  describe(made);
  for (const auto& [tid, track] : threads_) {
    Message thread;
    thread.integer(thread_field::kPid, pid)
        .integer(thread_field::kTid, static_cast<std::uint64_t>(tid))
        .bytes(thread_field::kName, track.second);
    made.clear();
    made.integer(track_field::kUuid, track.first)
        .integer(track_field::kParent, process_track_)
        .message(track_field::kThread, thread);
    describe(made);
  }
  write_slices();
  threads_.clear();
  async_tracks_.clear();
  counter_tracks_.clear();
  flow_ends_.clear();
  process_name_.clear();
  process_track_ = 0;
}

// An end closes the slice of its track that began last: what began earlier, or ends later, goes
// first.
void PerfettoTrace::write_slices() {
  std::stable_sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
    return std::tuple(a.tid, a.begin_ns, b.end_ns) < std::tuple(b.tid, b.begin_ns, a.end_ns);
  });
  std::vector<const Slice*> open;
  const auto end_until = [&](std::int64_t tid, std::uint64_t time_ns) {
    while (!open.empty() && (open.back()->tid != tid || open.back()->end_ns <= time_ns)) {
      Message event;
      event.integer(event_field::kType, kSliceEnd)
          .integer(event_field::kTrack, threads_[open.back()->tid].first);
      put(open.back()->end_ns, event);
      open.pop_back();
    }
  };
  for (const Slice& slice : slices_) {
    end_until(slice.tid, slice.begin_ns);
    Message event;
    event.raw(slice.event);
    if (slice.flow_out != 0) {
      const auto ends = flow_ends_.find(slice.flow_out);
      for (std::uint32_t end = 0; ends != flow_ends_.end() && end < ends->second; ++end) {
        event.fixed64(event_field::kFlow, flow_id(slice.flow_out, end));
      }
    }
    put(slice.begin_ns, event);
    open.push_back(&slice);
  }
  end_until(0, UINT64_MAX);
  slices_.clear();
}

void PerfettoTrace::finish() {
  end_process();
  const std::uint64_t track = ++tracks_;
  Message made;
  made.integer(track_field::kUuid, track).bytes(track_field::kName, "Ringside");
  describe(made);
  for (const auto& [name, arguments] : notes_) {
    Message event;
    event.integer(event_field::kType, kInstant)
        .integer(event_field::kTrack, track)
        .bytes(event_field::kNameText, name);
    Object parsed;
    if (parser_.parse(arguments).get_object().get(parsed) == simdjson::SUCCESS) {
      for (const auto argument : parsed) {
        add_argument(event_field::kArgument, argument.key, argument.value, event);
      }
    }
    put(first_ns_ == UINT64_MAX ? 0 : first_ns_, event);
  }
}

void PerfettoTrace::describe(const Message& track) {
  Message made;
  made.message(packet_field::kTrackDescriptor, track);
  packet(made);
}

void PerfettoTrace::put(std::uint64_t at_ns, const Message& event) {
  Message made;
  made.integer(packet_field::kTimestamp, at_ns).message(packet_field::kTrackEvent, event);
  packet(made);
}

void PerfettoTrace::packet(const Message& message) {
  Message made = message;
  made.integer(packet_field::kSequence, kSequence);
  if (tracks_ != 0) {
    made.integer(packet_field::kFlags, kNeedsState);
  }
  if (!new_interned_.empty()) {
    made.message(packet_field::kInterned, new_interned_);
    new_interned_.clear();
  }
  Message trace;
  trace.message(packet_field::kPacket, made);
  write_(trace.text());
}

}  // namespace ringside::merge
