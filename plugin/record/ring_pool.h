// SPDX-License-Identifier: Apache-2.0
//
// All rings of the process. A thread gets its ring at its first event and keeps it until the thread
// ends. The ring is then drained and given to the next new thread. Rings are never unmapped,
// because a late callback of an ending thread, or the drain thread, may still use one.
#ifndef RINGSIDE_PLUGIN_RECORD_RING_POOL_H
#define RINGSIDE_PLUGIN_RECORD_RING_POOL_H

#include <array>
#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <string_view>

#include "plugin/record/handle.h"
#include "plugin/record/ring.h"

namespace ringside::record {

class RingPool {
 public:
  /// Longest name of a ring's file, with its NUL: "ring.4095".
  static constexpr std::size_t kNameBytes = 16;
  static constexpr std::string_view kRingPrefix = "ring.";
  /// The file of heads: a page for each ring of which only the head is kept.
  static constexpr char kHeadsName[] = "ring.heads";

  /// Smallest and largest size of a ring that set_ring_bytes takes.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{64} * 1024;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  /// Called once, before the first event. `clock`: of the records.
  void prepare(ClockSource clock = ClockSource::kClockGettime) noexcept;

  /// Rings made from now on are files `ring.<index>` in this directory, so that they outlive the
  /// process. Each has `ring_bytes` of slots, rounded up to a power of two. Together they have at
  /// most `all_bytes`. A further ring is in memory, and its head is in the file of heads, which is
  /// made here. The text must live as long as the process. Called once.
  void set_directory(const char* directory, std::uint64_t ring_bytes,
                     std::uint64_t all_bytes) noexcept;
  /// The process ends: removes all files from that directory, and from now on no ring is one.
  void remove_files(const char* directory) noexcept;

  /// How many rings could not be made as files although a directory was set, and the last reason
  /// (an errno).
  std::uint32_t without_file() const noexcept {
    return without_file_.load(std::memory_order_acquire);
  }
  int without_file_error() const noexcept {
    return without_file_error_.load(std::memory_order_relaxed);
  }

  /// Sets the bytes of slots of anonymous rings made from now on, rounded up to a power of two.
  void set_ring_bytes(std::uint64_t bytes) noexcept;

  /// The calling thread's ring. A thread's first call takes a free ring or maps a new one, with
  /// system calls but no lock. Later calls read a thread-local pointer. NULL if memory is short, if
  /// there are too many threads, or in the child of a fork. A thread that got none tries again at
  /// its 2nd, 4th, 8th ... call since, and at each kMostCallsToNextTry calls in the end.
  Ring* current() noexcept {
    Ring* ring = thread_ring_;
    return ring != nullptr ? ring : acquire(false);
  }

  /// The ring for the calling thread's marks: current(), but before keep_rings() one for marks
  /// alone. That ring is in no file, since a process that opens no communicator has none, and the
  /// child of a fork can have rings of its own. The thread leaves it, with its open ranges, when it
  /// gets the other. NULL as above.
  Ring* for_marks() noexcept;
  /// Whether the calling thread has a ring of either kind.
  bool has_ring() const noexcept { return thread_ring_ != nullptr || early_ring() != nullptr; }
  /// The first communicator is about to be opened: the rings can be made where they stay.
  void keep_rings() noexcept { keeps_rings_.store(true, std::memory_order_release); }

  /// The calling thread's ring if it has one already, else NULL.
  static Ring* known() noexcept { return thread_ring_; }

  const IdCheck& id_check() const noexcept { return id_check_; }

  /// No ring has this number or a higher one. For i below it, ring(i) may be NULL.
  std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  Ring* ring(std::uint32_t index) const noexcept {
    return rings_[index].load(std::memory_order_acquire);
  }

  /// For the child of a fork: from now on no thread gets a ring, and the calling thread loses its
  /// own.
  void close_in_child() noexcept;

  static std::array<char, kNameBytes> file_name(std::uint32_t index) noexcept;

  static constexpr std::uint32_t kMostCallsToNextTry = 1024;

 private:
  Ring* acquire(bool is_early) noexcept;
  Ring* take_free(bool is_early) noexcept;
  Ring* map_new(bool is_early) noexcept;
  Ring* early_ring() const noexcept;
  void leave_early_ring(Ring& own) noexcept;
  /// A number that no ring has; kMaxRings: there is none. Without a ring, it must be given back.
  std::uint32_t take_index() noexcept;
  Ring* make_ring(std::uint32_t index, bool is_early) noexcept;
  void* map_file(const char* directory, std::uint32_t index, std::uint64_t bytes) noexcept;
  void* head_of(std::uint32_t index) const noexcept;
  bool take_bytes(std::uint64_t bytes) noexcept;
  static void on_thread_exit(void* ring) noexcept;

  // With initial-exec this is one load. The default would call __tls_get_addr, which also allocates
  // at a thread's first use; TLSDESC costs a call, too, and not all supported compilers have it.
  // These few bytes come out of the static TLS that the C library reserves for libraries loaded
  // later (1,664 bytes in glibc).
  // NOLINTNEXTLINE(readability-identifier-naming)
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Ring* thread_ring_;

  IdCheck id_check_;
  std::array<std::atomic<Ring*>, kMaxRings> rings_{};
  std::array<std::atomic<bool>, kMaxRings> index_is_taken_{};
  std::atomic<std::uint32_t> count_{0};
  static constexpr std::uint64_t kDefaultBytes = std::uint64_t{2} << 20;

  // All members are zero before prepare() (recorder.h).
  std::atomic<std::uint64_t> ring_bytes_{0};  ///< 0: kDefaultBytes
  std::atomic<bool> usable_{false};
  std::atomic<bool> keeps_rings_{false};
  ClockSource clock_ = ClockSource::kClockGettime;  // the source whose value is 0
  std::atomic<const char*> directory_{nullptr};     ///< NULL: rings are in memory
  std::atomic<char*> heads_{nullptr};
  std::atomic<std::uint64_t> file_ring_bytes_{0};
  std::atomic<std::uint64_t> files_left_bytes_{0};
  std::atomic<std::uint32_t> without_file_{0};
  std::atomic<int> without_file_error_{0};
  pthread_key_t key_{};
};

}  // namespace ringside::record

#endif  // RINGSIDE_PLUGIN_RECORD_RING_POOL_H
