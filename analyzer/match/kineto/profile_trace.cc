// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/profile_trace.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "analyzer/match/kineto/kineto_calls.h"
#include "analyzer/model/kineto/nccl_kernel.h"
#include "analyzer/model/kineto/torch_dtype.h"
#include "analyzer/model/numbers_in.h"
#include "analyzer/model/profiled_run.h"
#include "analyzer/model/saturating.h"
#include "analyzer/model/unknown_host.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// The host in HOST_PID.TIME.pt.trace.json; empty if the file is named otherwise.
std::string_view host_of(std::string_view path, std::optional<std::int64_t> pid) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t ending = name.find(".pt.trace.json");
  const std::string mark = '_' + std::to_string(pid.value_or(-1)) + '.';
  const std::size_t at = name.substr(0, ending).rfind(mark);
  return pid && ending != name.npos && at != name.npos ? name.substr(0, at) : std::string_view();
}

// The ranks of "[0, 1]"; nothing if the list is empty or was cut off ("[0, 1, ..., 9]").
std::optional<std::vector<std::int64_t>> ranks_listed(std::string_view text) {
  const std::vector<std::uint32_t> ranks = model::numbers_in(text);
  return ranks.empty() || text.find('.') != text.npos
             ? std::nullopt
             : std::optional(std::vector<std::int64_t>(ranks.begin(), ranks.end()));
}

// "deep_ep::combine" of "void deep_ep::combine<8>(int*)".
std::string_view function_name(std::string_view kernel) {
  const std::string_view name = kernel.substr(0, kernel.find_first_of("<("));
  return name.substr(name.rfind(' ') + 1);
}

// "0-7", or each of them.
std::string list_text(const std::vector<std::int64_t>& ranks) {
  if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == std::ssize(ranks) &&
      std::is_sorted(ranks.begin(), ranks.end())) {
    return '[' + std::to_string(ranks.front()) + '-' + std::to_string(ranks.back()) + ']';
  }
  std::string text = "[";
  for (const std::int64_t rank : ranks) {
    text.append(text.size() > 1 ? ", " : "").append(std::to_string(rank));
  }
  return text + ']';
}

class ProfileTrace {
 public:
  ProfileTrace(const model::KinetoTrace& trace, model::Traces& traces)
      : trace_(trace), names_(traces.names), file_(traces.files.emplace_back()) {}

  std::vector<FramedOperation> add_calls() {
    fill_process();
    find_launches();
    for (std::size_t i = 0; i < trace_.comms.size(); ++i) {
      const std::string_view name = trace_.names.text(trace_.comms[i].collective);
      if (trace_.comms[i].group_size == 1) {  // nobody to communicate with
        calls_of_one_.insert(trace_.comms[i].external_id);
      } else if (!name.empty() && !makes_no_call(name)) {
        add_call(i, name);
      }
    }
    calls_of_one_.erase(model::kNoId);
    return std::move(framed_);
  }

  /// Adds the kernels of communication that are joined with no call.
  void add_kernels(const std::vector<std::size_t>& joined) {
    for (std::size_t i = 0; i < trace_.activities.size(); ++i) {
      const model::GpuActivity& activity = trace_.activities[i];
      const std::string_view name = trace_.names.text(activity.name);
      if (std::binary_search(joined.begin(), joined.end(), i) ||
          calls_of_one_.contains(activity.external_id)) {
        continue;
      }
      if (is_of_nccl(activity)) {
        add_kernel(activity, "stream " + std::to_string(activity.stream), "",
                   model::nccl_function_of_kernel(name));
      } else if (const auto* const other = library_of(activity)) {
        add_kernel(activity, std::string(other->library), other->library,
                   other->function.empty() ? function_name(name) : other->function);
      }
    }
    file_.operations_written = file_.operations.size();
  }

 private:
  void fill_process() {
    const ProfiledTime time = profiled_time(trace_).value_or(ProfiledTime());
    model::Process& process = file_.process;
    process.base_time_s = time.first_ns / kNsPerSecond;
    process.start_ns = time.first_ns % kNsPerSecond;
    process.launcher_rank = trace_.rank;
    process.pid = trace_.pid.value_or(0);
    process.job = "unknown";
    process.run_id =
        std::string(model::kProfiledRun) + whose() + ", at " + std::to_string(time.first_ns);
    std::error_code error;
    const auto size = std::filesystem::file_size(trace_.path, error);
    file_.size_bytes = error ? 0 : size;
    process.nccl_version = trace_.nccl_version;
    const std::string_view host =
        trace_.host.empty() ? host_of(trace_.path, trace_.pid) : trace_.host;
    process.host = host.empty() ? std::string_view(model::kUnknownHost) : host;
    process.boot_id = host.empty() ? process.run_id : "";  // its clock may be any host's
    file_.path = trace_.path;
    file_.last_ns = when(time.last_ns);
    file_.windows[2] = {process.start_ns, file_.last_ns};
    file_.closed = trace_.cut.empty();
  }

  std::string whose() const {
    return trace_.rank ? "rank " + std::to_string(*trace_.rank)
                       : trace_.path.substr(trace_.path.rfind('/') + 1);
  }

  std::int64_t when(std::int64_t epoch_ns) const {
    return subtract_saturating(epoch_ns, file_.process.base_time_s * kNsPerSecond);
  }

  bool is_of_nccl(const model::GpuActivity& activity) const {
    return activity.kind == model::GpuWork::kKernel &&
           !model::nccl_function_of_kernel(trace_.names.text(activity.name)).empty();
  }

  // Nothing if it is a kernel of NCCL, or of no library that communicates.
  const model::OtherKernel* library_of(const model::GpuActivity& activity) const {
    return activity.kind == model::GpuWork::kKernel && !is_of_nccl(activity)
               ? model::other_kernel(trace_.names.text(activity.name))
               : nullptr;
  }

  void find_launches() {
    begin_ns_ = file_.process.start_ns;
    for (const model::KinetoCall& range : trace_.annotations) {
      begin_ns_ = std::min(begin_ns_, when(range.start_ns));
    }
    std::map<std::int64_t, bool> wanted;  // whether it is of NCCL, by correlation
    for (const model::GpuActivity& activity : trace_.activities) {
      if (is_of_nccl(activity) || library_of(activity) != nullptr) {
        wanted[activity.correlation] = is_of_nccl(activity);
      }
    }
    for (const model::KinetoCall& call : trace_.runtime) {
      has_launches_ = has_launches_ || call.correlation != model::kNoId;
      const auto kernel = wanted.find(call.correlation);
      if (call.correlation == model::kNoId || kernel == wanted.end()) {
        continue;
      }
      launched_ns_.emplace(call.correlation, call.start_ns);
      if (kernel->second) {
        launches_[call.thread].push_back(call.start_ns);
      }
    }
  }

  // Where launches were recorded, a kernel without one was launched before the profile began.
  std::optional<std::int64_t> launch_of(const model::GpuActivity& activity) const {
    const auto launched = launched_ns_.find(activity.correlation);
    return !has_launches_                   ? std::nullopt
           : launched == launched_ns_.end() ? std::optional(subtract_saturating(begin_ns_, 1))
                                            : std::optional(when(launched->second));
  }

  bool is_launched_between(std::int64_t thread, std::int64_t from_ns, std::int64_t to_ns) const {
    const auto own = launches_.find(thread);
    if (own == launches_.end()) {
      return true;
    }
    const auto next = std::lower_bound(own->second.begin(), own->second.end(), from_ns);
    return next != own->second.end() && *next < to_ns;
  }

  std::uint32_t context_of(const model::KinetoComm& comm) {
    const std::string_view name = trace_.names.text(comm.group);
    const auto [found, is_new] = contexts_.try_emplace(
        {std::string(name), comm.ranks}, static_cast<std::uint32_t>(file_.contexts.size() + 1));
    if (!is_new) {
      return found->second;
    }
    // A name may be given again to other ranks.
    auto ranks = ranks_listed(trace_.names.text(comm.ranks));
    const auto listed =
        std::find_if(trace_.groups.begin(), trace_.groups.end(), [&](const auto& group) {
          return group.name == name && (!ranks || group.ranks.empty() || group.ranks == *ranks);
        });
    if (!ranks && listed != trace_.groups.end() && !listed->ranks.empty()) {
      ranks = listed->ranks;
    } else if (!ranks && name == "0") {  // the default group has all ranks
      ranks.emplace(comm.group_size.value_or(0));
      std::iota(ranks->begin(), ranks->end(), 0);
    }
    model::Context& context = file_.contexts[found->second];
    context.created_ns = file_.process.start_ns;
    context.name = name;
    std::string description(trace_.names.text(comm.description));
    if (description.empty() && listed != trace_.groups.end()) {
      description = listed->description;
    }
    if (!description.empty() && description != "undefined") {
      context.name.insert(0, description + ':');
    }
    if (comm.group_size) {
      context.nranks = static_cast<std::uint32_t>(*comm.group_size);
    }
    const auto own = ranks && trace_.rank ? std::find(ranks->begin(), ranks->end(), *trace_.rank)
                                          : std::vector<std::int64_t>::iterator();
    if (!ranks || !trace_.rank || own == ranks->end()) {
      context.comm = std::string(name) + " of " + whose();
      context.why_alone = trace_.rank ? "profiled calls do not say which ranks their group has"
                                      : "a profile does not say which rank it is of";
      return found->second;
    }
    context.comm = std::string(name) + ' ' + list_text(*ranks);
    context.rank = static_cast<std::uint32_t>(own - ranks->begin());
    context.nranks = static_cast<std::uint32_t>(ranks->size());
    ranks_[found->second] = std::move(*ranks);
    return found->second;
  }

  // The elements of the message as NCCL counts it. Lists of tensors may stand on either side.
  static std::optional<std::uint64_t> count_of(const model::KinetoComm& comm, std::string_view func,
                                               std::optional<std::uint32_t> ranks) {
    if (!comm.inputs || !comm.outputs) {
      return std::nullopt;
    }
    const std::uint64_t less = std::min(*comm.inputs, *comm.outputs);
    const std::uint64_t count = func == "AllGather" || func == "ReduceScatter" ? less
                                : func == "Scatter" || func == "Recv"          ? *comm.outputs
                                : func == "AlltoAll"
                                    ? *comm.inputs / std::max(ranks.value_or(1), 1U)
                                    : *comm.inputs;
    return count > 0 ? std::optional(count) : std::nullopt;
  }

  // Returns what the rank gives in an exchange, less what it takes. The sum over all ranks is 0.
  static std::optional<std::int64_t> surplus_of(const model::KinetoComm& comm) {
    std::int64_t surplus = 0;
    return comm.inputs && comm.outputs &&
                   !__builtin_sub_overflow(*comm.inputs, *comm.outputs, &surplus)
               ? std::optional(surplus)
               : std::nullopt;
  }

  void add_call(std::size_t index, std::string_view name) {
    const model::KinetoComm& comm = trace_.comms[index];
    const std::string_view func = nccl_function(name);
    model::Operation operation;
    operation.id = file_.operations.size() + 1;
    operation.context = context_of(comm);
    operation.kind = is_numbered(name) ? model::Kind::kCollective : model::Kind::kPointToPoint;
    operation.func = names_.id(func);
    operation.datatype = names_.id(trace_.names.text(comm.dtype));
    operation.state = model::State::kCompleted;
    operation.window = 2;
    operation.tid = static_cast<std::uint32_t>(comm.thread);
    operation.enqueue_start_ns = when(comm.start_ns);
    operation.enqueue_end_ns = when(comm.end_ns);
    operation.torch_seq = comm.seq;
    operation.count = count_of(comm, func, file_.contexts[operation.context].nranks);
    const auto size = model::element_bytes(trace_.names.text(comm.dtype));
    std::uint64_t bytes = 0;
    if (operation.count && size && !__builtin_mul_overflow(*operation.count, *size, &bytes)) {
      operation.bytes = bytes;
    }
    if (func == "AlltoAll") {
      operation.count.reset();  // the ranks may give different sizes
      operation.surplus = surplus_of(comm);
    }
    const model::Flow flow = model::flow_of_function(func);
    if (comm.rank && (flow == model::Flow::kFromRoot || flow == model::Flow::kToRoot)) {
      operation.root = static_cast<std::uint32_t>(*comm.rank);
    }
    operation.peer = peer_of(comm, operation.context);
    if (func == "Send" || func == "Recv") {
      group(operation, comm);
    }
    framed_.push_back({index, file_.operations.size()});
    file_.operations.push_back(operation);
    ++file_.contexts[operation.context].operations;
  }

  std::optional<std::uint32_t> peer_of(const model::KinetoComm& comm, std::uint32_t context) const {
    const auto peer = comm.destination ? comm.destination : comm.source;
    const auto ranks = ranks_.find(context);
    if (!peer || ranks == ranks_.end()) {
      return std::nullopt;
    }
    const auto found = std::find(ranks->second.begin(), ranks->second.end(), *peer);
    return found == ranks->second.end()
               ? std::nullopt
               : std::optional(static_cast<std::uint32_t>(found - ranks->second.begin()));
  }

  // A batch is launched once, behind all of its calls.
  void group(model::Operation& operation, const model::KinetoComm& comm) {
    const auto before = last_exchange_.find({comm.thread, operation.context});
    if (before != last_exchange_.end() &&
        !is_launched_between(comm.thread, before->second.second, comm.start_ns)) {
      model::Operation last = file_.operations[before->second.first];
      if (!last.group) {
        last.group = last.id;
        file_.operations.set(before->second.first, last);
      }
      operation.group = last.group;
    }
    last_exchange_[{comm.thread, operation.context}] = {file_.operations.size(), comm.start_ns};
  }

  void add_kernel(const model::GpuActivity& activity, const std::string& comm,
                  std::string_view name, std::string_view func) {
    const auto [found, is_new] = contexts_.try_emplace(
        {comm, model::kNoName}, static_cast<std::uint32_t>(file_.contexts.size() + 1));
    model::Context& context = file_.contexts[found->second];
    ++context.operations;
    if (is_new) {
      context.comm = (name.empty() ? comm + " of " : std::string()) + whose();
      context.name = name;
      context.why_alone = name.empty()
                              ? "kernels of NCCL without calls (of CUDA graphs, or profiled before "
                                "PyTorch 2.2) do not say which ranks run them"
                              : "kernels that communicate without NCCL do not say which ranks run "
                                "them";
      context.created_ns = file_.process.start_ns;
    }
    model::Operation operation;
    operation.id = file_.operations.size() + 1;
    operation.context = found->second;
    operation.func = names_.id(func);
    operation.state = model::State::kCompleted;
    operation.times_from = model::TimesFrom::kKineto;
    operation.window = 2;
    operation.enqueue_start_ns = launch_of(activity);
    operation.start_ns = when(activity.start_ns);
    operation.end_ns = when(activity.end_ns);
    file_.operations.push_back(operation);
  }

  const model::KinetoTrace& trace_;
  model::NameTable& names_;
  model::TraceFile& file_;
  std::map<std::int64_t, std::vector<std::int64_t>> launches_;  // of NCCL's kernels, by thread
  std::map<std::int64_t, std::int64_t> launched_ns_;            // by correlation
  std::int64_t begin_ns_ = 0;                                   // of the profile, with its ranges
  bool has_launches_ = false;                                   // of any kernel
  std::map<std::pair<std::string, model::NameId>, std::uint32_t> contexts_;
  std::map<std::uint32_t, std::vector<std::int64_t>> ranks_;  // of a context, in the job
  // The last send or receive of a thread and context, and when it was called.
  std::map<std::pair<std::int64_t, std::uint32_t>, std::pair<std::size_t, std::int64_t>>
      last_exchange_;
  std::vector<FramedOperation> framed_;
  std::set<std::int64_t> calls_of_one_;  // of groups of one rank, by external id
};

}  // namespace

std::optional<std::int64_t> rank_by_calls(const model::KinetoTrace& trace) {
  std::set<std::pair<model::NameId, std::optional<std::uint64_t>>> seen;
  std::optional<std::vector<std::int64_t>> possible;
  for (const model::KinetoComm& comm : trace.comms) {
    const std::string_view func = nccl_function(trace.names.text(comm.collective));
    // In other calls "Rank" is the root or the peer.
    const auto place =
        model::flow_of_function(func) == model::Flow::kAll ? comm.rank : std::nullopt;
    auto ranks = seen.insert({comm.ranks, place}).second
                     ? ranks_listed(trace.names.text(comm.ranks))
                     : std::nullopt;
    if (ranks && place && *place < ranks->size()) {
      ranks = {{(*ranks)[*place]}};
    }
    if (ranks && possible) {
      std::erase_if(*ranks, [&](std::int64_t one) {
        return std::find(possible->begin(), possible->end(), one) == possible->end();
      });
    }
    possible = ranks ? ranks : possible;
  }
  return possible && possible->size() == 1 ? std::optional(possible->front()) : std::nullopt;
}

KinetoFileJoin add_profile_trace(const model::KinetoTrace& trace, model::Traces& traces) {
  ProfileTrace made(trace, traces);
  KinetoFileJoin join = join_own_kineto(trace, made.add_calls(), traces);
  made.add_kernels(join.kernels.activities);
  return join;
}

}  // namespace ringside::match
