// SPDX-License-Identifier: Apache-2.0
//
// The lines of a merged file as Perfetto's own format: protobuf packets with TrackEvents
// (perfetto.dev, "Writing TrackEvent Protos Synthetically"). It shows what the JSON shows, from
// nanoseconds, and is smaller, since names and repeated texts are written once.
//
//   process, thread      tracks with the names and the order of the metadata lines
//   X of a thread        slices of it; written when the process is complete, in the order of time,
//                        since an end closes the slice that began last
//   X of a row           slices of a track of the process, which lays rows of one name together;
//                        written at once: what overlaps is nested, and comes in this order
//   C, i                 counter tracks; instants
//   flow_out, flow_in    a flow for each end: a flow of Perfetto's has one
//   ringside_merged...   instants of a track "Ringside" at the first event
#ifndef RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_TRACE_H
#define RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_TRACE_H

#include <cstdint>
#include <functional>
#include <map>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/merge/perfetto/perfetto_packets.h"
#include "analyzer/merge/plan.h"

namespace ringside::merge {

class PerfettoTrace {
 public:
  /// `write` gets the packets. `plan` says how many ends the arrows between ranks have.
  PerfettoTrace(const Plan& plan, std::function<void(std::string_view)> write);

  /// Whole lines of a merged file, in the order in which it has them.
  void take(std::string_view lines);
  void finish();

 private:
  struct Slice {
    std::int64_t tid = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t flow_out = 0;  // 0: none
    std::string event;           // a TrackEvent without flows
  };
  using Object = simdjson::dom::object;

  void take_line(std::string_view json);
  void take_metadata(const Object& line, std::string_view name);
  void take_slice(const Object& line, std::uint64_t begin_ns);
  void take_counter(const Object& line, std::uint64_t at_ns);
  void begin_process(std::int64_t pid);
  void end_process();
  void write_slices();

  void add_flow(const Object& line, Message& event);
  std::uint64_t thread_track(std::int64_t tid);
  std::uint64_t rows_track();

  PerfettoPackets packets_;
  std::vector<std::uint32_t> arrow_ends_;    // in the plan, by arrow
  std::vector<std::uint32_t> arrows_bound_;  // ends met, by arrow
  simdjson::dom::parser parser_;
  std::string line_;
  std::uint64_t first_ns_ = UINT64_MAX;
  std::vector<std::pair<std::string, std::string>> notes_;  // name, JSON of its arguments

  // These are of one process.
  std::int64_t pid_ = 0;
  std::uint64_t process_track_ = 0;
  std::uint64_t rows_track_ = 0;  // that all rows are in; 0: there are none
  std::string process_name_;
  std::int64_t sort_index_ = 0;
  std::map<std::int64_t, std::pair<std::uint64_t, std::string>> threads_;  // track, name
  std::map<std::string, std::uint64_t> counter_tracks_;
  std::unordered_map<std::uint64_t, std::uint32_t> flow_ends_;  // of the process's own flows
  std::vector<Slice> slices_;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_TRACE_H
