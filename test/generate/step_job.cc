// SPDX-License-Identifier: Apache-2.0
#include "test/generate/step_job.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace ringside::simulate {
namespace {

constexpr std::int64_t kLatency_ns = 6'000;  // from a launch's begin to its kernel
constexpr std::int64_t kHandOver_ns = 12'000;

}  // namespace

StepJob::StepJob(const StepOptions& options)
    : options_(options),
      random_(options.seed * 977 + 13),
      ranks_(static_cast<std::size_t>(options.ranks)),
      rows_(static_cast<std::size_t>(options.ranks)) {
  for (int step = 0; step < options.steps; ++step) {
    make_step(step);
  }
  times_ = simulate(nullptr, 0, -1);
}

int StepJob::add(Task task) {
  tasks_.push_back(std::move(task));
  return static_cast<int>(tasks_.size()) - 1;
}

int StepJob::on_cpu(int rank, int thread, Work work, std::int64_t duration_ns) {
  int& last = ranks_[static_cast<std::size_t>(rank)].cpu[thread];
  Task task;
  task.rank = rank;
  task.work = work;
  task.duration_ns = duration_ns;
  if (last >= 0) {
    task.needs.push_back({last, false, 0, Work::kIdle});
  }
  last = add(task);
  return last;
}

// The thread goes on once another thread's task is over.
void StepJob::after(int rank, int thread, int other_task, std::int64_t lag_ns) {
  const int task = on_cpu(rank, thread, Work::kIdle, 0);
  tasks_[static_cast<std::size_t>(task)].needs.push_back({other_task, false, lag_ns, Work::kIdle});
}

int StepJob::call(int rank, int thread, const char* name, std::int64_t duration_ns) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  const int task = on_cpu(rank, thread, Work::kLaunch, duration_ns);
  rows_[static_cast<std::size_t>(rank)].push_back(
      {"cuda_runtime", name, task, task, thread, -1, ++own.correlation, own.external_id, ""});
  return task;
}

std::int64_t StepJob::cpu_ns(int rank) {
  std::int64_t time_ns = random_.between(5'000, 25'000);
  time_ns += options_.is_launch_bound ? random_.between(40'000, 80'000) : 0;
  const bool is_slow = options_.slow == Slow::kLaunch && options_.slow_rank == rank;
  return time_ns + (is_slow ? random_.between(60'000, 150'000) : 0);
}

std::int64_t StepJob::kernel_ns(int rank) {
  const std::int64_t time_ns = random_.between(20'000, 120'000);
  const bool is_slow = options_.slow == Slow::kCompute && options_.slow_rank == rank;
  return is_slow ? time_ns * 2 : time_ns;
}

// An operator that launches a kernel, or a copy, on the computing stream.
int StepJob::launch(int rank, int thread, const std::string& op, const std::string& kernel,
                    std::int64_t duration_ns, StepBounds& bounds) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  on_cpu(rank, thread, Work::kIdle, random_.between(1'000, 15'000));
  const std::int64_t id = ++own.external_id;
  const int begin = on_cpu(rank, thread, Work::kOperator, cpu_ns(rank));
  const bool is_copy = kernel.starts_with("Memcpy");
  const int launched = call(rank, thread, is_copy ? "cudaMemcpyAsync" : "cudaLaunchKernel",
                            random_.between(3'000, 6'000));
  const int end = on_cpu(rank, thread, Work::kOperator, random_.between(1'000, 4'000));
  Task task;
  task.rank = rank;
  task.work = is_copy ? Work::kCopy : Work::kKernel;
  task.duration_ns = duration_ns;
  task.needs.push_back({launched, true, kLatency_ns, Work::kLaunch});
  if (own.stream[0] >= 0) {
    task.needs.push_back({own.stream[0], false, 0, Work::kLaunch});
  }
  task.needs.insert(task.needs.end(), own.waits.begin(), own.waits.end());
  own.waits.clear();
  own.stream[0] = add(task);
  auto& rows = rows_[static_cast<std::size_t>(rank)];
  rows.push_back({"cpu_op", op, begin, end, thread, -1, -1, id, ""});
  rows.push_back({is_copy ? "gpu_memcpy" : "kernel", kernel, own.stream[0], own.stream[0], thread,
                  7, own.correlation, id, ""});
  bounds.works[static_cast<std::size_t>(rank)].push_back(own.stream[0]);
  return end;
}

// An AllReduce of all ranks, on NCCL's stream, from the threads of the backward pass.
void StepJob::reduce(std::uint64_t elements, std::vector<StepBounds*> bounds) {
  const int number = static_cast<int>(collectives_.size());
  Collective made;
  made.elements = elements;
  Task transfer;
  transfer.rank = -1;
  transfer.work = Work::kCommunication;
  transfer.duration_ns = random_.between(40'000, 250'000);
  transfer.collective = number;
  transfer.is_transfer = true;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Rank& own = ranks_[static_cast<std::size_t>(rank)];
    auto& rows = rows_[static_cast<std::size_t>(rank)];
    on_cpu(rank, 1, Work::kIdle, random_.between(1'000, 8'000));
    const std::int64_t id = ++own.external_id;
    const int outer = on_cpu(rank, 1, Work::kOperator, random_.between(3'000, 9'000));
    const int inner = on_cpu(rank, 1, Work::kOperator, random_.between(2'000, 5'000));
    call(rank, 1, "cudaEventRecord", 1'500);
    const std::int64_t record = own.correlation;
    const int waits = call(rank, 1, "cudaStreamWaitEvent", 1'500);
    rows.push_back(
        {"cuda_sync", "Stream Wait Event", waits, waits, 1, 20, own.correlation, -1,
         ",\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":" + std::to_string(record)});
    const int launched = call(rank, 1, "cudaLaunchKernelExC", random_.between(4'000, 8'000));
    const int end = on_cpu(rank, 1, Work::kOperator, random_.between(2'000, 4'000));
    Task arrival;
    arrival.rank = rank;
    arrival.work = Work::kCommunication;
    arrival.needs.push_back({launched, true, kLatency_ns, Work::kLaunch});
    if (own.stream[1] >= 0) {
      arrival.needs.push_back({own.stream[1], false, 0, Work::kLaunch});
    }
    if (own.stream[0] >= 0) {
      arrival.needs.push_back({own.stream[0], false, 0, Work::kLaunch});
    }
    made.arrivals.push_back(add(arrival));
    transfer.needs.push_back({made.arrivals.back(), true, 0, Work::kCommunication});
    made.calls.push_back(launched);
    rows.push_back({"cpu_op", "c10d::allreduce_", outer, end, 1, -1, -1, id, ""});
    rows.push_back(
        {"cpu_op", "record_param_comms", inner, end, 1, -1, -1, id,
         ",\"Collective name\":\"allreduce\",\"In msg nelems\":" + std::to_string(elements) +
             ",\"Out msg nelems\":" + std::to_string(elements) +
             ",\"dtype\":\"Float\",\"Group size\":" + std::to_string(options_.ranks) +
             ",\"Process Group Name\":\"world\",\"Seq\":" + std::to_string(number + 1)});
  }
  made.transfer = add(transfer);
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Rank& own = ranks_[static_cast<std::size_t>(rank)];
    Task end;
    end.rank = rank;
    end.work = Work::kCommunication;
    end.collective = number;
    // The ranks leave one after the other.
    end.needs.push_back({made.transfer, false, random_.between(0, 3'000), Work::kCommunication});
    own.stream[1] = add(end);
    made.ends.push_back(own.stream[1]);
    rows_[static_cast<std::size_t>(rank)].push_back(
        {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         made.arrivals[static_cast<std::size_t>(rank)], own.stream[1], 1, 20, own.correlation,
         own.external_id, ""});
    bounds[static_cast<std::size_t>(rank)]->works[static_cast<std::size_t>(rank)].push_back(
        own.stream[1]);
  }
  collectives_.push_back(std::move(made));
}

// cudaStreamSynchronize within an operator: the thread goes on once the stream is empty.
void StepJob::wait_for_stream(int rank, int thread, int stream, StepBounds& /*bounds*/) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  on_cpu(rank, thread, Work::kIdle, random_.between(1'000, 6'000));
  const std::int64_t id = ++own.external_id;
  const int begin = on_cpu(rank, thread, Work::kOperator, random_.between(2'000, 6'000));
  const int waits = call(rank, thread, "cudaStreamSynchronize", 2'000);
  // The call's row begins where the operator went over to it, and not when the stream is empty.
  rows_[static_cast<std::size_t>(rank)].back().from = -begin - 1;
  tasks_[static_cast<std::size_t>(waits)].needs.push_back(
      {own.stream[stream], false, 0, Work::kLaunch});
  rows_[static_cast<std::size_t>(rank)].push_back({"cuda_sync", "Stream Sync", waits, waits, thread,
                                                   stream == 0 ? 7 : 20, own.correlation, id, ""});
  const int end = on_cpu(rank, thread, Work::kOperator, random_.between(1'000, 3'000));
  rows_[static_cast<std::size_t>(rank)].push_back(
      {"cpu_op", "aten::_local_scalar_dense", begin, end, thread, -1, -1, id, ""});
}

void StepJob::load_data(int rank, StepBounds& bounds) {
  const bool is_slow = options_.slow == Slow::kDataLoader && options_.slow_rank == rank;
  const int load =
      on_cpu(rank, 0, Work::kDataLoader,
             random_.between(10'000, 60'000) + (is_slow ? random_.between(800'000, 1'600'000) : 0));
  rows_[static_cast<std::size_t>(rank)].push_back(
      {"user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", load,
       load, 0, -1, -1, -1, ""});
  launch(rank, 0, "aten::copy_", "Memcpy HtoD (Pinned -> Device)", random_.between(10'000, 40'000),
         bounds);
}

void StepJob::make_step(int step) {
  StepBounds made;
  made.works.resize(ranks_.size());
  for (int rank = 0; rank < options_.ranks; ++rank) {
    made.first.push_back(on_cpu(rank, 0, Work::kIdle, 2'000));
    load_data(rank, made);
    int end = 0;
    for (int layer = 0; layer < options_.layers; ++layer) {
      end = launch(rank, 0, layer % 2 == 0 ? "aten::addmm" : "aten::relu",
                   layer % 2 == 0 ? "void gemm<float>(float*)" : "void relu<float>(float*)",
                   kernel_ns(rank), made);
    }
    if (options_.syncs_in_middle) {
      wait_for_stream(rank, 0, 0, made);
      end = ranks_[static_cast<std::size_t>(rank)].cpu[0];
    }
    after(rank, 1, end, kHandOver_ns);
  }
  std::vector<StepBounds*> bounds(ranks_.size(), &made);
  for (int bucket = 0; bucket < options_.buckets; ++bucket) {
    for (int rank = 0; rank < options_.ranks; ++rank) {
      for (int layer = 0; layer < std::max(1, options_.layers / options_.buckets); ++layer) {
        launch(rank, 1, "AddmmBackward0", "void gemm_backward<float>(float*)", kernel_ns(rank),
               made);
      }
    }
    reduce(1024U << static_cast<unsigned>(bucket), bounds);
  }
  for (int rank = 0; rank < options_.ranks; ++rank) {
    Rank& own = ranks_[static_cast<std::size_t>(rank)];
    // The computing stream waits for NCCL's: in the backward pass, as DDP does.
    on_cpu(rank, 1, Work::kIdle, 2'000);
    const std::int64_t id = ++own.external_id;
    const int begin = on_cpu(rank, 1, Work::kOperator, 3'000);
    call(rank, 1, "cudaEventRecord", 1'500);
    const std::int64_t record = own.correlation;
    const int waits = call(rank, 1, "cudaStreamWaitEvent", 1'500);
    auto& rows = rows_[static_cast<std::size_t>(rank)];
    rows.push_back(
        {"cuda_sync", "Stream Wait Event", waits, waits, 1, 7, own.correlation, -1,
         ",\"wait_on_stream\":20,\"wait_on_cuda_event_record_corr_id\":" + std::to_string(record)});
    const int end = on_cpu(rank, 1, Work::kOperator, 1'000);
    rows.push_back({"cpu_op", "c10d::wait_", begin, end, 1, -1, -1, id, ""});
    own.waits.push_back({own.stream[1], false, 0, Work::kLaunch});
    after(rank, 0, end, kHandOver_ns);
    launch(rank, 0, "aten::_foreach_add_", "void multi_tensor<float>(float*)",
           random_.between(20'000, 60'000), made);
    if (options_.syncs_at_end) {
      wait_for_stream(rank, 0, 0, made);
    }
    made.last.push_back(on_cpu(rank, 0, Work::kIdle, 3'000));
    rows.push_back({"user_annotation", "ProfilerStep#" + std::to_string(step),
                    made.first[static_cast<std::size_t>(rank)], made.last.back(), 0, -1, -1, -1,
                    ""});
  }
  steps_.push_back(std::move(made));
}

// When everything happens: each task as soon as all that it needs is there. With `before`, what had
// begun by from_ns happens as it did there, and from then on all work of that kind takes no time.
std::vector<TaskTimes> StepJob::simulate(const std::vector<TaskTimes>* before, std::int64_t from_ns,
                                         int free_work) const {
  std::vector<TaskTimes> times(tasks_.size());
  std::vector<int> missing(tasks_.size());
  std::vector<std::vector<int>> users(tasks_.size());
  std::vector<int> ready;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    missing[i] = static_cast<int>(tasks_[i].needs.size());
    for (const Need& need : tasks_[i].needs) {
      users[static_cast<std::size_t>(need.task)].push_back(static_cast<int>(i));
    }
    if (missing[i] == 0) {
      ready.push_back(static_cast<int>(i));
    }
  }
  std::size_t done = 0;
  for (; done < ready.size(); ++done) {
    const auto i = static_cast<std::size_t>(ready[done]);
    const Task& task = tasks_[i];
    const bool is_free = static_cast<int>(task.work) == free_work;
    TaskTimes& own = times[i];
    if (before != nullptr && (*before)[i].start_ns < from_ns) {
      own = (*before)[i];
      own.end_ns = is_free && own.end_ns > from_ns ? from_ns : own.end_ns;
    } else {
      own.start_ns = from_ns;
      for (const Need& need : task.needs) {
        const TaskTimes& other = times[static_cast<std::size_t>(need.task)];
        const bool is_lag_free = static_cast<int>(need.lag) == free_work;
        own.start_ns = std::max(own.start_ns, (need.is_begin ? other.start_ns : other.end_ns) +
                                                  (is_lag_free ? 0 : need.lag_ns));
      }
      own.end_ns = own.start_ns + (is_free ? 0 : task.duration_ns);
    }
    for (const int user : users[i]) {
      if (--missing[static_cast<std::size_t>(user)] == 0) {
        ready.push_back(user);
      }
    }
  }
  if (done != tasks_.size()) {
    throw std::logic_error("tasks need each other in a circle");
  }
  return times;
}

// The task that ends a step on a rank, and when.
std::pair<int, std::int64_t> StepJob::end_of(int step, int rank,
                                             const std::vector<TaskTimes>& times) const {
  const StepBounds& bounds = steps_[static_cast<std::size_t>(step)];
  int last = bounds.last[static_cast<std::size_t>(rank)];
  for (const int work : bounds.works[static_cast<std::size_t>(rank)]) {
    if (times[static_cast<std::size_t>(work)].end_ns >
        times[static_cast<std::size_t>(last)].end_ns) {
      last = work;
    }
  }
  return {last, times[static_cast<std::size_t>(last)].end_ns};
}

void StepJob::walk(int step, TrueStep& found) const {
  int at = end_of(step, found.last, times_).first;
  std::int64_t until_ns = found.end_ns;
  const auto spend = [&](Work work, std::int64_t from_ns) {
    from_ns = std::max(from_ns, found.start_ns);
    if (from_ns < until_ns) {
      found.spent_ns.at(static_cast<std::size_t>(work)) += until_ns - from_ns;
      until_ns = from_ns;
    }
  };
  int by = -1;
  while (at >= 0 && until_ns > found.start_ns) {
    const Task& task = tasks_[static_cast<std::size_t>(at)];
    const TaskTimes& own = times(at);
    spend(task.work, own.start_ns);
    if (!task.is_transfer && task.collective >= 0) {
      by = task.rank;
    }
    const Need* last = nullptr;
    std::int64_t last_ns = -1;
    for (const Need& need : task.needs) {
      const TaskTimes& other = times(need.task);
      const std::int64_t time_ns = (need.is_begin ? other.start_ns : other.end_ns) + need.lag_ns;
      if (time_ns > last_ns) {
        last_ns = time_ns;
        last = &need;
      }
    }
    if (last == nullptr) {
      break;
    }
    if (task.is_transfer && until_ns > found.start_ns) {
      const Task& arrival = tasks_[static_cast<std::size_t>(last->task)];
      const Collective& collective = collectives_[static_cast<std::size_t>(task.collective)];
      if (arrival.rank != by) {
        found.waits.push_back(
            {task.collective, by, arrival.rank,
             own.start_ns - times(collective.arrivals[static_cast<std::size_t>(by)]).start_ns});
      }
    }
    spend(last->lag, last->is_begin ? times(last->task).start_ns : times(last->task).end_ns);
    // From the begin of a task the way goes on to what that needed.
    if (last->is_begin && !task.is_transfer) {
      const Task& caller = tasks_[static_cast<std::size_t>(last->task)];
      const Need* before = nullptr;
      for (const Need& need : caller.needs) {
        const bool is_later =
            before == nullptr || times(need.task).end_ns > times(before->task).end_ns;
        before = is_later ? &need : before;
      }
      at = before == nullptr ? -1 : before->task;
      continue;
    }
    at = last->task;
  }
}

std::vector<TrueStep> StepJob::truth() const {
  std::vector<TrueStep> found;
  for (int step = 0; step < options_.steps; ++step) {
    TrueStep& one = found.emplace_back();
    std::int64_t first_ns = INT64_MAX;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const std::int64_t end_ns = end_of(step, rank, times_).second;
      if (end_ns > one.end_ns) {
        one.end_ns = end_ns;
        one.last = rank;
      }
      first_ns = std::min(
          first_ns,
          times(steps_[static_cast<std::size_t>(step)].first[static_cast<std::size_t>(rank)])
              .start_ns);
    }
    one.start_ns = step == 0 ? first_ns : found[static_cast<std::size_t>(step) - 1].end_ns;
    walk(step, one);
    for (int work = 0; work < kWorks; ++work) {
      const std::vector<TaskTimes> free = simulate(&times_, one.start_ns, work);
      std::int64_t end_ns = one.start_ns;
      for (int rank = 0; rank < options_.ranks; ++rank) {
        end_ns = std::max(end_ns, end_of(step, rank, free).second);
      }
      one.gain_ns.at(static_cast<std::size_t>(work)) = one.end_ns - end_ns;
    }
  }
  return found;
}

}  // namespace ringside::simulate
