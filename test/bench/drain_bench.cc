// SPDX-License-Identifier: Apache-2.0
//
// How fast the drain makes lines of records, on one core.
//
//   ringside_bench_drain [--seconds S] [--load NAME] [--rings N] [--file PATH]
//   ringside_bench_drain --paced LINES_PER_S [--seconds S] [--load NAME]
//
// The first form fills rings, untimed, and takes the processor time of emptying them: into nothing
// (reading and assembling alone), into memory (and making JSON of it), into memory with a journal
// of what is not in the trace yet, as the plugin keeps one, and into a file if asked, compressed if
// its name ends in ".gz". The second
// lets a producer make records at a rate in real time while another thread drains every ten
// milliseconds, as the plugin does, and says what did not fit into the rings. The load `groups` has
// its records in N rings (20), a start and a stop in each in turn, so that nearly each record is
// from another ring than the one before it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/drain/ring_reader.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/export/trace_file.h"
#include "plugin/journal/journal.h"
#include "test/bench/drain_load.h"

using namespace ringside;
using bench::Load;
using bench::Mix;

namespace {

constexpr std::int64_t kCycle_ns = 10'000'000;
constexpr int kSettleEvery = 5;  // cycles

Mix g_mixes[] = {{"calls", 0, 0, false, 20'000},
                 {"kernel", 4, 0, true, 40'000},
                 {"steps", 4, 8, false, 9'000},
                 {"kernel+steps", 4, 8, true, 8'000},
                 {"groups", 0, 0, false, 200'000, 20}};

// Keeps the last of the lines, and a digest of all: the same load is to give the same bytes.
class Memory final : public exporting::LineSink {
 public:
  explicit Memory(exporting::LineSink* next = nullptr) : next_(next), block_(1U << 20, '\0') {}
  void add(std::string_view line, const assemble::Tally& tally) override {
    ++lines;
    bytes += line.size();
    if (at_ + line.size() > block_.size()) {
      digest();
    }
    line.copy(block_.data() + at_, line.size());
    at_ += line.size();
    if (next_ != nullptr) {
      next_->add(line, tally);
    }
  }
  std::uint64_t digest() {
    if (with_digest) {
      for (std::size_t i = 0; i < at_; ++i) {
        digest_ = (digest_ ^ static_cast<unsigned char>(block_[i])) * 0x100000001B3U;
      }
    }
    at_ = 0;
    return digest_;
  }
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  bool with_digest = false;

 private:
  exporting::LineSink* next_;
  std::string block_;
  std::size_t at_ = 0;
  std::uint64_t digest_ = 0xCBF29CE484222325U;
};

class Nothing final : public assemble::Sink {
 public:
  void row(const assemble::Row&, const assemble::Tally&) override {}
  void thread(std::int32_t, std::string_view) override {}
  void communicator(const assemble::Communicator&) override {}
  void gpu_clock(std::uint32_t, const assemble::GpuClockFit&) override {}
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// As RINGSIDE_JOURNAL_BYTES is by default.
constexpr std::size_t kJournalBytes = std::size_t{32} << 20;

// Notes rows in the journal, if there is one, as the plugin's does.
struct NotingSink final : assemble::Sink {
  explicit NotingSink(assemble::Sink& to) : trace(to) {}
  void row(const assemble::Row& row, const assemble::Tally& tally) override {
    trace.row(row, tally);
    if (journal != nullptr) {
      journal->written(assemble::row_key(row));
    }
  }
  void thread(std::int32_t tid, std::string_view name) override { trace.thread(tid, name); }
  void communicator(const assemble::Communicator& communicator) override {
    trace.communicator(communicator);
    if (journal != nullptr) {
      journal->note(communicator);
    }
  }
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override {
    trace.gpu_clock(context, fit);
    if (journal != nullptr) {
      journal->note_gpu_clock(context, fit);
    }
  }
  assemble::Sink& trace;
  journal::Journal* journal = nullptr;
};

// Rings, a load for them, and what empties them.
struct Drain {
  std::unique_ptr<record::RingPool> pool = std::make_unique<record::RingPool>();
  std::unique_ptr<Load> load;
  std::unique_ptr<assemble::ClockModel> clock;
  NotingSink sink;
  std::unique_ptr<assemble::Assembler> assembler;
  std::unique_ptr<drain::RingReader> reader;
  std::unique_ptr<char[]> journal_memory;
  std::optional<journal::Journal> journal;

  Drain(const Mix& mix, assemble::Sink& trace, bool real_time, bool with_journal = false)
      : sink(trace) {
    pool->prepare();
    if (mix.groups_on > 100) {
      pool->set_ring_bytes(record::RingPool::kLeastBytes);  // thousands of rings need much memory
    }
    load = std::make_unique<Load>(*pool, mix, real_time);
    clock = std::make_unique<assemble::ClockModel>(
        real_time ? record::read_clocks(record::find_clock_source()) : reading(0));
    assembler = std::make_unique<assemble::Assembler>(sink);
    reader = std::make_unique<drain::RingReader>(*pool, *clock, *assembler);
    if (with_journal) {
      journal_memory = std::make_unique<char[]>(kJournalBytes);
      journal.emplace(journal_memory.get(), kJournalBytes, 1, 1);
      sink.journal = &*journal;
      reader->set_journal(*journal);
    }
    assembler->open_window(1, 0);
    assembler->expect(record::bit(record::EventType::kProxyOp) |
                      (mix.kernels ? record::bit(record::EventType::kKernelCh) : 0));
    for (std::uint32_t context = 1; context <= Load::kCommunicators; ++context) {
      assemble::Communicator made;
      made.context = context;
      made.abi_version = 6;
      made.has_hash = made.has_size = made.rank_known = true;
      made.hash = 0xba385c900b3c5b33U + context;
      made.nranks = 16;
      made.nnodes = 2;
      made.created_ns = 0;
      assembler->open_communicator(made);
    }
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    for (std::uint32_t i = 0; i < pool->count(); ++i) {
      record::Ring* const ring = pool->ring(i);
      munmap(ring->name_cache, sizeof(record::NameCache));
      munmap(ring, sizeof *ring + ring->capacity * sizeof(record::Slot));
    }
  }
  static record::ClockReading reading(std::int64_t ns) {
    return {Load::ticks_of(ns), static_cast<std::uint64_t>(ns),
            1'700'000'000'000'000'000U + static_cast<std::uint64_t>(ns), 20};
  }
  std::uint64_t cycle(const record::ClockReading& now, bool settle) {
    clock->add(now);
    reader->begin(now.ticks);
    while (!reader->take_records()) {
      checkpoint();
      journal->make_room([this](std::span<assemble::Question> asked) { assembler->answer(asked); });
    }
    if (settle) {
      assembler->settle(clock->ns(now.ticks));
      if (journal) {
        checkpoint();
      }
    }
    return reader->taken();
  }
  void checkpoint() {
    journal::Checkpoint made{};
    made.segment = 1;
    made.next_operation = assembler->next_operation();
    journal->checkpoint(made,
                        [this](std::span<assemble::Question> asked) { assembler->answer(asked); });
  }
};

struct Cost {
  double cpu_s = 0, wall_s = 0;
  std::uint64_t records = 0;
};

// Empties the rings every 10 ms of the load's time; the time of emptying alone.
Cost measure(const Mix& mix, assemble::Sink& sink, double seconds, bool with_journal = false) {
  Drain drain(mix, sink, false, with_journal);
  Cost cost;
  std::int64_t next_ns = drain.load->now_ns();
  const auto end_ns = next_ns + static_cast<std::int64_t>(seconds * 1e9);
  for (int cycle = 0; next_ns < end_ns; ++cycle) {
    next_ns += kCycle_ns;
    while (drain.load->now_ns() < next_ns) {
      drain.load->collective();
    }
    const double cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const double wall_s = seconds_of(CLOCK_MONOTONIC);
    cost.records += drain.cycle(Drain::reading(drain.load->now_ns()), cycle % kSettleEvery == 0);
    cost.cpu_s += seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
    cost.wall_s += seconds_of(CLOCK_MONOTONIC) - wall_s;
  }
  if (drain.load->dropped() != 0) {
    std::printf("%s: %llu records did not fit into the rings\n", std::string(mix.name).c_str(),
                static_cast<unsigned long long>(drain.load->dropped()));
    std::exit(1);
  }
  return cost;
}

void measure_all(double seconds, const std::string& load, const std::string& path) {
  std::printf("%-13s %11s %13s %10s %12s %9s %9s %9s  %s\n", "load", "lines/s", "records/s",
              "bytes/line", "assemble", "JSON", "journal", "records/", "digest");
  std::printf("%-13s %11s %13s %10s %12s %9s %9s %9s\n", "", "", "", "", "ns/line", "ns/line",
              "ns/line", "line");
  for (const Mix& mix : g_mixes) {
    if (!load.empty() && load != mix.name) {
      continue;
    }
    Nothing nothing;
    const Cost assembling = measure(mix, nothing, seconds);
    Memory memory;
    exporting::ChromeTrace trace(memory);
    const Cost all = measure(mix, trace, seconds);
    Memory beside;
    exporting::ChromeTrace kept(beside);
    const Cost with_journal = measure(mix, kept, seconds, true);
    Memory again;
    again.with_digest = true;
    exporting::ChromeTrace same(again);
    measure(mix, same, 1);
    const auto lines = static_cast<double>(memory.lines);
    std::printf(
        "%-13s %11.0f %13.0f %10.1f %12.1f %9.1f %9.1f %9.2f  %016llx\n",
        std::string(mix.name).c_str(), lines / all.cpu_s,
        static_cast<double>(all.records) / all.cpu_s, static_cast<double>(memory.bytes) / lines,
        assembling.cpu_s / lines * 1e9, (all.cpu_s - assembling.cpu_s) / lines * 1e9,
        (with_journal.cpu_s - all.cpu_s) / lines * 1e9, static_cast<double>(all.records) / lines,
        static_cast<unsigned long long>(again.digest()));
    if (path.empty()) {
      continue;
    }
    exporting::TraceFile file;
    if (const Result made = file.create(path); !made.is_ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), made.text().c_str());
      std::exit(1);
    }
    if (path.ends_with(".gz")) {
      file.compress();
    }
    Memory counted(&file);
    exporting::ChromeTrace written(counted);
    const Cost cost = measure(mix, written, seconds);
    if (const Result closed = file.close(); !closed.is_ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), closed.text().c_str());
      std::exit(1);
    }
    std::remove(path.c_str());
    std::printf(
        "%-13s %11.0f lines/s, %.0f MB/s of wall time, %.0f MB/s of processor time, %.3f "
        "of the text, into %s\n",
        "  file", static_cast<double>(counted.lines) / cost.wall_s,
        static_cast<double>(counted.bytes) / cost.wall_s * 1e-6,
        static_cast<double>(counted.bytes) / cost.cpu_s * 1e-6,
        static_cast<double>(file.bytes()) / static_cast<double>(file.text_bytes()), path.c_str());
  }
}

double lines_per_collective(const Mix& mix) {
  constexpr int kCollectives = 100;
  Memory memory;
  exporting::ChromeTrace trace(memory);
  Drain drain(mix, trace, false);
  for (int i = 0; i < kCollectives; ++i) {
    drain.load->collective();
  }
  drain.cycle(Drain::reading(drain.load->now_ns()), false);
  drain.assembler->close(drain.load->now_ns());
  return static_cast<double>(memory.lines) / kCollectives;
}

int paced(double lines_per_s, double seconds, const std::string& load) {
  using Clock = std::chrono::steady_clock;
  int failed = 0;
  for (const Mix& mix : g_mixes) {
    if (!load.empty() && load != mix.name) {
      continue;
    }
    const double per_s = lines_per_s / lines_per_collective(mix);

    Memory memory;
    exporting::ChromeTrace trace(memory);
    Drain drain(mix, trace, true);
    std::atomic<bool> over{false};
    double cpu_s = 0;
    std::thread drainer([&] {
      const auto source = record::find_clock_source();
      auto next = Clock::now();
      for (int cycle = 0; !over.load(std::memory_order_acquire); ++cycle) {
        if (!drain.reader->fills_fast()) {
          next = std::max(next + std::chrono::nanoseconds(kCycle_ns), Clock::now());
          std::this_thread::sleep_until(next);
        }
        drain.cycle(record::read_clocks(source), cycle % kSettleEvery == 0);
      }
      cpu_s = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    });
    // If the producer got no processor for a while, it does not make up for it in a burst.
    constexpr double kMostBehind_s = 0.001;
    const auto begin = Clock::now();
    double due_s = 0;
    for (double at_s = 0; at_s < seconds;
         at_s = std::chrono::duration<double>(Clock::now() - begin).count()) {
      for (due_s = std::max(due_s, at_s - kMostBehind_s); due_s < at_s; due_s += 1 / per_s) {
        drain.load->collective();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    over.store(true, std::memory_order_release);
    drainer.join();
    std::printf("%-13s %9.0f lines/s, drain %3.0f %% of a core, %llu of %llu records dropped\n",
                std::string(mix.name).c_str(), static_cast<double>(memory.lines) / seconds,
                cpu_s / seconds * 100, static_cast<unsigned long long>(drain.load->dropped()),
                static_cast<unsigned long long>(drain.load->appended()));
    failed += drain.load->dropped() != 0 ? 1 : 0;
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 6;
  double lines_per_s = 0;
  std::string load;
  std::string path;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 < argc && option == "--seconds") {
      seconds = std::atof(argv[i + 1]);
    } else if (i + 1 < argc && option == "--paced") {
      lines_per_s = std::atof(argv[i + 1]);
    } else if (i + 1 < argc && option == "--load") {
      load = argv[i + 1];
    } else if (i + 1 < argc && option == "--rings") {
      std::end(g_mixes)[-1].groups_on = std::clamp(std::atoi(argv[i + 1]), 1, 4000);
    } else if (i + 1 < argc && option == "--file") {
      path = argv[i + 1];
    } else {
      std::fprintf(stderr,
                   "usage: %s [--seconds S] [--load calls|kernel|steps|kernel+steps|groups] "
                   "[--rings N] [--file PATH | --paced LINES_PER_S]\n",
                   argv[0]);
      return 2;
    }
  }
  if (lines_per_s > 0) {
    return paced(lines_per_s, seconds, load);
  }
  measure_all(seconds, load, path);
  return 0;
}
