// SPDX-License-Identifier: Apache-2.0
#include "plugin/nvtx/markers.h"

#ifdef RINGSIDE_HAS_NVTX

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <type_traits>

#include "plugin/assemble/event_names.h"
#include "plugin/nvtx/payload.h"
#include "plugin/nvtx/range_table.h"
#include "plugin/record/encode.h"
#include "plugin/record/recorder.h"

namespace ringside::nvtx {
namespace {

using record::EventType;

constexpr std::size_t kCommunicators = 1U << 16;

/// All that the hooks need. It is made once and never freed.
struct Markers {
  nvtxDomainHandle_t domain = nullptr;
  std::uint64_t schema = 0;  ///< 0: the tool does not support payloads
  Scope scope = Scope::kAll;
  RangePayload unknown{};  ///< for events whose communicator is not known
  RangeTable open;
  std::array<std::atomic<const RangePayload*>, kCommunicators> communicators{};  // by context
  std::atomic<std::uint64_t> without_room{0};
};
std::atomic<Markers*> g_markers{nullptr};

// Categories are numbers from 1.
std::uint32_t category_of(EventType type) {
  return static_cast<std::uint32_t>(type) + 1;
}

/// The name of a range: "AllReduce" for the operation, "ncclAllReduce" for the call.
using Title = std::array<char, sizeof "nccl" + sizeof RangePayload::func>;
Title title_of(EventType type, const RangePayload& payload) noexcept {
  Title title{};
  std::size_t size = 0;
  const auto add = [&](const char* text, std::size_t most) {
    const std::size_t length = strnlen(text, most);
    std::memcpy(title.data() + size, text, length);
    size += length;
  };
  if (type == EventType::kGroupApi) {
    add("ncclGroup", title.size());
  } else if (type == EventType::kGroup) {
    add("group", title.size());
  } else {
    add(record::is_call(type) ? "nccl" : "", title.size());
    add(payload.func.data(), payload.func.size());
  }
  return title;
}

std::uint64_t begin(const Markers& markers, EventType type, const RangePayload& payload) noexcept {
  const Title title = title_of(type, payload);
  nvtxPayloadData_t data{};
  data.schemaId = markers.schema;
  data.size = sizeof payload;
  data.payload = &payload;
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category_of(type);
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = title.data();
  if (markers.schema != 0) {
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;  // the number of payloads
    event.payload.ullValue = reinterpret_cast<std::uint64_t>(&data);
  } else if (payload.message_bytes >= 0) {
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = payload.message_bytes;
  }
  return nvtxDomainRangeStartEx(markers.domain, &event);
}

void start(record::EventId id, const record::EventStart& event) noexcept {
  Markers& markers = *g_markers.load(std::memory_order_relaxed);
  const std::uint32_t context = record::g_recorder.context_number(event.context);
  const RangePayload* const communicator =
      context < kCommunicators ? markers.communicators[context].load(std::memory_order_acquire)
                               : nullptr;
  RangePayload payload = communicator != nullptr ? *communicator : markers.unknown;
  payload.context = context;
  add_event(id, event, payload);
  if (markers.scope == Scope::kCrossNode &&
      !may_cross_nodes(payload.nnodes, payload.rank, payload.peer)) {
    return;
  }
  if (!markers.open.put(id, [&] { return begin(markers, event.type, payload); })) {
    markers.without_room.fetch_add(1, std::memory_order_relaxed);
  }
}

void stop(record::EventId id) noexcept {
  Markers& markers = *g_markers.load(std::memory_order_relaxed);
  if (const auto range = markers.open.take(id)) {
    nvtxDomainRangeEnd(markers.domain, *range);
  }
}

constexpr record::RangeHooks kHooks = {start, stop};

template <typename Field>
nvtxPayloadSchemaEntry_t entry_of(const char* name, std::size_t offset) {
  nvtxPayloadSchemaEntry_t made{};
  made.type = std::is_same_v<Field, std::int32_t>    ? NVTX_PAYLOAD_ENTRY_TYPE_INT32
              : std::is_same_v<Field, std::int64_t>  ? NVTX_PAYLOAD_ENTRY_TYPE_INT64
              : std::is_same_v<Field, std::uint32_t> ? NVTX_PAYLOAD_ENTRY_TYPE_UINT32
              : std::is_same_v<Field, std::uint64_t> ? NVTX_PAYLOAD_ENTRY_TYPE_UINT64
                                                     : NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
  made.name = name;
  made.offset = offset;
  made.arrayOrUnionDetail = std::is_integral_v<Field> ? 0 : sizeof(Field);
  return made;
}

std::uint64_t register_schema(nvtxDomainHandle_t domain) {
#define RINGSIDE_FIELD(name) \
  entry_of<decltype(RangePayload::name)>(#name, offsetof(RangePayload, name))
  // The entries are static, since NVTX does not promise that a tool copies them.
  static const std::array entries = {
      RINGSIDE_FIELD(id),         RINGSIDE_FIELD(comm),   RINGSIDE_FIELD(message_bytes),
      RINGSIDE_FIELD(count),      RINGSIDE_FIELD(seq),    RINGSIDE_FIELD(rank),
      RINGSIDE_FIELD(nranks),     RINGSIDE_FIELD(nnodes), RINGSIDE_FIELD(peer),
      RINGSIDE_FIELD(root),       RINGSIDE_FIELD(device), RINGSIDE_FIELD(context),
      RINGSIDE_FIELD(type),       RINGSIDE_FIELD(func),   RINGSIDE_FIELD(datatype),
      RINGSIDE_FIELD(algo),       RINGSIDE_FIELD(proto),  RINGSIDE_FIELD(comm_name),
      RINGSIDE_FIELD(gpu_serial), RINGSIDE_FIELD(vm_id)};
#undef RINGSIDE_FIELD
  nvtxPayloadSchemaAttr_t schema{};
  // These bits stand for name, type, entries, number of entries and size. Headers up to NVTX 3.1
  // have other names for them.
  schema.fieldMask = 1U << 1 | 1U << 2 | 1U << 4 | 1U << 5 | 1U << 6;
  schema.name = "Ringside";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries.data();
  schema.numEntries = entries.size();
  schema.payloadStaticSize = sizeof(RangePayload);
  return nvtxPayloadSchemaRegister(domain, &schema);
}

}  // namespace

std::string_view install(Scope scope, std::string_view gpu_serial,
                         std::string_view vm_id) noexcept {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("Ringside");
  if (domain == nullptr) {
    return "no tool that takes NVTX is attached";
  }
  auto* const markers = new (std::nothrow) Markers;
  if (markers == nullptr) {
    return "no memory for the table of ranges";
  }
  markers->domain = domain;
  markers->schema = register_schema(domain);
  markers->scope = scope;
  markers->unknown = make_payload(gpu_serial, vm_id);
  for (int number = 0; number < record::kEventTypes; ++number) {
    if (const auto type = static_cast<EventType>(number); record::can_have_range(type)) {
      nvtxDomainNameCategoryA(domain, category_of(type), assemble::type_name(type).data());
    }
  }
  g_markers.store(markers, std::memory_order_release);
  record::g_recorder.set_range_hooks(&kHooks);
  return {};
}

void add_communicator(const assemble::Communicator& communicator) noexcept {
  Markers* const markers = g_markers.load(std::memory_order_acquire);
  if (markers == nullptr || communicator.context >= kCommunicators) {
    return;
  }
  auto* const payload = new (std::nothrow) RangePayload(markers->unknown);
  if (payload == nullptr) {
    return;
  }
  add_communicator(communicator, *payload);
  markers->communicators[communicator.context].store(payload, std::memory_order_release);
}

std::uint64_t ranges_without_room() noexcept {
  const Markers* const markers = g_markers.load(std::memory_order_acquire);
  return markers != nullptr ? markers->without_room.load(std::memory_order_relaxed) : 0;
}

}  // namespace ringside::nvtx

#else

namespace ringside::nvtx {

std::string_view install(Scope, std::string_view, std::string_view) noexcept {
  return "this build of Ringside has no NVTX";
}
void add_communicator(const assemble::Communicator&) noexcept {}
std::uint64_t ranges_without_room() noexcept {
  return 0;
}

}  // namespace ringside::nvtx

#endif
