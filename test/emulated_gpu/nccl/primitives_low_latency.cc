// SPDX-License-Identifier: Apache-2.0
//
// The low-latency protocol: every eight bytes carry the step's flag, so the receiver polls the data
// itself. A step holds one chunk.
#include <algorithm>
#include <cstring>

#include "fifo.h"
#include "primitives.h"

namespace emugpu::nccl {
namespace {

constexpr std::size_t kLineData = 8;

// When the step counter reaches this pattern, the flags are about to repeat: the step's whole slot
// is written, so that no old flag can pass for a new one.
constexpr std::uint64_t kCleaningSteps = 0x7ffffff8;

bool cleans(std::uint64_t step) {
  return (step & kCleaningSteps) == kCleaningSteps;
}

std::uint32_t flag_of(std::uint64_t step) {
  return static_cast<std::uint32_t>(step + 1);
}

// Data and flag of half a line, written as one unit.
void write_half(std::uint32_t* half, std::uint32_t data, std::uint32_t flag) {
  const std::uint64_t both = data | std::uint64_t{flag} << 32;
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(half), both, __ATOMIC_RELEASE);
}

}  // namespace

LowLatencyLine* Primitives::low_latency_slot(const Connection& connection) const {
  auto* const lines = reinterpret_cast<LowLatencyLine*>(connection.info->buffers[kLowLatency]);
  return lines + (connection.step % kStepsPerBuffer) * lines_per_slot_;
}

Task Primitives::run_low_latency(Move move) {
  const std::size_t bytes = move.count * reduction_.element_size();
  const std::size_t lines = (bytes + kLineData - 1) / kLineData;
  if (move.send) {
    for (Connection& connection : sending_) {
      co_await block_.scheduler.until([&] { return slot_free(connection, 1); });
      announce_low_latency(connection, lines);
    }
  }

  gathered_.assign(lines * kLineData, 0);
  bool has_data = false;
  if (move.input != nullptr && bytes > 0) {
    std::memcpy(gathered_.data(), reduction_.prepare(move.input, move.count, scaled_), bytes);
    has_data = true;
  }
  if (move.receive) {
    for (Connection& connection : receiving_) {
      arrived_.resize(lines * kLineData);
      co_await read_lines(connection, arrived_.data(), lines);
      if (has_data) {
        reduction_.combine(gathered_.data(), gathered_.data(), arrived_.data(), move.count);
      } else {
        gathered_.swap(arrived_);
        has_data = true;
      }
    }
  }
  if (move.completes) reduction_.finish(gathered_.data(), move.count);

  if (move.send) {
    for (Connection& connection : sending_) write_lines(connection, gathered_.data(), lines);
  }
  if (move.output != nullptr && bytes > 0) std::memcpy(move.output, gathered_.data(), bytes);
  if (move.receive) {
    for (Connection& connection : receiving_) {
      ++connection.step;
      __atomic_store_n(connection.info->head, connection.step, __ATOMIC_RELEASE);
    }
  }
}

// The proxy sends this many bytes, as soon as it sees their flags.
void Primitives::announce_low_latency(const Connection& connection, std::size_t lines) {
  const std::size_t written = cleans(connection.step) ? lines_per_slot_ : lines;
  announce_size(*connection.info, connection.step, written * sizeof(LowLatencyLine));
}

void Primitives::write_lines(Connection& connection, const char* data, std::size_t lines) {
  LowLatencyLine* const slot = low_latency_slot(connection);
  const std::uint32_t flag = flag_of(connection.step);
  for (std::size_t i = 0; i < lines; ++i) {
    std::uint32_t halves[2];
    std::memcpy(halves, data + i * kLineData, sizeof halves);
    write_half(&slot[i].data_low, halves[0], flag);
    write_half(&slot[i].data_high, halves[1], flag);
  }
  if (cleans(connection.step)) {
    for (std::size_t i = lines; i < lines_per_slot_; ++i) {
      write_half(&slot[i].data_low, 0, flag);
      write_half(&slot[i].data_high, 0, flag);
    }
  }
  ++connection.step;
}

Task Primitives::read_lines(Connection& connection, char* data, std::size_t lines) {
  const LowLatencyLine* const slot = low_latency_slot(connection);
  const std::uint32_t flag = flag_of(connection.step);
  for (std::size_t i = 0; i < lines; ++i) {
    const LowLatencyLine& line = slot[i];
    const auto arrived = [&line, flag] {
      return __atomic_load_n(&line.flag_low, __ATOMIC_ACQUIRE) == flag &&
             __atomic_load_n(&line.flag_high, __ATOMIC_ACQUIRE) == flag;
    };
    // Most lines are there already: spare them the awaiter.
    if (!arrived()) co_await block_.scheduler.until(arrived);
    const std::uint32_t halves[2] = {line.data_low, line.data_high};
    std::memcpy(data + i * kLineData, halves, sizeof halves);
  }
}

}  // namespace emugpu::nccl
