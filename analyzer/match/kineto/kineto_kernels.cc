// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/kineto_kernels.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/match/group_calls.h"
#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/model/kineto/nccl_kernel.h"
#include "analyzer/model/saturating.h"

namespace ringside::match {
namespace {

// Both clocks are CLOCK_REALTIME, read in different ways.
constexpr std::int64_t kClockSlack_ns = 20'000;

struct Kernel {
  std::size_t activity = 0;
  std::string_view func;
  std::int64_t thread = 0;
  std::int64_t launch_ns = 0;
  bool is_joined = false;
};

// Operations that NCCL launches together: one, or those of a group of calls.
struct Unit {
  std::vector<std::size_t> operations;
  std::int64_t called_ns = 0;  // since the epoch
  bool is_joined = false;
};

using Stream = std::pair<std::int64_t, std::int64_t>;  // device, stream

class KernelJoin {
 public:
  KernelJoin(const model::KinetoTrace& trace, model::NameTable& names, model::TraceFile& file)
      : trace_(trace), names_(names), file_(file), clock_(file) {
    std::unordered_map<std::int64_t, std::size_t> calls;
    for (std::size_t i = 0; i < trace.runtime.size(); ++i) {
      calls.try_emplace(trace.runtime[i].correlation, i);
    }
    std::unordered_map<std::int64_t, const model::KinetoComm*> comms;  // by external id
    for (const model::KinetoComm& comm : trace.comms) {
      comms.try_emplace(comm.external_id, &comm);
    }
    for (std::size_t i = 0; i < trace.activities.size(); ++i) {
      const model::GpuActivity& activity = trace.activities[i];
      const std::string_view func =
          activity.kind == model::GpuWork::kKernel
              ? model::nccl_function_of_kernel(trace.names.text(activity.name))
              : std::string_view();
      if (func.empty()) {
        continue;
      }
      ++joined_.kernels;
      const auto call =
          activity.correlation == model::kNoId ? calls.end() : calls.find(activity.correlation);
      if (call != calls.end()) {
        const model::KinetoCall& launch = trace.runtime[call->second];
        kernels_.push_back({i, func, launch.thread, launch.start_ns, false});
      } else if (const auto comm = comms.find(activity.external_id);
                 comm != comms.end() && activity.external_id != model::kNoId) {
        // The profile is without calls of CUDA, or of another maker's runtime.
        kernels_.push_back({i, func, comm->second->thread, comm->second->start_ns, false});
      }
    }
    std::sort(kernels_.begin(), kernels_.end(), [](const Kernel& one, const Kernel& other) {
      return std::tie(one.launch_ns, one.activity) < std::tie(other.launch_ns, other.activity);
    });
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      by_thread_[kernels_[k].thread].push_back(k);
    }
  }

  KinetoKernels join(std::span<const FramedOperation> framed) {
    if (kernels_.empty()) {
      return std::move(joined_);
    }
    make_units();
    join_framed(framed);
    for (auto& [context, units] : by_context_) {
      join_by_order(units);
    }
    join_by_clock();
    std::sort(joined_.pairs.begin(), joined_.pairs.end(),
              [](const KernelPair& one, const KernelPair& other) {
                return one.operation < other.operation;
              });
    std::sort(joined_.activities.begin(), joined_.activities.end());
    fill_times();
    return std::move(joined_);
  }

 private:
  void make_units() {
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < file_.operations.size(); ++i) {
      order.emplace_back(file_.operations.call_ns(i), i);
    }
    std::sort(order.begin(), order.end());
    unit_of_.resize(order.size());
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> of_group;
    for (const auto& [call_ns, i] : order) {
      const std::uint32_t context = file_.operations.context(i);
      const auto group = file_.operations.group(i);
      const auto known = group ? of_group.find({context, *group}) : of_group.end();
      if (known != of_group.end()) {
        units_[known->second].operations.push_back(i);
        unit_of_[i] = known->second;
        continue;
      }
      if (group) {
        of_group[{context, *group}] = units_.size();
      }
      unit_of_[i] = units_.size();
      by_context_[context].push_back(units_.size());
      units_.push_back({{i}, clock_.at(call_ns), false});
    }
  }

  bool fits(const Kernel& kernel, std::size_t index) const {
    const model::Operation operation = file_.operations[index];
    const std::string_view func = names_.text(operation.func);
    return kernel.func == func || kernel.func == model::kAnyFunction ||
           (kernel.func == "SendRecv" &&
            (operation.kind == model::Kind::kPointToPoint || func == "AlltoAll" ||
             func == "Gather" || func == "Scatter"));
  }

  // NCCL launches large groups of sends and receives as several kernels.
  bool fits(std::span<const std::size_t> kernels, std::span<const std::size_t> operations) const {
    return !kernels.empty() && !operations.empty() &&
           std::all_of(operations.begin(), operations.end(), [&](std::size_t operation) {
             return std::all_of(kernels.begin(), kernels.end(), [&](std::size_t k) {
               return !kernels_[k].is_joined && fits(kernels_[k], operation);
             });
           });
  }

  void add(std::span<const std::size_t> kernels, std::span<const std::size_t> operations,
           KernelProof proof) {
    KernelPair pair;
    pair.proof = proof;
    pair.activity = kernels_[kernels.front()].activity;
    pair.start_ns = trace_.activities[pair.activity].start_ns;
    for (const std::size_t k : kernels) {
      const model::GpuActivity& activity = trace_.activities[kernels_[k].activity];
      pair.start_ns = std::min(pair.start_ns, activity.start_ns);
      pair.end_ns = std::max(pair.end_ns, activity.end_ns);
      kernels_[k].is_joined = true;
      joined_.activities.push_back(kernels_[k].activity);
      ++joined_.joined[static_cast<std::size_t>(proof)];
    }
    const model::GpuActivity& first = trace_.activities[pair.activity];
    pair.correlation = first.correlation;
    pair.device = first.device;
    pair.stream = first.stream;
    pair.kernel = names_.id(trace_.names.text(first.name));
    for (const std::size_t operation : operations) {
      pair.operation = operation;
      joined_.pairs.push_back(pair);
      units_[unit_of_[operation]].is_joined = true;
      streams_[file_.operations.context(operation)].emplace(first.device, first.stream);
    }
  }

  // NCCL's kernels that a thread launched in [from_ns, to_ns).
  std::vector<std::size_t> launched(std::int64_t thread, std::int64_t from_ns,
                                    std::int64_t to_ns) const {
    std::vector<std::size_t> found;
    const auto own = by_thread_.find(thread);
    if (own == by_thread_.end()) {
      return found;
    }
    auto at = std::lower_bound(
        own->second.begin(), own->second.end(), from_ns,
        [&](std::size_t k, std::int64_t time_ns) { return kernels_[k].launch_ns < time_ns; });
    for (; at != own->second.end() && kernels_[*at].launch_ns < to_ns; ++at) {
      if (!kernels_[*at].is_joined) {
        found.push_back(*at);
      }
    }
    return found;
  }

  void join_framed(std::span<const FramedOperation> framed) {
    for (std::size_t i = 0; i < framed.size();) {
      std::vector<std::size_t> operations;
      const std::size_t comm = framed[i].comm;
      for (; i < framed.size() && framed[i].comm == comm; ++i) {
        operations.push_back(framed[i].operation);
      }
      const model::KinetoComm& call = trace_.comms[comm];
      const std::vector<std::size_t> kernels =
          launched(call.thread, call.start_ns, add_saturating(call.end_ns, 1));
      if (kernels.size() > 1 && kernels.size() == operations.size()) {
        for (std::size_t k = 0; k < kernels.size(); ++k) {
          if (fits(std::span(&kernels[k], 1), std::span(&operations[k], 1))) {
            add(std::span(&kernels[k], 1), std::span(&operations[k], 1), KernelProof::kLaunch);
          }
        }
      } else if (fits(kernels, operations)) {
        add(kernels, operations, KernelProof::kLaunch);
      }
    }
  }

  // Between two neighbours that are joined, or before the first or behind the last one, as many
  // kernels of the stream as operations, which fit one for one.
  void join_by_order(const std::vector<std::size_t>& units) {
    if (units.empty()) {
      return;
    }
    const auto known =
        streams_.find(file_.operations.context(units_[units.front()].operations.front()));
    if (known == streams_.end() || known->second.size() != 1) {
      return;
    }
    std::vector<std::size_t> kernels;
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      const model::GpuActivity& activity = trace_.activities[kernels_[k].activity];
      if (Stream(activity.device, activity.stream) == *known->second.begin()) {
        kernels.push_back(k);
      }
    }
    std::size_t unit = 0;
    std::size_t kernel = 0;
    bool is_behind_pair = false;
    while (unit < units.size() && kernel < kernels.size()) {
      const auto until = [](std::size_t from, const auto& all, const auto& is_joined) {
        while (from < all.size() && !is_joined(all[from])) {
          ++from;
        }
        return from;
      };
      const std::size_t unit_end =
          until(unit, units, [&](std::size_t u) { return units_[u].is_joined; });
      const std::size_t kernel_end =
          until(kernel, kernels, [&](std::size_t k) { return kernels_[k].is_joined; });
      const bool is_before_pair = unit_end < units.size() && kernel_end < kernels.size();
      // The profiler may have seen a part only: an end that is open proves nothing.
      if (is_behind_pair && is_before_pair && unit_end - unit == kernel_end - kernel) {
        for (std::size_t i = 0; i < unit_end - unit; ++i) {
          const auto& operations = units_[units[unit + i]].operations;
          if (fits(std::span(&kernels[kernel + i], 1), operations)) {
            add(std::span(&kernels[kernel + i], 1), operations, KernelProof::kOrder);
          }
        }
      }
      is_behind_pair = is_before_pair;
      unit = unit_end;
      kernel = kernel_end;
      while (unit < units.size() && units_[units[unit]].is_joined) {
        ++unit;
      }
      while (kernel < kernels.size() && kernels_[kernels[kernel]].is_joined) {
        ++kernel;
      }
    }
  }

  void join_by_clock() {
    std::map<std::uint32_t, std::vector<std::size_t>> by_thread;  // units, in the order of calls
    for (std::size_t u = 0; u < units_.size(); ++u) {
      by_thread[file_.operations[units_[u].operations.front()].tid].push_back(u);
    }
    for (const auto& [thread, units] : by_thread) {
      for (std::size_t i = 0; i < units.size(); ++i) {
        const Unit& unit = units_[units[i]];
        if (unit.is_joined) {
          continue;
        }
        const std::int64_t until_ns = i + 1 < units.size()
                                          ? units_[units[i + 1]].called_ns
                                          : std::numeric_limits<std::int64_t>::max();
        const std::vector<std::size_t> kernels =
            launched(thread, subtract_saturating(unit.called_ns, kClockSlack_ns), until_ns);
        // The next one's may be among these, by the error of the clocks.
        const bool is_sole = kernels.size() == 1;
        if (is_sole && fits(kernels, unit.operations)) {
          const std::vector<std::size_t> operations = unit.operations;
          add(kernels, operations, KernelProof::kClock);
        }
      }
    }
  }

  void fill_times() {
    for (const KernelPair& pair : joined_.pairs) {
      model::Operation operation = file_.operations[pair.operation];
      // The network's first byte says less of when a rank came: it may wait for another's.
      if (operation.times_from == model::TimesFrom::kGpu || operation.in_flight ||
          pair.end_ns < pair.start_ns) {
        continue;
      }
      ++joined_.timed;
      operation.times_from = model::TimesFrom::kKineto;
      operation.state = model::State::kCompleted;
      operation.start_ns = clock_.when(pair.start_ns);
      operation.start_is_latest = false;
      operation.end_ns = clock_.when(pair.end_ns);
      file_.operations.set(pair.operation, operation);
    }
  }

  const model::KinetoTrace& trace_;
  model::NameTable& names_;
  model::TraceFile& file_;
  HostClock clock_;
  std::vector<Kernel> kernels_;  // by launch
  std::map<std::int64_t, std::vector<std::size_t>> by_thread_;
  std::vector<Unit> units_;  // by call
  std::vector<std::size_t> unit_of_;
  std::map<std::uint32_t, std::vector<std::size_t>> by_context_;  // units
  std::map<std::uint32_t, std::set<Stream>> streams_;             // of a context's kernels
  KinetoKernels joined_;
};

}  // namespace

KinetoKernels join_kineto_kernels(const model::KinetoTrace& trace,
                                  std::span<const FramedOperation> framed, model::NameTable& names,
                                  model::TraceFile& file) {
  return KernelJoin(trace, names, file).join(framed);
}

}  // namespace ringside::match
