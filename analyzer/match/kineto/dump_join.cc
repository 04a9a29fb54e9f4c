// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/dump_join.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "analyzer/match/calls/torch_calls.h"
#include "analyzer/match/communicators/communicators.h"
#include "analyzer/match/communicators/recorded_from_start.h"
#include "analyzer/match/group_calls.h"

namespace ringside::match {
namespace {

// An entry and its calls follow each other by a few microseconds, and the clocks of both are read
// in different ways.
constexpr std::int64_t kSlack_ns = 20'000;
// The least by which a call surely follows its entry, and no earlier one.
constexpr std::int64_t kSurely_ns = 2'000;

bool is_dump(const model::TraceFile& file) {
  return !file.process.tells_begin;
}

// A dump has the group's name and its ranks in place of a hash: "3 [0, 1]".
std::string_view group_of_dump(const model::Context& context) {
  const std::string_view text = context.comm ? std::string_view(*context.comm) : "";
  return text.substr(0, text.rfind(" ["));
}

struct DumpedCall {
  std::size_t index = 0;  // of the dump's operations
  TorchCall call;
  std::int64_t created_ns = 0;  // since the epoch, as all times here
  bool is_p2p = false;
};

// Goes through the entries of a group, and the calls, both in their order.
class GroupJoin {
 public:
  /// `is_whole`: the first entry is that of the first call.
  GroupJoin(std::span<const DumpedCall> entries, const GroupCalls& calls, bool is_whole)
      : entries_(entries), calls_(calls), is_in_step_(is_whole) {}

  /// Calls found(entry, index of the trace's operation) for each operation.
  template <typename Found>
  void join(const Found& found) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::size_t count = calls_of(i);
      for (std::size_t k = 0; k < count; ++k) {
        found(entries_[i], calls_.index[next_ + k]);
      }
      next_ += count;
      is_in_step_ = count > 0;
    }
  }

 private:
  // How many calls, from next_ on, are those of this entry for certain.
  std::size_t calls_of(std::size_t i) {
    const DumpedCall& entry = entries_[i];
    const auto called_ns = [&] { return calls_.called_ns[next_]; };
    // Only the order says where a group begins whose calls are not listed.
    const bool is_behind = is_behind_its_calls(entry.call.name);
    const std::size_t before = next_;
    while (!is_behind && next_ < calls_.calls.size() &&
           called_ns() < entry.created_ns - kSlack_ns) {
      ++next_;
    }
    // A call that was passed by has no entry. Then its order does not tell the next one, and the
    // clock must.
    const bool is_in_step = is_in_step_ && before == next_;
    if (next_ == calls_.calls.size() ||
        (!is_in_step && (is_behind || called_ns() < entry.created_ns + kSurely_ns))) {
      return 0;
    }
    const std::size_t count =
        calls_made(entry.call, std::span<const NcclCall>(calls_.calls).subspan(next_));
    const std::int64_t until_ns = is_behind ? entry.created_ns : end_of(i);
    return count > 0 && calls_.called_ns[next_ + count - 1] <= until_ns + kSlack_ns ? count : 0;
  }

  // The entries of sends and receives that are made together precede all of their calls.
  std::int64_t end_of(std::size_t i) const {
    for (std::size_t k = i + 1; k < entries_.size(); ++k) {
      if (!(entries_[i].is_p2p && entries_[k].is_p2p) &&
          !is_behind_its_calls(entries_[k].call.name)) {
        return entries_[k].created_ns;
      }
    }
    return std::numeric_limits<std::int64_t>::max() - kSlack_ns;
  }

  std::span<const DumpedCall> entries_;
  const GroupCalls& calls_;
  std::size_t next_ = 0;
  bool is_in_step_;
};

class DumpJoin {
 public:
  explicit DumpJoin(model::Traces& traces) : traces_(traces) {}

  JoinedDumps join() {
    take_out_dumps();
    const std::size_t others = std::erase_if(joined_.dumps.files, [&](const auto& dump) {
      return std::none_of(traces_.files.begin(), traces_.files.end(),
                          [&](const auto& trace) { return overlap(dump, trace); });
    });
    for (const model::TraceFile& dump : joined_.dumps.files) {
      for (model::TraceFile& trace : traces_.files) {
        if (dump.process.launcher_rank == trace.process.launcher_rank && overlap(dump, trace)) {
          join_file(dump, trace);
        }
      }
    }
    add_notes(others);
    return std::move(joined_);
  }

 private:
  void take_out_dumps() {
    std::vector<model::NameId> ids;
    for (model::NameId id = 0; id < traces_.names.size(); ++id) {
      ids.push_back(joined_.dumps.names.id(traces_.names.text(id)));
    }
    const auto first = std::stable_partition(traces_.files.begin(), traces_.files.end(),
                                             [](const auto& file) { return !is_dump(file); });
    for (auto file = first; file != traces_.files.end(); ++file) {
      model::Operations operations;
      operations.append(std::move(file->operations), ids);
      file->operations = std::move(operations);
      joined_.dumps.files.push_back(std::move(*file));
    }
    traces_.files.erase(first, traces_.files.end());
  }

  // A rank may have been started again, and have a dump of its other life.
  static bool overlap(const model::TraceFile& dump, const model::TraceFile& trace) {
    const auto extent = trace.operations.extent_ns();
    if (!extent) {
      return false;
    }
    const std::int64_t end_ns = std::max(trace.last_ns.value_or(extent->second), extent->second);
    return since_epoch(dump.process, dump.process.start_ns) <= since_epoch(trace.process, end_ns) &&
           since_epoch(dump.process, dump.last_ns.value_or(0)) >=
               since_epoch(trace.process, extent->first);
  }

  void join_file(const model::TraceFile& dump, model::TraceFile& trace) {
    std::map<std::uint32_t, std::vector<DumpedCall>> entries = entries_of(dump);
    std::vector<std::pair<std::size_t, std::size_t>> found;  // of the trace, and of the dump
    for (const auto& [number, group] : dump.contexts) {
      std::set<std::uint32_t> contexts;
      bool is_whole = dump.account.rotated == 0 && dump.bad_lines == 0;
      for (const auto& [context_number, context] : trace.contexts) {
        // Pairs of ranks have communicators of their own, with the name of the group's.
        if (!context.name.empty() && context.nranks <= group.nranks &&
            group_of_communicator(context.name) == group_of_dump(group)) {
          contexts.insert(context_number);
          is_whole = is_whole && is_recorded_from_start(trace, context_number);
        }
      }
      const GroupCalls calls = group_calls(traces_.names, trace, contexts);
      for (const std::size_t operation : calls.index) {
        joined_calls_[trace.path].try_emplace(operation, false);
      }
      if (has_all_calls(trace)) {
        GroupJoin(entries[number], calls, is_whole && trace.windows.size() == 1)
            .join([&](const DumpedCall& entry, std::size_t operation) {
              found.emplace_back(operation, entry.index);
            });
      }
    }
    for (const auto& [operation, entry] : found) {
      joined_calls_[trace.path][operation] = true;
      fill(dump, entry, operation, trace);
    }
  }

  void fill(const model::TraceFile& dump, std::size_t entry, std::size_t index,
            model::TraceFile& trace) {
    model::Operation operation = trace.operations[index];
    const model::Operation call = dump.operations[entry];
    // The ranges of annotate() say which module called, and are as certain.
    if (operation.called_by == model::kNoName) {
      operation.called_by = traces_.names.id(joined_.dumps.names.text(call.called_by));
    }
    if (operation.process_group == model::kNoName) {
      operation.process_group = traces_.names.id(dump.contexts.at(call.context).name);
    }
    if (!operation.torch_seq) {
      operation.torch_seq = dump.tensors[entry].seq;
    }
    trace.operations.set(index, operation);
  }

  std::map<std::uint32_t, std::vector<DumpedCall>> entries_of(const model::TraceFile& dump) const {
    std::map<std::uint32_t, std::vector<DumpedCall>> entries;
    std::size_t at = 0;
    for (std::size_t i = 0; i < dump.operations.size(); ++i) {
      const model::Operation operation = dump.operations[i];
      const model::CallTensors& tensors = dump.tensors[i];
      const std::span<const std::uint64_t> sizes(dump.tensor_bytes);
      DumpedCall& entry = entries[operation.context].emplace_back();
      entry.index = i;
      entry.call = {joined_.dumps.names.text(operation.func), sizes.subspan(at, tensors.inputs),
                    sizes.subspan(at + tensors.inputs, tensors.outputs)};
      entry.created_ns = since_epoch(dump.process, operation.enqueue_start_ns.value_or(0));
      entry.is_p2p = operation.kind == model::Kind::kPointToPoint;
      at += tensors.inputs + tensors.outputs;
    }
    return entries;
  }

  void add_notes(std::size_t others) {
    if (others > 0) {
      joined_.notes.push_back(
          "Dumps of PyTorch's Flight Recorder that are of another time than all "
          "traces are not used: " +
          std::to_string(others) + '.');
    }
    std::size_t seen = 0;
    std::size_t joined = 0;
    for (const auto& [path, calls] : joined_calls_) {
      seen += calls.size();
      joined += static_cast<std::size_t>(
          std::count_if(calls.begin(), calls.end(), [](const auto& call) { return call.second; }));
    }
    if (joined < seen) {
      joined_.notes.push_back("Dumps of PyTorch's Flight Recorder are with the traces: of " +
                              std::to_string(seen) + " operations of ranks that have one, " +
                              std::to_string(seen - joined) +
                              " could not be joined for certain with an entry of it, and are "
                              "without the line that called.");
    }
  }

  model::Traces& traces_;
  JoinedDumps joined_;
  // By path and index of the operation: whether it was joined.
  std::map<std::string, std::map<std::size_t, bool>> joined_calls_;
};

}  // namespace

JoinedDumps join_dumps(model::Traces& traces) {
  const bool has_dumps = std::any_of(traces.files.begin(), traces.files.end(), is_dump);
  const bool has_traces =
      std::any_of(traces.files.begin(), traces.files.end(), [](const model::TraceFile& file) {
        return file.process.tells_begin && file.process.tells_start;
      });
  return has_dumps && has_traces ? DumpJoin(traces).join() : JoinedDumps();
}

}  // namespace ringside::match
