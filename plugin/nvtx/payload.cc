// SPDX-License-Identifier: Apache-2.0
#include "plugin/nvtx/payload.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "plugin/assemble/event_names.h"
#include "plugin/assemble/message_bytes.h"
#include "plugin/record/encode.h"

namespace ringside::nvtx {
namespace {

using record::EventType;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

template <std::size_t kSize>
void put(std::string_view text, std::array<char, kSize>& to) noexcept {
  const std::size_t size = std::min(text.size(), kSize - 1);
  std::fill(std::copy_n(text.begin(), size, to.begin()), to.end(), '\0');
}

// Copies a text of NCCL's, and returns the part of it that was copied.
template <std::size_t kSize>
std::string_view put(const char* text, std::array<char, kSize>& to) noexcept {
  const std::string_view kept =
      text != nullptr ? std::string_view(text, strnlen(text, kSize - 1)) : std::string_view();
  put(kept, to);
  return kept;
}

std::int64_t known(std::uint64_t number) noexcept {
  return number <= static_cast<std::uint64_t>(kMost) ? static_cast<std::int64_t>(number) : -1;
}

void add_message(std::uint64_t count, std::string_view datatype, RangePayload& payload) noexcept {
  payload.count = known(count);
  const auto bytes = assemble::message_bytes(count, datatype);
  payload.message_bytes = bytes ? known(*bytes) : -1;
}

void add_operation(EventType type, const record::CollStart& coll, RangePayload& payload) noexcept {
  const std::string_view func = put(coll.func, payload.func);
  const std::string_view datatype = put(coll.datatype, payload.datatype);
  add_message(coll.count, datatype, payload);
  put(coll.algo, payload.algo);
  put(coll.proto, payload.proto);
  if (type == EventType::kP2p) {
    payload.peer = coll.root_or_peer;
  } else {
    payload.seq = known(coll.seq);
    if (func == "Broadcast" || func == "Reduce" ||
        (type == EventType::kCeColl && (func == "Gather" || func == "Scatter"))) {
      payload.root = coll.root_or_peer;
    }
  }
  if (type == EventType::kColl && assemble::count_is_in_bytes(func)) {
    put(std::string_view("bytes"), payload.datatype);
  }
  // Versions 1 to 3 identify the communicator in each event instead of in init.
  if (payload.comm == 0) {
    payload.comm = coll.comm_hash;
  }
  if (coll.variant_is_comm_name) {
    put(coll.variant, payload.comm_name);
  }
}

}  // namespace

RangePayload make_payload(std::string_view gpu_serial, std::string_view vm_id) noexcept {
  RangePayload payload{};
  payload.message_bytes = payload.count = payload.seq = -1;
  payload.rank = payload.nranks = payload.nnodes = payload.peer = payload.root = payload.device =
      -1;
  put(gpu_serial, payload.gpu_serial);
  put(vm_id, payload.vm_id);
  return payload;
}

void add_communicator(const assemble::Communicator& communicator, RangePayload& payload) noexcept {
  payload.context = communicator.context;
  payload.comm = communicator.has_hash ? communicator.hash : 0;
  payload.rank = communicator.rank_known ? communicator.rank : -1;
  payload.nranks = communicator.has_size ? communicator.nranks : -1;
  payload.nnodes = communicator.has_size ? communicator.nnodes : -1;
  payload.device = communicator.gpu_index;
  put(std::string_view(communicator.name), payload.comm_name);
  if (payload.gpu_serial[0] == '\0') {
    put(std::string_view(communicator.gpu_uuid), payload.gpu_serial);
  }
}

void add_event(record::EventId id, const record::EventStart& event,
               RangePayload& payload) noexcept {
  payload.id = assemble::row_id(id);
  put(assemble::type_name(event.type), payload.type);
  if (record::is_coll_like(event.type)) {
    payload.rank = event.rank;
    add_operation(event.type, event.coll, payload);
  } else if (record::is_call(event.type)) {
    const std::string_view func = put(event.api.func, payload.func);
    add_message(event.api.count, put(event.api.datatype, payload.datatype), payload);
    if (func == "Broadcast" || func == "Reduce") {
      payload.root = event.api.root_or_depth;
    }
  }
}

}  // namespace ringside::nvtx
