// SPDX-License-Identifier: Apache-2.0
//
// The packets of a Perfetto trace, and the texts that they write once.
#ifndef RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_PACKETS_H
#define RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_PACKETS_H

#include <cstdint>
#include <functional>
#include <optional>
#include <simdjson.h>
#include <string_view>

#include "analyzer/merge/perfetto/intern_table.h"
#include "analyzer/merge/perfetto/protobuf.h"

namespace ringside::merge {

class PerfettoPackets {
 public:
  /// `write` gets the packets; at once the one that begins a trace.
  explicit PerfettoPackets(std::function<void(std::string_view)> write);

  /// A number that no track has.
  std::uint64_t new_track() { return ++tracks_; }
  /// A TrackEvent with the category, the name and the arguments of a JSON line.
  Message event_of(const simdjson::dom::object& line, std::uint64_t type, std::uint64_t track);
  void add_argument(std::uint32_t field, std::optional<std::string_view> key,
                    const simdjson::dom::element& value, Message& event);

  void describe(const Message& track);
  void put(std::uint64_t at_ns, const Message& event);
  /// Texts that were named for the first time, ahead of the event that names them.
  void put_names();

 private:
  using Object = simdjson::dom::object;
  using Element = simdjson::dom::element;

  void add_value(const Element& value, Message& annotation);
  std::uint64_t interned(InternTable& table, std::uint32_t field, std::string_view text);
  void packet(const Message& message);

  const std::function<void(std::string_view)> write_;
  InternTable categories_, names_, keys_, texts_;
  Message new_interned_;  // of the packet to come
  std::uint64_t tracks_ = 0;
};

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_PERFETTO_PERFETTO_PACKETS_H
