// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto/kineto_trace.h"

#include <algorithm>
#include <array>
#include <simdjson.h>
#include <string_view>
#include <unordered_map>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/model/saturating.h"

namespace ringside::load {
namespace {

using simdjson::dom::object;

std::optional<std::uint64_t> count_at(const object& arguments, std::string_view key) {
  const auto value = integer_at(arguments, key);
  return value && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

struct Times {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

// The members of an event, and of the arguments of calls, in the order of their keys.
constexpr std::array<std::string_view, 7> kEventKeys = {"ph", "cat", "name", "tid",
                                                        "ts", "dur", "args"};
enum EventMember : std::size_t { kPhase, kCategory, kName, kThread, kStart, kDuration, kArguments };
using Event = Members<kEventKeys>;

constexpr std::array<std::string_view, 3> kCallKeys = {"External id", "correlation",
                                                       "Record function id"};
enum CallMember : std::size_t { kExternalId, kCorrelation, kRecordFunctionId };

// Since the file's base, which may not be known yet.
std::optional<Times> times_of(const Event& event) {
  if (!event.at(kStart) || !event.at(kDuration)) {
    return std::nullopt;
  }
  const auto start_ns = KinetoFile::time_ns(*event.at(kStart));
  const auto duration_ns = KinetoFile::time_ns(*event.at(kDuration));
  Times times;
  if (!start_ns || !duration_ns || __builtin_add_overflow(*start_ns, *duration_ns, &times.end_ns)) {
    return std::nullopt;
  }
  times.start_ns = *start_ns;
  return times;
}

std::optional<model::SyncKind> sync_kind_of(std::string_view name) {
  if (name == "Stream Sync" || name == "Stream Synchronize") return model::SyncKind::kStream;
  if (name == "Context Sync" || name == "Context Synchronize") return model::SyncKind::kContext;
  if (name == "Event Sync" || name == "Event Synchronize") return model::SyncKind::kEvent;
  if (name == "Stream Wait Event") return model::SyncKind::kStreamWaitsEvent;
  return std::nullopt;
}

// Categories whose events say in their arguments what they are of.
bool is_of_gpu(std::string_view category) {
  return category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
         category == "cuda_sync";
}

// Looks at the begin of an event's text, for a member as PyTorch writes it. A quote within a text
// is written with a backslash, so this is no part of one.
std::string_view member_of(std::string_view text, std::string_view key) {
  text = text.substr(0, 256);
  const std::size_t at = text.find(key);
  return at == text.npos ? std::string_view() : text.substr(at + key.size());
}

class Columns {
 public:
  explicit Columns(model::KinetoTrace& trace) : trace_(trace) {}

  void add(const object& members) {
    ++trace_.events;
    const Event event(members);
    if (event.text(kPhase) != "X") {
      trace_.damaged += event.text(kPhase).empty() ? 1 : 0;
      return;
    }
    const std::string_view category = kineto_category(event.text(kCategory));
    object arguments;
    const bool has_arguments =
        event.at(kArguments) &&
        event.at(kArguments)->get_object().get(arguments) == simdjson::SUCCESS;
    if (category == "cpu_op") {
      add_operator(event, has_arguments ? &arguments : nullptr);
    } else if (category == "user_annotation") {
      add_call(event, has_arguments ? &arguments : nullptr, trace_.annotations);
    } else if (category == "python_function") {
      add_call(event, nullptr, trace_.python);
    } else if (category == "cuda_runtime" || category == "cuda_driver") {
      add_call(event, has_arguments ? &arguments : nullptr, trace_.runtime);
    } else if (category.empty()) {
      ++trace_.damaged;  // it might be any of these, or of those below
    } else if (!has_arguments) {
      trace_.damaged += is_of_gpu(category) ? 1 : 0;
    } else if (category == "kernel") {
      add_activity(event, arguments, model::GpuWork::kKernel);
    } else if (category == "gpu_memcpy") {
      add_activity(event, arguments, model::GpuWork::kCopy);
    } else if (category == "gpu_memset") {
      add_activity(event, arguments, model::GpuWork::kSet);
    } else if (category == "cuda_sync") {
      add_sync(event, arguments);
    }
  }

  // PyTorch 2.15 gives all synchronisation device 0, but its context, which is of one device.
  void settle_devices() {
    for (std::size_t i = 0; i < trace_.syncs.size(); ++i) {
      const auto known = devices_.find(sync_contexts_[i]);
      if (known != devices_.end()) {
        trace_.syncs[i].device = known->second;
      }
    }
  }

 private:
  model::NameId name_of(const Event& event) { return trace_.names.id(event.text(kName)); }
  model::NameId name_of(const object& arguments, std::string_view key) {
    return trace_.names.id(text_at(arguments, key));
  }

  // An event without a thread may be any thread's.
  const model::KinetoCall* add_call(const Event& event, const object* arguments,
                                    std::vector<model::KinetoCall>& calls) {
    const auto times = times_of(event);
    const auto thread = event.integer(kThread);
    if (!times || !thread) {
      ++trace_.damaged;
      return nullptr;
    }
    model::KinetoCall& call = calls.emplace_back();
    call.start_ns = times->start_ns;
    call.end_ns = times->end_ns;
    call.thread = *thread;
    call.name = name_of(event);
    if (arguments != nullptr) {
      const Members<kCallKeys> ids(*arguments);
      call.external_id = ids.integer(kExternalId).value_or(model::kNoId);
      call.correlation = ids.integer(kCorrelation).value_or(model::kNoId);
      call.record_function_id = ids.integer(kRecordFunctionId).value_or(model::kNoId);
    }
    return &call;
  }

  void add_operator(const Event& event, const object* arguments) {
    const model::KinetoCall* const call = add_call(event, arguments, trace_.operators);
    if (call == nullptr || arguments == nullptr || event.text(kName) != "record_param_comms") {
      return;
    }
    model::KinetoComm& comm = trace_.comms.emplace_back();
    comm.start_ns = call->start_ns;
    comm.end_ns = call->end_ns;
    comm.external_id = call->external_id;
    comm.thread = call->thread;
    comm.collective = name_of(*arguments, "Collective name");
    comm.group = name_of(*arguments, "Process Group Name");
    comm.description = name_of(*arguments, "Process Group Description");
    comm.ranks = name_of(*arguments, "Process Group Ranks");
    comm.dtype = name_of(*arguments, "dtype");
    comm.inputs = count_at(*arguments, "In msg nelems");
    comm.outputs = count_at(*arguments, "Out msg nelems");
    comm.seq = count_at(*arguments, "Seq");
    comm.group_size = count_at(*arguments, "Group size");
    comm.rank = count_at(*arguments, "Rank");
    // The "Rank" of a send or receive is its peer; newer releases of PyTorch say it there only.
    const auto peer_at = [&](const char* key, std::string_view of_call) {
      const auto peer = integer_at(*arguments, key);
      return !peer && trace_.names.text(comm.collective) == of_call ? integer_at(*arguments, "Rank")
                                                                    : peer;
    };
    comm.source = peer_at("Src Rank", "recv");
    comm.destination = peer_at("Dst Rank", "send");
  }

  void add_activity(const Event& event, const object& arguments, model::GpuWork kind) {
    const auto times = times_of(event);
    const auto stream = integer_at(arguments, "stream");
    if (!times || !stream) {
      ++trace_.damaged;
      return;
    }
    model::GpuActivity& made = trace_.activities.emplace_back();
    made.start_ns = times->start_ns;
    made.end_ns = times->end_ns;
    made.external_id = integer_at(arguments, "External id").value_or(model::kNoId);
    made.correlation = integer_at(arguments, "correlation").value_or(model::kNoId);
    made.device = integer_at(arguments, "device").value_or(0);
    made.stream = *stream;
    made.name = name_of(event);
    made.kind = kind;
    if (const auto context = integer_at(arguments, "context")) {
      devices_.try_emplace(*context, made.device);
    }
  }

  void add_sync(const Event& event, const object& arguments) {
    const auto kind = sync_kind_of(event.text(kName));
    const auto correlation = integer_at(arguments, "correlation");
    if (!kind || !correlation) {
      ++trace_.damaged;
      return;
    }
    model::CudaSync& sync = trace_.syncs.emplace_back();
    sync.kind = *kind;
    sync.correlation = *correlation;
    sync.device = integer_at(arguments, "device").value_or(0);
    sync_contexts_.push_back(integer_at(arguments, "context").value_or(model::kNoId));
    sync.stream = integer_at(arguments, "stream").value_or(model::kNoId);
    sync.event_stream = integer_at(arguments, "wait_on_stream").value_or(model::kNoId);
    sync.event_record =
        integer_at(arguments, "wait_on_cuda_event_record_corr_id").value_or(model::kNoId);
  }

  model::KinetoTrace& trace_;
  std::unordered_map<std::int64_t, std::int64_t> devices_;  // that work of a context ran on
  std::vector<std::int64_t> sync_contexts_;
};

// Puts what has times onto the epoch, and into order.
template <typename Rows>
void settle(Rows& rows, std::int64_t base_ns) {
  for (auto& row : rows) {
    row.start_ns = add_saturating(row.start_ns, base_ns);
    row.end_ns = add_saturating(row.end_ns, base_ns);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return one.start_ns < other.start_ns;
  });
}

}  // namespace

std::optional<std::string> read_kineto_trace(const std::string& path, model::KinetoTrace& trace,
                                             bool wants_python) {
  KinetoFile file;
  Columns columns(trace);
  trace.path = path;
  const auto take = [&](std::size_t, const object& event) { columns.add(event); };
  const auto is_wanted = [&](std::string_view text) {
    const std::string_view phase = member_of(text, R"("ph": ")");
    return !phase.starts_with("s\"") && !phase.starts_with("f\"") &&
           (wants_python || !member_of(text, R"("cat": ")").starts_with("python_function\""));
  };
  if (auto error = file.read(path, take, is_wanted)) {
    return error;
  }
  trace.cut = file.cut();
  trace.rank = file.rank();
  trace.pid = file.pid();
  trace.groups = file.groups();
  trace.host = file.host();
  trace.nccl_version = file.nccl_version();
  trace.damaged += file.damaged();
  columns.settle_devices();
  settle(trace.operators, file.base_ns());
  settle(trace.annotations, file.base_ns());
  if (!wants_python) {
    trace.python.clear();  // of a file that is written without spaces
  }
  settle(trace.python, file.base_ns());
  settle(trace.runtime, file.base_ns());
  settle(trace.activities, file.base_ns());
  settle(trace.comms, file.base_ns());
  return std::nullopt;
}

}  // namespace ringside::load
