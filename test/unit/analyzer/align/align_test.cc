// SPDX-License-Identifier: Apache-2.0
//
// Jobs with known clocks: the true offset must always be within its bounds.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "test/unit/analyzer/align/hosts.h"
#include "test/unit/catch.h"

using namespace ringside;

namespace {

struct Clock {
  double offset_ns = 0;
  double drift = 0;
  double swing_ns = 0;  // a slow sine on top
  double period_ns = 1e10;
  double step_at_ns = 1e18;
  double step_ns = 0;

  double own(double true_ns) const {
    return true_ns + offset_ns + drift * true_ns + (true_ns < step_at_ns ? 0 : step_ns) +
           swing_ns * std::sin(true_ns / period_ns * 2 * std::acos(-1.0));
  }
};

struct Job {
  int hosts = 3;
  int ranks_per_host = 2;
  int operations = 400;
  double pause_ns = 2e6;
  std::uint32_t straggler = 1000;  // a rank that is late
  // By how much, by the number of the operation.
  std::function<double(int)> late_ns = [](int) { return 1e6; };
  bool same_clocks = false;
  double spread_ns = 3e5;  // between the arrivals of ranks that are not late
  bool gpu = true;
  double gpu_late_ns = 0;  // of the GPU's stamps, the same for all
  std::string nccl = "2.29.7";
  bool with_steps = false;
  int stepping = -1;  // a host whose clock steps 0.4 s after the begin
  double step_ns = 0;
  bool is_told = false;
};

struct Made {
  model::Traces traces;
  std::vector<Clock> clocks;  // by host
  double true_end_ns = 0;
};

constexpr std::int64_t kBegin_ns = 5'000'000'000;

Made make(const Job& job, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  Made made;
  for (int h = 0; h < job.hosts; ++h) {
    if (job.same_clocks) {
      made.clocks.emplace_back();
      continue;
    }
    made.clocks.push_back({uniform(-2e9, 2e9), uniform(-50e-6, 50e-6), uniform(0, 5e3), 1e10});
  }
  if (job.stepping >= 0) {
    made.clocks[static_cast<std::size_t>(job.stepping)].step_at_ns = 4e8;
    made.clocks[static_cast<std::size_t>(job.stepping)].step_ns = job.step_ns;
  }
  const int ranks = job.hosts * job.ranks_per_host;
  for (int r = 0; r < ranks; ++r) {
    model::TraceFile& file = made.traces.files.emplace_back();
    file.process.host = "node" + std::to_string(r / job.ranks_per_host);
    file.process.boot_id = "boot" + std::to_string(r / job.ranks_per_host);
    file.process.nccl_version = job.nccl;
    file.process.abi = 6;
    file.process.base_time_s = 1'790'857'026;
    model::Context& context = file.contexts[1];
    context.comm = "0x1";
    context.rank = static_cast<std::uint32_t>(r);
    context.nranks = static_cast<std::uint32_t>(ranks);
    context.created_ns = 1;
    context.operations = static_cast<std::uint64_t>(job.operations);
    file.windows[1] = {0, std::nullopt};
    if (job.is_told && r / job.ranks_per_host == job.stepping) {
      const Clock& clock = made.clocks[static_cast<std::size_t>(job.stepping)];
      const auto reading = [&](double true_ns) {
        model::ClockReading read;
        read.ts_ns = kBegin_ns + static_cast<std::int64_t>(clock.own(true_ns));
        read.monotonic_ns = read.ts_ns;
        return read;
      };
      // Each process reads the clocks at its own moments.
      file.clocks.push_back(reading(0));
      file.clocks.push_back(reading(4e8 + 4e6 + r * 1e5));
      file.clocks.back().step_after_ns = reading(4e8 - 6e6 + r * 1e5).ts_ns;
    }
  }
  double now_ns = 0;
  for (int i = 0; i < job.operations; ++i) {
    now_ns += uniform(0.5, 1.5) * job.pause_ns;
    std::vector<double> starts;
    for (int r = 0; r < ranks; ++r) {
      const bool is_late = static_cast<std::uint32_t>(r) == job.straggler;
      starts.push_back(now_ns + uniform(0, job.spread_ns) + (is_late ? job.late_ns(i) : 0));
    }
    const double last_ns = *std::max_element(starts.begin(), starts.end());
    for (int r = 0; r < ranks; ++r) {
      const Clock& clock = made.clocks[static_cast<std::size_t>(r / job.ranks_per_host)];
      const auto stamp = [&](double true_ns) {
        return kBegin_ns + static_cast<std::int64_t>(clock.own(true_ns));
      };
      model::Operation operation;
      operation.id = static_cast<std::uint64_t>(i) + 1;
      operation.context = 1;
      operation.func = made.traces.names.id(i % 3 == 0 ? "AllGather" : "AllReduce");
      operation.seq = static_cast<std::uint64_t>(i % 3 == 0 ? i / 3 : i - i / 3 - 1);
      operation.bytes = 1 << 20;
      operation.state = model::State::kCompleted;
      operation.times_from = job.gpu ? model::TimesFrom::kGpu : model::TimesFrom::kProxy;
      const double start_ns = starts[static_cast<std::size_t>(r)];
      operation.enqueue_start_ns = stamp(start_ns - uniform(5e3, 2e4));
      operation.start_ns = stamp(start_ns + job.gpu_late_ns);
      operation.end_ns = stamp(last_ns + uniform(5e4, 8e4) + job.gpu_late_ns);
      made.traces.files[static_cast<std::size_t>(r)].operations.push_back(operation);
    }
    now_ns = last_ns + 8e4;
  }
  made.true_end_ns = now_ns;
  return made;
}

// The greatest error of a difference between two hosts, as a multiple of its bound.
double worst(const Made& made, const align::Alignment& alignment, int ranks_per_host) {
  double most = 0;
  for (double true_ns = 0; true_ns < made.true_end_ns; true_ns += made.true_end_ns / 50) {
    for (std::uint32_t a = 0; a < made.clocks.size(); ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const auto file = [&](std::uint32_t host) {
          return host * static_cast<std::uint32_t>(ranks_per_host);
        };
        const auto common = [&](std::uint32_t host) {
          return alignment.to_common_ns(
              file(host), kBegin_ns + static_cast<std::int64_t>(made.clocks[host].own(true_ns)));
        };
        const auto bound_ns = alignment.uncertainty_ns(file(a), file(b), common(a));
        REQUIRE(bound_ns);
        const auto error_ns = static_cast<double>(std::abs(common(a) - common(b)));
        most = std::max(most, error_ns / static_cast<double>(*bound_ns));
      }
    }
  }
  return most;
}

}  // namespace

TEST_CASE("the true offset is within the uncertainty, whatever the clocks do", "[answers]") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Job job;
    job.hosts = 2 + static_cast<int>(seed % 4);
    job.gpu = seed % 2 == 0;
    job.gpu_late_ns = seed % 3 == 0 ? 8e3 : 0;
    job.straggler = seed % 5 == 0 ? 1 : 1000;
    job.pause_ns = seed % 7 == 0 ? 5e7 : 2e6;
    const Made made = make(job, seed);
    const auto alignment = align::Alignment::estimate(made.traces);
    INFO("seed " << seed);
    CHECK(alignment.is_aligned());
    CHECK(worst(made, alignment, job.ranks_per_host) <= 1.0);
    for (std::size_t h = 0; h < made.clocks.size(); ++h) {
      CHECK(alignment.hosts()[h].is_bounded);
      // Without a straggler each host is last now and then, so the bounds are near.
      if (job.straggler == 1000) {
        CHECK(alignment.hosts()[h].uncertainty_ns < 150'000);
      }
    }
  }
}

TEST_CASE("a host that is late is not taken for one whose clock is off") {
  const std::vector<std::function<double(int)>> ways = {
      [](int i) { return i < 3 ? 0.0 : 5e6; },                  // after a quick start
      [](int i) { return i < 200 ? 0.0 : 5e6; },                // from the middle on
      [](int i) { return i % 100 < 50 ? 0.0 : 3e6; },           // in phases
      [](int i) { return i * 2e4; },                            // more and more
      [](int i) { return i == 0 ? 0.0 : 1e6 + (i % 7) * 1e5; }  // but for the first
  };
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Job job;
    job.hosts = 2 + static_cast<int>(seed % 3);
    job.straggler = 0;
    job.ranks_per_host = 1;
    job.late_ns = ways[seed % ways.size()];
    job.same_clocks = seed % 2 == 0;
    job.pause_ns = seed % 3 == 0 ? 5e7 : 1e6;
    const Made made = make(job, seed);
    const auto alignment = align::Alignment::estimate(made.traces);
    INFO("seed " << seed);
    REQUIRE(alignment.is_aligned());
    CHECK(worst(made, alignment, job.ranks_per_host) <= 1.0);
  }
}

TEST_CASE("two hosts are known against each other better than by way of a third") {
  Job job;
  job.hosts = 4;
  job.ranks_per_host = 1;
  const Made made = make(job, 17);
  const auto alignment = align::Alignment::estimate(made.traces);
  const auto at_ns = alignment.to_common_ns(0, kBegin_ns + std::llround(made.clocks[0].own(4e8)));
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      const auto own_ns = [&](std::uint32_t file) {
        return *alignment.clock_at(alignment.host_of(file), at_ns).uncertainty_ns;
      };
      const bool has_reference =
          alignment.hosts()[a].is_reference || alignment.hosts()[b].is_reference;
      const auto pair_ns = static_cast<double>(*alignment.uncertainty_ns(a, b, at_ns));
      CHECK(pair_ns <= (own_ns(a) + own_ns(b)) * (has_reference ? 1.01 : 0.75));
    }
  }
}

TEST_CASE("a day is known as well as six minutes") {
  std::vector<std::int64_t> uncertainties_ns;
  for (const double seconds : {360.0, 86'400.0}) {
    Job job;
    job.hosts = 2;
    job.ranks_per_host = 1;
    job.operations = 3000;
    job.pause_ns = seconds * 1e9 / job.operations;
    job.same_clocks = true;
    job.spread_ns = 1e4;
    const Made made = make(job, 1);
    const auto alignment = align::Alignment::estimate(made.traces);
    CHECK(worst(made, alignment, job.ranks_per_host) <= 1.0);
    for (const align::HostOffset& host : alignment.hosts()) {
      uncertainties_ns.push_back(host.uncertainty_ns);
    }
  }
  const auto most = [&](std::size_t first) {
    return std::max(uncertainties_ns[first], uncertainties_ns[first + 1]);
  };
  CHECK(most(0) < 75'000);  // half of the way from the last start to an end, and the first start
  CHECK(most(2) < 75'000);
}

TEST_CASE("the ranks of one process help the clocks as those of several do") {
  Job job;
  Made made = make(job, 11);
  auto& files = made.traces.files;
  for (std::size_t host = 0; host < 3; ++host) {
    model::TraceFile& file = files[2 * host];
    file.contexts[2] = files[2 * host + 1].contexts[1];
    for (model::Operation operation : files[2 * host + 1].operations) {
      operation.context = 2;
      operation.id += 1000;
      file.operations.push_back(operation);
    }
  }
  files.erase(files.begin() + 5);
  files.erase(files.begin() + 3);
  files.erase(files.begin() + 1);
  const auto alignment = align::Alignment::estimate(made.traces);
  CHECK(alignment.points() == 400);
  CHECK(worst(made, alignment, 1) <= 1.0);
}

TEST_CASE("a restarted job whose communicators have no hash is two of them") {
  Job job;
  job.ranks_per_host = 1;
  Made made = make(job, 13);
  for (std::size_t i = 0; i < 3; ++i) {
    model::TraceFile& file = made.traces.files[i];
    file.process.pid = 1;
    file.contexts[1].comm.reset();
    file.process.start_ns = 0;
    model::TraceFile again = file;
    file.last_ns = kBegin_ns + static_cast<std::int64_t>(made.true_end_ns) + 5'000'000'000;
    again.process.start_ns = *file.last_ns + 1;
    again.contexts[1].created_ns = *file.last_ns + 2;
    again.windows[1].start_ns = *file.last_ns + 1;
    again.operations = {};
    for (model::Operation operation : file.operations) {
      for (auto* time : {&operation.enqueue_start_ns, &operation.start_ns, &operation.end_ns}) {
        // Drifts are far less than the wander that is assumed in this time.
        *time = **time + 20'000'000'000;
      }
      again.operations.push_back(operation);
    }
    made.traces.files.push_back(again);
  }
  const auto alignment = align::Alignment::estimate(made.traces);
  CHECK(alignment.points() == 800);
  CHECK(alignment.notes().empty());
  CHECK(alignment.hosts()[2].is_bounded);
}

namespace {

constexpr std::int64_t kMs = 1'000'000;

}  // namespace

TEST_CASE("a chain of many hosts is bounded to its end") {
  const std::uint32_t hosts = GENERATE(100U, 400U);
  Hosts job(hosts);
  for (std::uint32_t link = 0; link + 1 < hosts; ++link) {
    for (const std::uint32_t end : {0U, 1U}) {
      const std::uint32_t context = 2 - end;
      job.join(link + end, context, "0x" + std::to_string(link), end, 2);
      for (int i = 0; i < 3; ++i) {
        // Late links first, so that bounds do not pass the whole chain in one pass.
        const std::int64_t start_ns = (10 + i * 1000 + std::int64_t{hosts - link} * 2) * kMs;
        auto operation = job.call(link + end, context, "AllReduce", start_ns, start_ns + kMs);
        operation.seq = static_cast<std::uint64_t>(i);
        job.add(link + end, operation);
      }
    }
  }
  const auto alignment = align::Alignment::estimate(job.traces);
  // So many cannot be compared two by two.
  const std::vector<std::string> notes = {
      "400 hosts are too many to compare each two of them: the clocks of two hosts are known as "
      "well "
      "as both are against the reference"};
  CHECK(alignment.notes() == (hosts == 400 ? notes : std::vector<std::string>()));
  for (const align::HostOffset& host : alignment.hosts()) {
    CHECK(host.is_bounded);
    CHECK(std::abs(host.offset_ns) <= host.uncertainty_ns);
  }
}

TEST_CASE("a rank that sends nothing to another does not bound its clock") {
  constexpr std::uint32_t kRanks = 3;
  Hosts job(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    job.join(rank, 1, "0x1", rank, kRanks);
    for (int i = 0; i < 20; ++i) {
      // Rank 2 comes last, and rank 0 need not wait for it.
      const std::int64_t begin_ns = (10 + i * 50) * kMs;
      const std::int64_t start_ns = begin_ns + (rank == 2 ? 5 * kMs : 0);
      const std::int64_t end_ns = begin_ns + (rank == 0 ? 1 : 6) * kMs;
      for (std::uint32_t peer = 0; peer < kRanks; ++peer) {
        for (const char* func : {"Send", "Recv"}) {
          auto operation = job.call(rank, 1, func, start_ns, end_ns);
          const bool sends = func[0] == 'S';
          operation.peer = peer;
          operation.group = static_cast<std::uint64_t>(i) + 1;
          const auto [from, to] = sends ? std::pair(rank, peer) : std::pair(peer, rank);
          operation.bytes = from == 2 && to == 0 ? 0 : 4096;
          job.add(rank, operation);
        }
      }
    }
  }
  const auto alignment = align::Alignment::estimate(job.traces);
  CHECK(alignment.notes().empty());
  for (const align::HostOffset& host : alignment.hosts()) {
    CHECK(std::abs(host.offset_ns) <= host.uncertainty_ns);
  }
  CHECK(alignment.points() == 20 * 5);  // pairs that carry bytes
  // If ranks 0 and 1 share a host, what they send to rank 2 at once counts as the tighter transfer.
  job.traces.files[1].process.boot_id = job.traces.files[0].process.boot_id;
  CHECK(align::Alignment::estimate(job.traces).points() == 20 * 2);
}

TEST_CASE("pairs that are not counted from a common start say nothing of the clocks") {
  Hosts job(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    job.join(rank, 1, "0x1", rank, 2);
    // A period of 12.5 ms; rank 1 lacks the first call, and rank 0 the last.
    for (int i = 0; i < 100; ++i) {
      const std::int64_t start_ns = (10 + (i + static_cast<int>(rank))) * 12'500'000LL;
      auto send = job.call(rank, 1, "Send", start_ns, start_ns + kMs);
      send.peer = 1 - rank;
      job.add(rank, send);
      auto receive = job.call(rank, 1, "Recv", start_ns, start_ns + kMs);
      receive.peer = 1 - rank;
      job.add(rank, receive);
    }
  }
  job.traces.files[0].closed = false;
  job.traces.files[1].windows[1].start_ns = 77;
  const auto alignment = align::Alignment::estimate(job.traces);
  CHECK(alignment.points() == 0);
  CHECK_FALSE(alignment.uncertainty_ns(0, 1, 0));
}

TEST_CASE("ranks of one host share a clock, exactly") {
  Job job;
  job.hosts = 1;
  job.ranks_per_host = 4;
  Made made = make(job, 7);
  // Another process of the host has another constant between its times and the monotonic clock.
  made.traces.files[0].clocks.push_back({1000, 0, 500, 10});
  made.traces.files[1].clocks.push_back({9000, 0, 2500, 10});
  const auto alignment = align::Alignment::estimate(made.traces);
  CHECK(alignment.hosts().size() == 1);
  CHECK(alignment.uncertainty_ns(0, 3, 0) == 0);
  CHECK(alignment.to_common_ns(0, 1000 + 2000) == alignment.to_common_ns(1, 9000));
}

TEST_CASE("a clock may step, whether its trace tells or not") {
  for (unsigned seed = 1; seed <= 24; ++seed) {
    Job job;
    job.hosts = 2 + static_cast<int>(seed % 3);
    job.is_told = seed % 2 == 0;
    job.stepping = static_cast<int>(seed % 5) % job.hosts;
    job.step_ns = std::vector{2e6, 3e7, 5e9}[seed / 2 % 3];
    job.gpu = seed % 4 < 2;
    const Made made = make(job, seed);
    const auto alignment = align::Alignment::estimate(made.traces);
    INFO("seed " << seed);
    REQUIRE(alignment.is_aligned());
    const std::string note =
        std::accumulate(alignment.notes().begin(), alignment.notes().end(), std::string());
    INFO(note);
    CHECK(alignment.notes().size() == 1);
    CHECK(worst(made, alignment, job.ranks_per_host) <= 1.0);
    // With two hosts only their difference is known, so either may be named.
    const std::string host = "node" + std::to_string(job.stepping);
    CHECK(note.find(job.is_told ? "as its trace says" : "the operations show") !=
          std::string::npos);
    CHECK((note.find("clock of " + host + " stepped") != std::string::npos ||
           (job.hosts == 2 && !job.is_told)));
    for (const auto& row : alignment.hosts()) {
      CHECK(row.is_bounded);
      CHECK(row.uncertainty_ns < 150'000);
    }
  }
}

TEST_CASE("the first steps of a clock are told, and the others counted") {
  Job job;
  job.hosts = 2;
  job.stepping = 1;
  job.is_told = true;
  Made made = make(job, 2);
  for (model::TraceFile& file : made.traces.files) {
    for (int k = 1; k <= 20 && !file.clocks.empty(); ++k) {
      model::ClockReading reading = file.clocks.front();
      reading.ts_ns += 20'000'000 * k;
      reading.monotonic_ns = reading.ts_ns;
      reading.step_after_ns = reading.ts_ns - 1'000'000;
      file.clocks.push_back(reading);
    }
  }
  const auto alignment = align::Alignment::estimate(made.traces);
  REQUIRE(alignment.notes().size() == 6);
  CHECK(alignment.notes().back().find("more times") != std::string::npos);
}

TEST_CASE("what contradicts itself aligns nothing, and says so") {
  Made made = make(Job{}, 3);
  model::Operations& operations = made.traces.files[0].operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    model::Operation operation = operations[i];
    // This host's clock would step with each operation.
    for (auto* time : {&operation.enqueue_start_ns, &operation.start_ns, &operation.end_ns}) {
      *time = **time + (operation.id % 2 == 0 ? 0 : 50'000'000);
    }
    operations.set(i, operation);
  }
  const auto alignment = align::Alignment::estimate(made.traces);
  REQUIRE(alignment.notes().size() == 1);
  CHECK(alignment.notes().front().find("contradict each other") != std::string::npos);
  CHECK_FALSE(alignment.uncertainty_ns(0, 2, 0));
}

TEST_CASE("numbers that NCCL does not keep are not believed") {
  Job job;
  job.nccl = "2.25.1";
  Made made = make(job, 5);
  made.traces.files[0].windows[2] = {9, std::nullopt};
  for (std::size_t i = 1; i < made.traces.files.size(); ++i) {
    made.traces.files[i].windows[1].start_ns = 77;
  }
  const auto alignment = align::Alignment::estimate(made.traces);
  CHECK(alignment.points() == 0);
  CHECK(alignment.untrusted() > 0);
  CHECK_FALSE(alignment.hosts()[1].is_bounded);
}

TEST_CASE("times count from the epoch") {
  Made made = make(Job{}, 3);
  made.traces.files[0].process.base_time_s += 1000;
  const auto alignment = align::Alignment::none(made.traces);
  CHECK(alignment.to_common_ns(1, 42) == 1'790'857'026'000'000'042);
  CHECK(alignment.to_common_ns(0, 42) == 1'790'858'026'000'000'042);
}
