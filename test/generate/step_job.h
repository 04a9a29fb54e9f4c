// SPDX-License-Identifier: Apache-2.0
//
// A training whose steps are simulated: what its CPU threads, its GPUs' streams and its operations
// of NCCL do, and what each of them needs. So the critical path of each step is known, and so is
// what a step would take if some of it took no time.
#ifndef RINGSIDE_TEST_GENERATE_STEP_JOB_H
#define RINGSIDE_TEST_GENERATE_STEP_JOB_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulate/random.h"

namespace ringside::simulate {

enum class Work { kKernel, kCopy, kOperator, kLaunch, kCommunication, kDataLoader, kIdle };
inline constexpr int kWorks = 7;
inline constexpr std::array kWorkNames = {"kernel",        "copy",        "operator", "launch",
                                          "communication", "data_loader", "idle"};

enum class Slow { kNobody, kCompute, kLaunch, kDataLoader };

struct StepOptions {
  std::uint64_t seed = 1;
  int ranks = 2;
  int steps = 3;
  int layers = 4;
  int buckets = 2;
  Slow slow = Slow::kNobody;
  int slow_rank = 0;
  bool syncs_in_middle = false;  // the CPU reads the loss
  bool syncs_at_end = false;
  bool tells_syncs = true;  // the profiler records cuda_sync events
  bool is_launch_bound = false;
};

/// A need of a task: the begin or the end of another, and so much time after it.
struct Need {
  int task = 0;
  bool is_begin = false;
  std::int64_t lag_ns = 0;
  Work lag = Work::kLaunch;
};

struct Task {
  int rank = 0;
  Work work = Work::kIdle;
  std::int64_t duration_ns = 0;
  std::vector<Need> needs;
  int collective = -1;  // its number, of a task that is one of its ends
  bool is_transfer = false;
};

struct TaskTimes {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// An event of the profiler, from the begin of a task to the end of another.
struct Row {
  const char* category = "";
  std::string name;
  int from = 0;
  int to = 0;
  int thread = 0;   // 0: the main one, 1: that of the backward pass
  int stream = -1;  // of the GPU's work
  std::int64_t correlation = -1;
  std::int64_t external_id = -1;
  std::string more;  // members of its arguments
};

struct Collective {
  int transfer = 0;
  std::uint64_t elements = 0;
  std::vector<int> arrivals;  // tasks by rank
  std::vector<int> ends;
  std::vector<int> calls;  // tasks that launch it
};

struct StepBounds {
  std::vector<int> first;               // task that begins the range, by rank
  std::vector<int> last;                // task that ends it
  std::vector<std::vector<int>> works;  // of the GPU that were launched in it
};

/// A wait on the path of a step: in which collective, and who waited for whom.
struct TrueWait {
  int collective = 0;
  int by = 0;
  int waits_for = 0;
  std::int64_t waited_ns = 0;
};
struct TrueStep {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  int last = 0;
  std::array<std::int64_t, kWorks> spent_ns{};
  std::array<std::int64_t, kWorks> gain_ns{};
  std::vector<TrueWait> waits;
};

class StepJob {
 public:
  explicit StepJob(const StepOptions& options);

  const std::vector<Collective>& collectives() const { return collectives_; }
  const std::vector<std::vector<Row>>& rows() const { return rows_; }  // by rank
  const std::vector<StepBounds>& steps() const { return steps_; }
  const TaskTimes& times(int task) const { return times_[static_cast<std::size_t>(task)]; }
  std::vector<TrueStep> truth() const;

 private:
  struct Rank {
    int cpu[2] = {-1, -1};     // the last task of each thread
    int stream[2] = {-1, -1};  // of each stream: computing, and NCCL's
    std::vector<Need> waits;   // events that the computing stream waits for from now on
    std::vector<std::string> wait_syncs;
    std::int64_t correlation = 1000;
    std::int64_t external_id = 0;
  };

  int add(Task task);
  int on_cpu(int rank, int thread, Work work, std::int64_t duration_ns);
  void after(int rank, int thread, int other_task, std::int64_t lag_ns);
  int call(int rank, int thread, const char* name, std::int64_t duration_ns);
  int launch(int rank, int thread, const std::string& op, const std::string& kernel,
             std::int64_t duration_ns, StepBounds& bounds);
  void reduce(std::uint64_t elements, std::vector<StepBounds*> bounds);
  void wait_for_stream(int rank, int thread, int stream, StepBounds& bounds);
  void make_step(int step);
  void load_data(int rank, StepBounds& bounds);
  std::int64_t cpu_ns(int rank);
  std::int64_t kernel_ns(int rank);
  std::vector<TaskTimes> simulate(const std::vector<TaskTimes>* before, std::int64_t from_ns,
                                  int free_work) const;
  std::pair<int, std::int64_t> end_of(int step, int rank,
                                      const std::vector<TaskTimes>& times) const;
  void walk(int step, TrueStep& found) const;

  StepOptions options_;
  Random random_;
  std::vector<Task> tasks_;
  std::vector<TaskTimes> times_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<Row>> rows_;
  std::vector<Collective> collectives_;
  std::vector<StepBounds> steps_;
};

}  // namespace ringside::simulate

#endif  // RINGSIDE_TEST_GENERATE_STEP_JOB_H
