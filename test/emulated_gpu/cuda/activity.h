// SPDX-License-Identifier: Apache-2.0
//
// Tells one listener what happens on the devices: the calls of the API, and when the work that
// they gave to a stream began and ended. The emulated CUPTI listens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stream.h"

namespace emugpu::activity {

enum class Kind { kCall, kKernel, kCopy, kSet, kSynchronization, kEvent };
enum class Wait { kEvent, kStreamForEvent, kStream, kDevice };

enum class Memory { kPageable, kPinned, kDevice };

inline constexpr std::uint32_t kNoStream = ~std::uint32_t{0};

struct Record {
  Kind kind = Kind::kCall;
  const char* name =
      nullptr;          // the function that was called, or the kernel as its library names it
  bool driver = false;  // a call of the driver's API
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t stream = kNoStream;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  unsigned grid[3] = {};
  unsigned block[3] = {};
  std::size_t bytes = 0;
  unsigned value = 0;  // that memory is set to
  Memory from = Memory::kPageable;
  Memory to = Memory::kPageable;  // also what is set
  Wait wait = Wait::kStream;
  std::uint32_t event = 0;
};

using Listener = void (*)(const Record& record);
using Clock = std::uint64_t (*)();

// From now on; null ends it. A record is told by the thread of the call, or of the stream, at its
// end.
void listen(Listener listener);
bool listened();

// Sets the clock of all times: CLOCK_REALTIME in nanoseconds, unless the listener wants another.
void set_clock(Clock clock);
std::uint64_t now();

void tell(const Record& record);

// A call of the API by the application, for as long as this lives. A call within a call is part of
// that one, as in CUDA.
class Call {
 public:
  explicit Call(const char* name, bool driver = false);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The call has waited, or has made a stream wait, since it began.
  void waited(Wait wait, std::uint32_t stream, std::uint32_t event = 0);

 private:
  Record record_;
  bool outermost_ = false;
};

// The number of the call that the thread is in; 0 if nobody listens.
std::uint32_t current_correlation();

// Puts work on a stream that is told with its times.
void enqueue(Stream& stream, Record record, Stream::Task task);

}  // namespace emugpu::activity
