// SPDX-License-Identifier: Apache-2.0
#include "test/bench/measure.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "plugin/record/clock.h"

namespace ringside::bench {
namespace {

using record::ClockSource;

ClockSource clock_source() {
  static const ClockSource source = record::find_clock_source();
  return source;
}

// Slots of a ring that a round may take: far below the least default ring.
constexpr int kBatchesPerRound = 16;

int empty_start(void* /*context*/, void** handle, void* /*descriptor*/) {
  *handle = handle;
  return 0;
}
int empty_stop(void* /*handle*/) {
  return 0;
}
int empty_state(void* /*handle*/, int /*state*/, void* /*args*/) {
  return 0;
}
constexpr ProfilerTable kEmpty = {"empty", nullptr, empty_start, empty_stop, empty_state, nullptr};

/// `body(i)` for i below kBatch, timed as a whole or each by itself.
template <class Body>
void timed(ClockSource source, bool single, std::vector<double>& out, Body&& body) {
  if (!single) {
    const std::uint64_t begin = record::read_ticks(source);
    for (int i = 0; i < kBatch; ++i) {
      body(i);
    }
    const std::uint64_t end = record::read_ticks(source);
    out.push_back(static_cast<double>(end - begin) / kBatch);
    return;
  }
  // On the stack, and moved when the batch is over: a store to a page that the processor has to
  // look for would be waited for within the next call.
  std::array<std::uint64_t, kBatch> ticks{};
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int i = 0; i < kBatch; ++i) {
    const std::uint64_t begin = record::read_ticks(source);
    body(i);
    const std::uint64_t end = record::read_ticks(source);
    ticks[static_cast<std::size_t>(i)] = end - begin;
  }
  out.insert(out.end(), ticks.begin(), ticks.end());
}

/// Starts the chain of parents of a kind; the handles to stop later, the nearest parent last.
std::vector<void*> start_parents(const Target& target, const Kind& kind) {
  const std::uint32_t type = parent_type(kind, target.version);
  if (type == 0) {
    return {};
  }
  std::vector<void*> chain = start_parents(target, kind_of(type));
  Descriptor descr =
      make_descriptor(target.version, kind_of(type), chain.empty() ? nullptr : chain.back());
  void* handle = nullptr;
  target.table->start_event(target.context, &handle, &descr);
  chain.push_back(handle);
  return chain;
}

void run_round(const Target& target, const Kind& kind, bool single, int batches, KindSamples& out) {
  const ClockSource source = clock_source();
  // Volatile: the calls are made through the table, as NCCL makes them.
  const volatile ProfilerTable* const table = target.table;
  const std::vector<void*> parents = start_parents(target, kind);
  Descriptor descr =
      make_descriptor(target.version, kind, parents.empty() ? nullptr : parents.back());
  StateArgs args{};
  const int state = state_of(target.version, kind);
  std::array<void*, kBatch> handles{};
  const auto at = [&](int i) -> void*& { return handles[static_cast<std::size_t>(i)]; };
  // Steady state: what the pause has cooled, this code too, is warm again before the first batch
  // that counts.
  KindSamples warm_up;
  for (int batch = -1; batch < batches; ++batch) {
    KindSamples& samples = batch < 0 ? warm_up : out;
    timed(source, single, single ? samples.start.single : samples.start.batch,
          [&](int i) { table->start_event(target.context, &at(i), &descr); });
    if (state >= 0) {
      timed(source, single, single ? samples.state.single : samples.state.batch,
            [&](int i) { table->record_event_state(at(i), state, &args); });
    }
    timed(source, single, single ? samples.stop.single : samples.stop.batch,
          [&](int i) { table->stop_event(at(i)); });
  }
  for (auto parent = parents.rbegin(); parent != parents.rend(); ++parent) {
    table->stop_event(*parent);
  }
}

void append(std::vector<double>& to, const std::vector<double>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

const ProfilerTable& empty_table() {
  return kEmpty;
}

KindSamples measure_kind(const Target& target, const Kind& kind, int threads, int calls) {
  const int rounds = std::max(1, calls / (kBatch * kBatchesPerRound));
  const int batches = std::clamp(calls / kBatch, 1, kBatchesPerRound);
  std::vector<KindSamples> samples(static_cast<std::size_t>(threads));
  // The threads go through a round together; between rounds one lets the plugin rest.
  std::atomic<int> arrived{0};
  std::atomic<int> round_open{-1};
  std::atomic<int> begun{0};
  const auto work = [&](std::size_t thread) {
    KindSamples warm_up;
    run_round(target, kind, false, 1, warm_up);
    for (int round = 0; round < 2 * rounds; ++round) {
      arrived.fetch_add(1, std::memory_order_acq_rel);
      if (thread == 0) {
        while (arrived.load(std::memory_order_acquire) < threads * (round + 1)) {
          std::this_thread::yield();
        }
        if (target.rest) {
          target.rest();
        }
        round_open.store(round, std::memory_order_release);
      }
      // Asleep while the plugin rests, which may need the core; then spinning, to begin together.
      while (round_open.load(std::memory_order_acquire) < round) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      begun.fetch_add(1, std::memory_order_acq_rel);
      while (begun.load(std::memory_order_acquire) < threads * (round + 1)) {
      }
      run_round(target, kind, round % 2 == 1, batches, samples[thread]);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t thread = 1; thread < samples.size(); ++thread) {
    others.emplace_back(work, thread);
  }
  work(0);
  for (std::thread& other : others) {
    other.join();
  }
  for (std::size_t thread = 1; thread < samples.size(); ++thread) {
    append(samples[0].start.batch, samples[thread].start.batch);
    append(samples[0].start.single, samples[thread].start.single);
    append(samples[0].state.batch, samples[thread].state.batch);
    append(samples[0].state.single, samples[thread].state.single);
    append(samples[0].stop.batch, samples[thread].stop.batch);
    append(samples[0].stop.single, samples[thread].stop.single);
  }
  return std::move(samples[0]);
}

Samples measure_clock(int calls) {
  const ClockSource source = clock_source();
  Samples out;
  for (int batch = 0; batch < std::max(1, calls / kBatch); ++batch) {
    for (const bool single : {false, true}) {
      timed(source, single, single ? out.single : out.batch,
            [&](int) { static_cast<void>(record::read_ticks(source)); });
    }
  }
  return out;
}

double percentile(std::vector<double>& samples, double share) {
  if (samples.empty()) {
    return 0;
  }
  const auto rank = std::min(samples.size() - 1,
                             static_cast<std::size_t>(share * static_cast<double>(samples.size())));
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(rank),
                   samples.end());
  return samples[rank];
}

double ns_per_tick() {
  const record::ClockReading first = record::read_clocks(clock_source());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const record::ClockReading last = record::read_clocks(clock_source());
  return static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
         static_cast<double>(last.ticks - first.ticks);
}

}  // namespace ringside::bench
