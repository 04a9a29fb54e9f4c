// SPDX-License-Identifier: Apache-2.0
// ringside_generate_steps: traces of Ringside and of PyTorch's profiler of a simulated training,
// whose critical path is known. It links nothing of the analyzer.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ringside/trace_schema.h"
#include "simulate/line_buffer.h"
#include "simulate/trace_file.h"
#include "test/generate/step_job.h"

namespace ringside::simulate {
namespace {

constexpr std::int64_t kBase_s = 227 * schema::kBaseTimeUnit_s;

// The options that a seed chooses.
StepOptions options_of(std::uint64_t seed) {
  Random random(seed * 31 + 7);
  StepOptions options;
  options.seed = seed;
  options.ranks = static_cast<int>(random.between(2, 6));
  options.steps = static_cast<int>(random.between(2, 5));
  options.layers = static_cast<int>(random.between(2, 9));
  options.buckets = static_cast<int>(random.between(1, 4));
  options.slow = static_cast<Slow>(seed % 4);
  options.slow_rank = static_cast<int>(random.between(0, options.ranks));
  options.syncs_in_middle = seed / 4 % 2 == 0;
  options.syncs_at_end = seed / 8 % 2 == 0;
  options.tells_syncs = seed / 16 % 2 == 0;
  options.is_launch_bound = random.unit() < 0.3;
  return options;
}

class ProfileFile {
 public:
  ProfileFile(const std::string& directory, int rank, const StepJob& job,
              const StepOptions& options, const HostClock& clock)
      : out_(directory + "/profiles/kineto_" + std::to_string(rank) + ".json"),
        rank_(rank),
        job_(job),
        options_(options),
        clock_(clock) {}

  void write() {
    out_ << R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":)" << rank_
         << R"(,"world_size":)" << options_.ranks
         << R"(,"pg_config":[{"pg_name":"world","pg_desc":"default_pg","ranks":[)";
    for (int rank = 0; rank < options_.ranks; ++rank) {
      out_ << (rank == 0 ? "" : ",") << rank;
    }
    out_ << R"(]}]},"baseTimeNanoseconds":)" << kBase_s * 1'000'000'000 << R"(,"traceEvents":[)";
    const char* comma = "\n";
    for (const Row& row : job_.rows()[static_cast<std::size_t>(rank_)]) {
      if (std::strcmp(row.category, "cuda_sync") != 0 || options_.tells_syncs) {
        out_ << comma;
        write(row);
        comma = ",\n";
      }
    }
    out_ << "\n]}\n";
    out_.flush();
  }

 private:
  // Kineto has spaces behind colons.
  void write(const Row& row) {
    const bool is_gpu = row.stream >= 0;
    const std::int64_t start_ns =
        clock_.at(kJobStart_ns + (row.from < 0 ? job_.times(-row.from - 1).end_ns
                                               : job_.times(row.from).start_ns));
    const std::int64_t end_ns = clock_.at(kJobStart_ns + job_.times(row.to).end_ns);
    const int pid = 1000 + rank_;
    out_ << R"({"ph": "X", "cat": ")" << row.category << R"(", "name": ")" << row.name
         << R"(", "pid": )" << (is_gpu ? 0 : pid) << R"(, "tid": )"
         << (is_gpu            ? row.stream
             : row.thread == 0 ? 7000 + rank_
                               : pid)
         << R"(, "ts": )";
    out_.microseconds(start_ns) << R"(, "dur": )";
    out_.microseconds(end_ns - start_ns) << R"(,"args":{)";
    const char* comma = "";
    const auto member = [&](const char* name, std::int64_t value) {
      out_ << comma << '"' << name << "\":" << value;
      comma = ",";
    };
    if (is_gpu) {
      member("device", 0);
      member("stream", row.stream);
    }
    if (row.external_id >= 0) {
      member("External id", row.external_id);
    }
    if (row.correlation >= 0) {
      member("correlation", row.correlation);
    }
    out_ << (*comma == '\0' && !row.more.empty() ? std::string_view(row.more).substr(1)
                                                 : std::string_view(row.more))
         << "}}";
  }

  LineBuffer out_;
  int rank_;
  const StepJob& job_;
  const StepOptions& options_;
  const HostClock& clock_;
};

void write_truth(const std::string& path, const StepJob& job, const StepOptions& options) {
  constexpr const char* kSlow[] = {"nobody", "compute", "launch", "data_loader"};
  std::ofstream out(path);
  out << "{\"ranks\":" << options.ranks << ",\"slow\":\"" << kSlow[static_cast<int>(options.slow)]
      << "\",\"slow_rank\":" << options.slow_rank
      << ",\"tells_syncs\":" << (options.tells_syncs ? "true" : "false")
      << ",\"collectives\":" << job.collectives().size() << ",\"steps\":[";
  const std::vector<TrueStep> steps = job.truth();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TrueStep& step = steps[i];
    out << (i == 0 ? "" : ",") << "\n{\"duration_ns\":" << step.end_ns - step.start_ns
        << ",\"last\":" << step.last;
    for (const auto& [name, values] :
         {std::pair("spent_ns", &step.spent_ns), std::pair("gain_ns", &step.gain_ns)}) {
      out << ",\"" << name << "\":{";
      for (std::size_t work = 0; work < kWorks; ++work) {
        out << (work == 0 ? "" : ",") << '"' << kWorkNames[work] << "\":" << (*values)[work];
      }
      out << '}';
    }
    out << ",\"waits\":[";
    for (std::size_t k = 0; k < step.waits.size(); ++k) {
      const TrueWait& wait = step.waits[k];
      out << (k == 0 ? "" : ",") << "{\"seq\":" << wait.collective << ",\"by\":" << wait.by
          << ",\"waits_for\":" << wait.waits_for << ",\"waited_ns\":" << wait.waited_ns << '}';
    }
    out << "]}";
  }
  out << "\n]}\n";
  if (!out) {
    throw std::runtime_error(path + " cannot be written");
  }
}

void generate(const std::string& directory, std::uint64_t seed, bool has_times, int hosts) {
  StepOptions options = options_of(seed);
  if (hosts > 1) {
    options.ranks += options.ranks % 2;
    options.slow_rank %= options.ranks;
  }
  const StepJob job(options);
  std::filesystem::create_directories(directory + "/profiles");
  Options of_traces;
  of_traces.directory = directory;
  of_traces.seed = seed;
  of_traces.hosts = hosts;
  of_traces.ranks_per_host = options.ranks / hosts;
  of_traces.detail = Detail::kNormal;
  of_traces.proxy_times = !has_times;  // without rows of the network only calls are known
  Random random(seed ^ 0xc10c5U);
  std::vector<HostClock> clocks(static_cast<std::size_t>(hosts));
  for (HostClock& clock : clocks) {
    clock.offset_ns = hosts == 1 ? 0 : random.between(-300'000'000, 300'000'000);
  }
  Communicator world;
  world.hash = seed * 1000 + 17;
  for (int rank = 0; rank < options.ranks; ++rank) {
    world.members.push_back(rank);
  }
  std::int64_t end_ns = 0;
  for (const TrueStep& step : job.truth()) {
    end_ns = std::max(end_ns, step.end_ns);
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    const HostClock& clock = clocks[static_cast<std::size_t>(rank / of_traces.ranks_per_host)];
    TraceFile file(of_traces, rank, clock);
    file.begin({world});
    std::int64_t seq = 0;
    for (const Collective& collective : job.collectives()) {
      const auto own = static_cast<std::size_t>(rank);
      Operation operation;
      operation.rank = operation.local_rank = rank;
      operation.func = "AllReduce";
      operation.seq = seq++;
      operation.count = collective.elements;
      operation.bytes = collective.elements * 4;
      operation.group_id = seq;
      operation.enqueue_start_ns = kJobStart_ns + job.times(collective.calls[own]).start_ns;
      operation.enqueue_end_ns = kJobStart_ns + job.times(collective.calls[own]).end_ns;
      operation.start_ns = kJobStart_ns + job.times(collective.arrivals[own]).start_ns;
      operation.end_ns = kJobStart_ns + job.times(collective.ends[own]).end_ns;
      file.take(operation);
    }
    file.end(kJobStart_ns - 2'000'000, kJobStart_ns + end_ns + 1'000'000);
    ProfileFile(directory, rank, job, options, clock).write();
  }
  write_truth(directory + "/truth.json", job, options);
}

}  // namespace
}  // namespace ringside::simulate

int main(int argc, char** argv) {
  if (argc < 3) {
    std::puts(
        "usage: ringside_generate_steps DIRECTORY SEED [--only-calls] [--hosts 2]\n"
        "Writes a trace of Ringside and one of PyTorch's profiler for each rank of a training that "
        "the seed chooses, and truth.json: what the path of each step was spent on, who waited for "
        "whom, and by how much the step would be shorter if a kind of work took no time.\n"
        "--only-calls: NCCL tells no execution.  --hosts 2: two hosts whose clocks differ.");
    return 2;
  }
  try {
    bool has_times = true;
    int hosts = 1;
    for (int i = 3; i < argc; ++i) {
      has_times = has_times && std::strcmp(argv[i], "--only-calls") != 0;
      hosts = std::strcmp(argv[i], "--hosts") == 0 && i + 1 < argc ? std::atoi(argv[i + 1]) : hosts;
    }
    ringside::simulate::generate(argv[1], std::strtoull(argv[2], nullptr, 10), has_times,
                                 hosts < 1 ? 1 : hosts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringside_generate_steps: %s\n", error.what());
    return 1;
  }
  return 0;
}
