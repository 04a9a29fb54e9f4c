// SPDX-License-Identifier: Apache-2.0
//
// Plays callbacks to an assembler, as records with times a microsecond apart.
#ifndef RINGSIDE_TEST_UNIT_PLUGIN_ASSEMBLER_SCRIPT_H
#define RINGSIDE_TEST_UNIT_PLUGIN_ASSEMBLER_SCRIPT_H

#include <string>

#include "plugin/assemble/assembler.h"
#include "plugin/record/names.h"
#include "test/unit/plugin/collecting_sink.h"

namespace ringside::test {

using assemble::RecordView;
using record::EventId;
using record::EventState;
using record::EventType;
using record::RecordKind;

inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000'000'000;

struct Script {
  CollectingSink sink;
  assemble::Assembler assembler;
  std::int64_t now = kSecond;
  std::uint64_t counter = 0;
  const char* algo = "RING";  // of the collectives that start
  bool is_send = true;        // likewise of the proxy operations

  explicit Script(int abi = 6, bool kernels = false, const assemble::AssemblerLimits& limits = {})
      : assembler(sink, limits) {
    assemble::Communicator communicator;
    communicator.context = 1;
    communicator.abi_version = abi;
    assembler.open_communicator(communicator);
    assembler.expect(kernels ? record::bit(EventType::kKernelCh) : 0);
    assembler.open_window(1, 0);
  }
  RecordView view(RecordKind kind, EventId id, std::int32_t tid) {
    RecordView made{};
    made.kind = kind;
    made.type = record::is_mark_id(id) ? EventType::kRange : record::event_type(id);
    made.id = id;
    made.tid = tid;
    made.context = 1;
    made.ts_ns = now += 1000;
    return made;
  }
  EventId start(EventType type, EventId parent, std::int32_t tid = 10) {
    const EventId id = record::make_event_id(type, false, 0, ++counter);
    RecordView made = view(RecordKind::kStart, id, tid);
    made.payload.step.parent = parent;
    if (type == EventType::kColl) {
      made.has_extra = true;
      made.payload.coll = {parent,
                           5,
                           100,
                           0,
                           record::known_name(record::read_prefix("AllReduce")),
                           record::known_name(record::read_prefix("ncclFloat32")),
                           record::known_name(record::read_prefix(algo)),
                           0};
      made.extra.channels = 2;
    } else if (type == EventType::kProxyOp) {
      made.payload.proxy_op = {parent, 1, 1, 2, 4096, 0, 0, is_send, {}};
    } else if (type == EventType::kCollApi) {
      made.payload.api = {parent,
                          0xabc,
                          100,
                          0,
                          record::known_name(record::read_prefix("AllReduce")),
                          record::known_name(record::read_prefix("ncclFloat32")),
                          {}};
    }
    assembler.record(made);
    return id;
  }
  /// A mark or a range of the application.
  EventId mark(EventType type, const std::string& text, std::int32_t tid = 10) {
    const EventId id = record::mark_id(record::make_event_id(EventType{}, false, 0, ++counter));
    const std::string source = "train.py:17";
    const std::string both = text + source;
    RecordView made = view(RecordKind::kStart, id, tid);
    made.type = type;
    made.context = 0;
    made.payload.mark = {
        0, static_cast<std::uint16_t>(text.size()), static_cast<std::uint16_t>(source.size()), {}};
    made.text = both;
    assembler.record(made);
    return id;
  }
  EventId push(const std::string& text, std::int32_t tid = 10) {
    return mark(EventType::kRange, text, tid);
  }
  void kernel(EventId parent, std::uint64_t gpu_start, std::uint64_t gpu_stop,
              std::uint8_t channel) {
    const EventId id = record::make_event_id(EventType::kKernelCh, false, 0, ++counter);
    RecordView made = view(RecordKind::kStart, id, 11);
    made.payload.kernel = {parent, gpu_start, channel, 0, {}};
    assembler.record(made);
    state(id, EventState::kKernelChStop, gpu_stop);
    stop(id, 11);
  }
  void state(EventId id, EventState state, std::uint64_t value = 0) {
    RecordView made = view(RecordKind::kState, id, 11);
    made.payload.state = {value, 0, static_cast<std::uint16_t>(state), 0, {}};
    assembler.record(made);
  }
  void stop(EventId id, std::int32_t tid = 10) {
    assembler.record(view(RecordKind::kStop, id, tid));
  }
  /// Ends a step and its proxy operation, and waits until their operation is finished.
  void finish(EventId step, EventId proxy) {
    stop(step, 11);
    stop(proxy, 11);
    settle(kSecond);
  }
  void settle(std::int64_t after) { assembler.settle(now += after); }
};

}  // namespace ringside::test

#endif  // RINGSIDE_TEST_UNIT_PLUGIN_ASSEMBLER_SCRIPT_H
