// SPDX-License-Identifier: Apache-2.0
//
// ringside_bench_record: the pieces that a callback is made of, by themselves. No drain runs: the
// consumer's part, giving the slots back, is done between calls where the ring would fill.
#include <benchmark/benchmark.h>

#include "plugin/record/callbacks.h"

namespace {

using namespace ringside::record;  // NOLINT(google-build-using-namespace)

Recorder& recorder() {
  static Recorder* const made = [] {
    auto* fresh = new Recorder;
    fresh->prepare();
    fresh->set_gate(0xFFFF);
    return fresh;
  }();
  return *made;
}

/// Gives all slots back when half are used.
void empty_ring() {
  Ring* const ring = recorder().rings().current();
  if (ring->position - ring->tail.load(std::memory_order_relaxed) > ring->capacity / 2) {
    ring->tail.store(ring->position, std::memory_order_release);
  }
}

EventStart step(void* parent) {
  EventStart event{};
  event.type = EventType::kProxyStep;
  event.parent = parent;
  event.step = {2};
  return event;
}

void read_clock(benchmark::State& state) {
  const ClockSource source = find_clock_source();
  for ([[maybe_unused]] auto turn : state) {
    benchmark::DoNotOptimize(read_ticks(source));
  }
}

EventStart step_of_context() {
  EventStart event = step(nullptr);
  event.context = recorder().context_handle(recorder().new_context());
  return event;
}

/// As the adapters do it, and always in full.
void start_step(benchmark::State& state) {
  const EventStart event = step_of_context();
  for ([[maybe_unused]] auto turn : state) {
    empty_ring();
    void* handle = nullptr;
    if (!recorder().quick_start(event, &handle)) {
      handle = recorder().start(event);
    }
    benchmark::DoNotOptimize(handle);
  }
}

void start_step_in_full(benchmark::State& state) {
  const EventStart event = step_of_context();
  for ([[maybe_unused]] auto turn : state) {
    empty_ring();
    benchmark::DoNotOptimize(recorder().start(event));
  }
}

void state_step(benchmark::State& state) {
  void* const handle = recorder().start(step(nullptr));
  for ([[maybe_unused]] auto turn : state) {
    empty_ring();
    if (!recorder().quick_state(handle, EventState::kStepSendWait, 1, 0, false)) {
      recorder().state(handle, EventState::kStepSendWait, 1, 0, false);
    }
  }
}

void stop_step(benchmark::State& state) {
  void* const handle = recorder().start(step(nullptr));
  for ([[maybe_unused]] auto turn : state) {
    empty_ring();
    if (!recorder().quick_stop(handle)) {
      recorder().stop(handle);
    }
  }
}

void look_name_up(benchmark::State& state) {
  const char* name = "ncclFloat32";
  for ([[maybe_unused]] auto turn : state) {
    benchmark::DoNotOptimize(name);
    benchmark::DoNotOptimize(known_name(read_prefix(name)));
  }
}

void reserve_and_commit(benchmark::State& state) {
  Ring* const ring = recorder().rings().current();
  for ([[maybe_unused]] auto turn : state) {
    empty_ring();
    benchmark::DoNotOptimize(ring->reserve(1));
    ring->commit(1);
  }
}

BENCHMARK(read_clock);
BENCHMARK(start_step);
BENCHMARK(start_step_in_full);
BENCHMARK(state_step);
BENCHMARK(stop_step);
BENCHMARK(look_name_up);
BENCHMARK(reserve_and_commit);

}  // namespace

BENCHMARK_MAIN();
