// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/kineto_join.h"

#include "analyzer/match/kineto/kineto_calls.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

constexpr std::int64_t kEpoch_ns = 1'000'000'000;  // base_time_s of the trace
constexpr std::int64_t kThread = 77;

std::size_t count_made(std::string_view name, std::uint64_t input, std::uint64_t output,
                       const std::vector<NcclCall>& calls) {
  return calls_made(ProfiledCall{name, input, output}, calls);
}

// A trace of one process, and what a profiler saw of the same.
class Job {
 public:
  Job() {
    model::TraceFile& file = traces_.files.emplace_back();
    file.process.pid = 5;
    file.process.launcher_rank = 0;
    file.process.base_time_s = 1;
    file.windows[1].start_ns = 0;
    model::Context& context = file.contexts[1];
    context.name = "default_pg:0";
    context.rank = 0;
    context.nranks = 2;
    context.created_ns = 10;
    profile_.rank = 0;
    profile_.pid = 5;
    profile_.groups.push_back({"0", "default_pg", {0, 1}});
  }

  model::TraceFile& file() { return traces_.files.front(); }
  model::KinetoTrace& profile() { return profile_; }

  void call(std::int64_t at_ns, std::string_view func, std::uint64_t count) {
    model::Operation operation;
    operation.id = file().operations.size() + 1;
    operation.context = 1;
    operation.func = traces_.names.id(func);
    operation.datatype = traces_.names.id("ncclFloat32");
    operation.count = count;
    operation.group = operation.id;
    operation.tid = kThread;
    operation.window = 1;
    operation.enqueue_start_ns = at_ns;
    operation.enqueue_end_ns = at_ns + 100;
    file().operations.push_back(operation);
  }

  // From 1 us before the moment to 1 us behind it.
  void see(std::int64_t at_ns, std::string_view collective, std::uint64_t elements,
           std::uint64_t seq) {
    model::KinetoComm comm;
    comm.start_ns = kEpoch_ns + at_ns - 1000;
    comm.end_ns = kEpoch_ns + at_ns + 1000;
    comm.thread = kThread;
    comm.collective = profile_.names.id(collective);
    comm.group = profile_.names.id("0");
    comm.dtype = profile_.names.id("Float");
    comm.inputs = comm.outputs = elements;
    comm.seq = seq;
    comm.group_size = 2;
    profile_.comms.push_back(comm);
    model::KinetoCall around;
    around.start_ns = comm.start_ns - 500;
    around.end_ns = comm.end_ns + 500;
    around.thread = kThread;
    around.name = profile_.names.id("c10d::allreduce_");
    profile_.operators.push_back(around);
    around.start_ns -= 500;
    around.end_ns += 500;
    around.name = profile_.names.id("forward");
    profile_.annotations.push_back(around);
  }

  // A kernel that a thread launched at this moment, and that ran for 5 us, 10 us later.
  void launch(std::int64_t at_ns, std::string_view kernel, std::int64_t stream = 20,
              std::int64_t thread = kThread) {
    model::KinetoCall call;
    call.start_ns = kEpoch_ns + at_ns;
    call.end_ns = call.start_ns + 100;
    call.thread = thread;
    call.correlation = static_cast<std::int64_t>(profile_.runtime.size()) + 50;
    call.name = profile_.names.id("cudaLaunchKernelExC");
    profile_.runtime.push_back(call);
    model::GpuActivity activity;
    activity.start_ns = call.start_ns + 10'000;
    activity.end_ns = call.start_ns + 15'000;
    activity.correlation = call.correlation;
    activity.stream = stream;
    activity.name = profile_.names.id(kernel);
    profile_.activities.push_back(activity);
  }

  KinetoKernels kernels() { return join_kineto(profile_, 0, traces_).kernels; }

  KinetoGroupJoin join() {
    const KinetoFileJoin joined = join_kineto(profile_, 0, traces_);
    REQUIRE(joined.groups.size() == 1);
    return joined.groups.front();
  }
  // PyTorch's number of an operation; 0 if it has none.
  std::uint64_t seq_of(std::size_t operation) {
    return model::Operation(file().operations[operation]).torch_seq.value_or(0);
  }
  std::string_view text(model::NameId id) const { return traces_.names.text(id); }
  model::Traces& traces() { return traces_; }

 private:
  model::Traces traces_;
  model::KinetoTrace profile_;
};

using Pairs = std::array<std::uint64_t, kPairProofs>;

// As test/data/profiled has them, of both implementations.
TEST_CASE("a call that PyTorch's profiler saw stands for calls of NCCL") {
  const NcclCall next = {"AllReduce", 4, 9};
  CHECK(count_made("allreduce", 16, 16, {{"AllReduce", 16, 1}, next}) == 1);
  CHECK(count_made("all_reduce", 16, 16, {{"AllReduce", 20, 1}}) == 0);
  CHECK(count_made("barrier", 0, 0, {{"AllReduce", 4, 1}, next}) == 1);
  CHECK(count_made("allreduce_coalesced", 84, 84,
                   {{"AllReduce", 16, 1}, {"AllReduce", 64, 1}, next, next}) == 3);
  CHECK(count_made("allreduce_coalesced", 84, 84, {{"AllReduce", 16, 1}, {"AllGather", 68, 1}}) ==
        0);
  CHECK(count_made("all_gather", 16, 32, {{"AllGather", 16, 1}, next}) == 1);
  CHECK(count_made("all_gather", 32, 16, {{"Broadcast", 16, {}}, {"Broadcast", 16, {}}, next}) ==
        2);
  CHECK(count_made("reduceScatterSingleImpl", 32, 16, {{"ReduceScatter", 16, 1}}) == 1);
  CHECK(count_made("all_to_allv", 32, 40,
                   {{"Send", 16, 1}, {"Recv", 24, 1}, {"Send", 16, 1}, {"Recv", 16, 1}, next}) ==
        4);
  CHECK(count_made("all_to_allv", 32, 40, {{"Send", 16, 1}, {"Recv", 24, 1}}) == 0);
  CHECK(count_made("recv", 16, 16, {{"Recv", 16, 1}}) == 1);
  CHECK(count_made("a new one", 16, 16, {{"AllReduce", 16, 1}}) == 0);
  CHECK(count_made("allreduce", 16, 16, {}) == 0);
}

TEST_CASE("a group that is seen from its first call on is joined by counting") {
  Job job;
  for (std::int64_t i = 0; i < 3; ++i) {
    job.call(1'000'000 * (i + 1), "AllReduce", 4);
    job.see(1'000'000 * (i + 1), "allreduce", 4, static_cast<std::uint64_t>(i) + 1);
  }
  const KinetoGroupJoin group = job.join();
  CHECK(group.pairs == Pairs{3, 0, 0});
  CHECK(group.compared == 3);
  CHECK(group.within == 3);
  CHECK(group.least_offset_ns == -900);
  CHECK(group.most_offset_ns == 1000);
  CHECK(job.seq_of(2) == 3);
  const model::Operation last = job.file().operations[2];
  CHECK(job.text(last.called_by) == "forward");
  CHECK(job.text(last.process_group) == "default_pg");
}

TEST_CASE("Python's functions name the lines of the program, behind operators") {
  Job job;
  job.call(1'000'000, "AllReduce", 4);
  job.see(1'000'000, "allreduce", 4, 1);
  model::KinetoCall function = job.profile().annotations.front();
  SECTION("and without these alone") {
    job.profile().annotations.clear();
  }
  const std::string before = job.profile().annotations.empty() ? "" : "forward\n";
  for (const char* const name : {"train.py(60): <module>", "train.py(17): step",
                                 "torch/distributed/distributed_c10d.py(2806): all_reduce",
                                 "<built-in method allreduce of PyCapsule>"}) {
    function.name = job.profile().names.id(name);
    job.profile().python.push_back(function);
    ++function.start_ns;
    --function.end_ns;
  }
  function.thread = kThread + 1;
  job.profile().python.push_back(function);
  CHECK(job.join().pairs == Pairs{1, 0, 0});
  const model::Operation operation = job.file().operations[0];
  CHECK(job.text(operation.called_by) == before + "train.py:17 in step\ntrain.py:60 in <module>");
}

TEST_CASE("a profile of the same time of a process is a copy") {
  Job job;
  for (std::int64_t i = 0; i < 3; ++i) {
    job.call(1'000'000 * (i + 1), "AllReduce", 4);
    job.see(1'000'000 * (i + 1), "allreduce", 4, static_cast<std::uint64_t>(i) + 1);
  }
  job.profile().damaged = 2;
  auto& behind = job.profile().activities.emplace_back();  // of what it launched
  behind.start_ns = 3'000'000;
  behind.end_ns = 9'000'000;
  const std::vector<KinetoFileJoin> joins = {join_kineto(job.profile(), 0, job.traces())};
  CHECK(joins[0].damaged == 2);
  CHECK(find_same_time(job.profile(), 0, joins) == joins.data());
  CHECK(find_same_time(job.profile(), 1, joins) == nullptr);
  Job later;  // what began at the end of the first one is in both
  later.see(3'000'000, "allreduce", 4, 3);
  later.see(9'000'000, "allreduce", 4, 4);
  CHECK(find_same_time(later.profile(), 0, joins) == nullptr);
  CHECK(find_same_time({}, 0, joins) == nullptr);
}

TEST_CASE("what the profiler saw in the middle fits in one place") {
  Job job;
  for (std::int64_t i = 0; i < 9; ++i) {
    job.call(1'000'000 * (i + 1), "AllReduce", i == 5 ? 8 : 4);
  }
  // Its clock is a second ahead, and it counts other calls, too.
  job.see(1'005'000'000, "allreduce", 4, 15);
  job.see(1'006'000'000, "allreduce", 8, 16);
  job.see(1'007'000'000, "allreduce", 4, 17);
  const KinetoGroupJoin group = job.join();
  CHECK(group.pairs == Pairs{0, 3, 0});
  CHECK(job.seq_of(4) == 15);
  CHECK(job.seq_of(6) == 17);
  CHECK(group.within == 0);
  CHECK(group.most_offset_ns == -1'000'000'000 + 1000);
}

TEST_CASE("where every place fits the clock says which, and a gap in Seq asks it again") {
  Job job;
  for (std::int64_t i = 0; i < 9; ++i) {
    job.call(1'000'000 * (i + 1), "AllReduce", 4);
  }
  job.see(4'000'000, "allreduce", 4, 4);
  job.see(5'000'000, "allreduce", 4, 5);
  job.see(8'000'000, "allreduce", 4, 8);  // it has lost two
  const KinetoGroupJoin group = job.join();
  CHECK(group.pairs == Pairs{0, 0, 3});
  CHECK(job.seq_of(3) == 4);
  CHECK(job.seq_of(4) == 5);
  CHECK(job.seq_of(5) == 0);
  CHECK(job.seq_of(7) == 8);
}

TEST_CASE("what does not fit stays as it is") {
  SECTION("another size") {
    Job job;
    job.call(1'000'000, "AllReduce", 4);
    job.see(1'000'000, "allreduce", 5, 1);
    CHECK(job.join().pairs == Pairs{});
    CHECK(job.seq_of(0) == 0);
  }
  SECTION("another thread, where calls are lost and order proves nothing") {
    Job job;
    job.file().account.dropped["Coll dropped_ring_full"] = 1;
    job.call(1'000'000, "AllReduce", 4);
    job.see(1'000'000, "allreduce", 4, 1);
    job.profile().comms.front().thread = kThread + 1;
    CHECK(job.join().pairs == Pairs{});
  }
  SECTION("a call whose name is not known, and the one behind it") {
    Job job;
    job.call(1'000'000, "AllReduce", 4);
    job.call(2'000'000, "AllReduce", 4);
    job.see(1'000'000, "a new one", 4, 1);
    job.see(2'000'000, "allreduce", 4, 2);
    const KinetoGroupJoin group = job.join();
    CHECK(group.unknown == 1);
    CHECK(group.pairs == Pairs{0, 0, 1});
    CHECK(job.seq_of(1) == 2);
  }
}

using Proofs = std::array<std::uint64_t, kKernelProofs>;
constexpr std::string_view kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";

TEST_CASE("a kernel of NCCL is that of the call in which it was launched") {
  Job job;
  job.call(1'000'000, "AllReduce", 4);
  job.see(1'000'000, "allreduce", 4, 1);
  SECTION("and gives the times that NCCL does not tell") {
    job.launch(1'000'500, kAllReduce);
    job.launch(1'000'600, "gemm");
    const KinetoKernels kernels = job.kernels();
    CHECK(kernels.kernels == 1);
    CHECK(kernels.joined == Proofs{1, 0, 0});
    CHECK(kernels.timed == 1);
    const model::Operation operation = job.file().operations[0];
    CHECK(operation.times_from == model::TimesFrom::kKineto);
    CHECK(operation.state == model::State::kCompleted);
    CHECK(operation.start_ns == 1'010'500);
    CHECK(operation.end_ns == 1'015'500);
  }
  SECTION("and leaves the times that NCCL tells") {
    model::Operation known = job.file().operations[0];
    known.times_from = model::TimesFrom::kGpu;
    known.state = model::State::kCompleted;
    known.start_ns = 1'011'000;
    known.end_ns = 1'016'000;
    job.file().operations.set(0, known);
    job.launch(1'000'500, kAllReduce);
    CHECK(job.kernels().timed == 0);
    CHECK(job.file().operations[0].start_ns == 1'011'000);
  }
  SECTION("unless its function is another") {
    job.launch(1'000'500, "ncclDevKernel_AllGather_RING_LL(x)");
    CHECK(job.kernels().joined == Proofs{});
  }
  SECTION("or its thread") {
    job.launch(1'000'500, kAllReduce, 20, kThread + 1);
    CHECK(job.kernels().joined == Proofs{});
  }
}

TEST_CASE("a kernel between two that are known is joined by order, others by the clock") {
  Job job;
  for (std::int64_t i = 0; i < 4; ++i) {
    job.call(1'000'000 * (i + 1), "AllReduce", 4);
    // The launches of the second and the last are behind what the profiler saw of the call.
    job.see(1'000'000 * (i + 1), "allreduce", 4, static_cast<std::uint64_t>(i) + 1);
    job.launch(1'000'000 * (i + 1) + (i % 2 == 0 ? 500 : 90'000), kAllReduce);
  }
  CHECK(job.kernels().joined == Proofs{2, 1, 1});
}

TEST_CASE("sends and receives that are called together have one kernel") {
  Job job;
  for (const char* const func : {"Send", "Recv"}) {
    job.call(1'000'000, func, 4);
    model::Operation operation = job.file().operations[job.file().operations.size() - 1];
    operation.kind = model::Kind::kPointToPoint;
    operation.group = 7;
    job.file().operations.set(job.file().operations.size() - 1, operation);
  }
  job.launch(1'000'500, "ncclDevKernel_SendRecv(ncclDevKernelArgs)");
  const KinetoKernels kernels = job.kernels();
  CHECK(kernels.joined == Proofs{0, 0, 1});
  CHECK(kernels.pairs.size() == 2);
}

TEST_CASE("a communicator without a name is found by its ranks") {
  Job job;
  job.file().contexts[1].name.clear();
  job.call(1'000'000, "AllReduce", 4);
  job.see(1'000'000, "allreduce", 4, 1);
  SECTION("if no other has them") {
    CHECK(job.join().pairs == Pairs{1, 0, 0});
  }
  SECTION("and not if another could be meant") {
    job.file().contexts[2] = job.file().contexts[1];
    CHECK(job.join().pairs == Pairs{});
  }
}

TEST_CASE("a profile of another time or of a smaller job is of another job") {
  Job job;
  job.see(30'000'000'000, "allreduce", 4, 1);
  job.file().closed = true;
  job.file().last_ns = 40'000'000'000;
  CHECK(why_of_another_job(job.profile(), job.file()).empty());
  SECTION("it began long after the end") {
    job.file().last_ns = 5'000'000'000;
    CHECK(why_of_another_job(job.profile(), job.file()) == "it began after that process had ended");
    job.file().closed = false;
    CHECK(why_of_another_job(job.profile(), job.file()).empty());
  }
  SECTION("it ended long before the begin") {
    job.file().process.start_ns = 50'000'000'000;
    CHECK(why_of_another_job(job.profile(), job.file()) == "it ended before that process began");
  }
  SECTION("a communicator has more ranks than the job") {
    job.file().contexts[1].nranks = 3;
    CHECK(why_of_another_job(job.profile(), job.file()) ==
          "its job has 2 ranks, and a communicator there has 3");
  }
}

TEST_CASE("a profile is of the process whose rank and pid it has") {
  Job job;
  CHECK(profiled_file(job.profile(), job.traces(), {}) == 0);
  job.profile().pid = 6;
  CHECK_FALSE(profiled_file(job.profile(), job.traces(), {}));
  job.profile().pid.reset();
  CHECK(profiled_file(job.profile(), job.traces(), {}) == 0);
  job.traces().files.push_back(job.file());
  job.file().process.run_id = "0x1";
  CHECK_FALSE(profiled_file(job.profile(), job.traces(), {}));
}

TEST_CASE("of a trace and the dumps of its run a profile takes one, as all profiles of it do") {
  Job job;
  job.file().process.run_id = "0x1";
  job.file().process.dump = true;
  job.call(30'000'000'000, "AllReduce", 4);
  job.see(30'000'000'000, "allreduce", 4, 1);
  job.traces().files.push_back(job.file());
  model::TraceFile& trace = job.traces().files[1];
  trace.process.dump = false;
  SECTION("the trace, if both have the profile's time") {
    CHECK(profiled_file(job.profile(), job.traces(), {}) == 1);
  }
  SECTION("the dump, if the trace has lost that time") {
    trace.operations = {};
    for (const std::int64_t time_ns : {50'000'000'000, 60'000'000'000}) {
      model::Operation operation;
      operation.enqueue_start_ns = time_ns;
      operation.enqueue_end_ns = time_ns + 1000;
      trace.operations.push_back(operation);
    }
    CHECK(profiled_file(job.profile(), job.traces(), {}) == 0);
    KinetoFileJoin other;
    other.file = 1;
    CHECK(profiled_file(job.profile(), job.traces(), {other}) == 1);
  }
}

}  // namespace
}  // namespace ringside::match
