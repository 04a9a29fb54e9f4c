// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/ring_pool.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <limits>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "plugin/posix/descriptors.h"
#include "plugin/posix/undisturbed.h"

namespace ringside::record {

thread_local constinit Ring* RingPool::thread_ring_ = nullptr;

namespace {

// After a thread got no ring: how many of its calls pass before it tries again, and how many are
// left. To try costs some system calls.
struct NextTry {
  std::uint32_t calls;
  std::uint32_t left;
  int ends;  // how often the thread has given its ring back
};
[[gnu::tls_model("initial-exec")]] thread_local constinit NextTry t_next_try{};

// The thread's ring for early marks. In the child of a fork it may be the parent's.
[[gnu::tls_model("initial-exec")]] thread_local constinit Ring* t_early_ring = nullptr;

// The process that owns the rings; set before the first ring is made.
constinit std::atomic<pid_t> g_owner{0};

std::uint64_t usable_bytes(std::uint64_t bytes) noexcept {
  return std::bit_ceil(std::clamp(bytes, RingPool::kLeastBytes, RingPool::kMostBytes));
}

void* map_anonymous(std::uint64_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
}

// Makes the file of a ring, with all its pages, so that no later event causes SIGBUS because the
// file system is full by then. Returns its descriptor, or a negative error number.
int make_file(int directory, const char* name, std::uint64_t bytes) noexcept {
  const int file = posix::own_descriptor([=] {
    return openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  });
  if (file < 0) {
    return -errno;
  }
  if (const int error = posix::allocate_file(file, bytes); error != 0) {
    unlinkat(directory, name, 0);
    close(file);
    return -error;
  }
  return file;
}

}  // namespace

void RingPool::prepare(ClockSource clock) noexcept {
  clock_ = clock;
  g_owner.store(getpid(), std::memory_order_relaxed);
  id_check_.prepare();
  usable_.store(pthread_key_create(&key_, &RingPool::on_thread_exit) == 0,
                std::memory_order_release);
}

void RingPool::set_ring_bytes(std::uint64_t bytes) noexcept {
  ring_bytes_.store(usable_bytes(bytes), std::memory_order_relaxed);
}

void RingPool::set_directory(int directory, std::uint64_t ring_bytes,
                             std::uint64_t all_bytes) noexcept {
  file_ring_bytes_.store(usable_bytes(ring_bytes), std::memory_order_relaxed);
  files_left_bytes_.store(all_bytes, std::memory_order_relaxed);
  directory_.store(directory + 1, std::memory_order_release);
}

Ring* RingPool::for_marks() noexcept {
  Ring* const own = keeps_rings_.load(std::memory_order_acquire) ? current() : thread_ring_;
  if (own != nullptr) {
    return own;
  }
  Ring* const early = early_ring();
  return early != nullptr || keeps_rings_.load(std::memory_order_relaxed) ? early : acquire(true);
}

Ring* RingPool::early_ring() const noexcept {
  return t_early_ring != nullptr && ring(t_early_ring->index) == t_early_ring ? t_early_ring
                                                                              : nullptr;
}

void RingPool::leave_early_ring(Ring& own) noexcept {
  if (Ring* const early = early_ring(); early != nullptr) {
    *own.open_ranges = *early->open_ranges;
    early->open_ranges->count = 0;
    early->open_ranges->deeper = 0;
    own.kept_slots = std::exchange(early->kept_slots, 0);
    own.limit = own.position;  // the next record asks how much room there is
    early->state.store(RingState::kRetired, std::memory_order_release);
  }
  t_early_ring = nullptr;
}

Ring* RingPool::acquire(bool is_early) noexcept {
  if (!usable_.load(std::memory_order_acquire)) {
    return nullptr;
  }
  if (t_next_try.left != 0) {
    --t_next_try.left;
    return nullptr;
  }
  const posix::Uncancelled uncancelled;
  Ring* ring = take_free(is_early);
  if (ring == nullptr) {
    ring = map_new(is_early);
  }
  if (ring == nullptr) {
    t_next_try.calls = std::clamp(2 * t_next_try.calls, 1U, kMostCallsToNextTry);
    t_next_try.left = t_next_try.calls - 1;
    return nullptr;
  }
  t_next_try.calls = 0;
  std::array<char, 16> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  for (std::size_t i = 0; i < name.size(); ++i) {
    ring->thread_name[i].store(name[i], std::memory_order_relaxed);
  }
  ring->tid.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  ring->owners.fetch_add(1, std::memory_order_release);
  if (is_early) {
    t_early_ring = ring;
  } else {
    leave_early_ring(*ring);
    thread_ring_ = ring;
  }
  pthread_setspecific(key_, ring);
  return ring;
}

Ring* RingPool::take_free(bool is_early) noexcept {
  const std::uint32_t known = count();
  for (std::uint32_t i = 0; i < known; ++i) {
    Ring* candidate = ring(i);
    RingState expected = RingState::kFree;
    // Acquire order: everything that the last owner and the consumer did to the ring happens before
    // its next use here.
    if (candidate != nullptr && (candidate->is_early != 0) == is_early &&
        candidate->state.compare_exchange_strong(expected, RingState::kOwned,
                                                 std::memory_order_acq_rel)) {
      return candidate;
    }
  }
  return nullptr;
}

std::array<char, RingPool::kNameBytes> RingPool::file_name(std::uint32_t index) noexcept {
  std::array<char, kNameBytes> name{'r', 'i', 'n', 'g', '.', '0', '0', '0', '0'};
  for (std::size_t digit = 8; digit > 4; --digit, index /= 10) {
    name[digit] = static_cast<char>('0' + index % 10);
  }
  return name;
}

// Memory whose first bytes are the ring's file: all of them, or the head alone, behind which is
// anonymous memory. All pages are mapped here, so that no later event causes a page fault. NULL,
// with errno, if that cannot be had.
void* RingPool::map_file(int directory, std::uint32_t index, std::uint64_t file_bytes,
                         std::uint64_t bytes) noexcept {
  const auto name = file_name(index);
  const int file = make_file(directory, name.data(), file_bytes);
  if (file < 0) {
    errno = -file;
    return nullptr;
  }
  void* const behind = bytes > file_bytes ? map_anonymous(bytes) : nullptr;
  const int place = behind != nullptr ? MAP_FIXED : 0;
  void* memory = MAP_FAILED;
  if (behind != nullptr || bytes == file_bytes) {
    memory = mmap(behind, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | place,
                  file, 0);
  }
  const int error = errno;
  close(file);
  if (memory != MAP_FAILED) {
    return memory;
  }
  unlinkat(directory, name.data(), 0);
  if (behind != nullptr) {
    munmap(behind, bytes);  // the failed mmap may have taken away a page of it
  }
  errno = error;
  return nullptr;
}

// Of the bytes that all files of rings may have.
bool RingPool::take_bytes(std::uint64_t bytes) noexcept {
  std::uint64_t left = files_left_bytes_.load(std::memory_order_relaxed);
  while (left >= bytes &&
         !files_left_bytes_.compare_exchange_weak(left, left - bytes, std::memory_order_relaxed)) {
  }
  return left >= bytes;
}

std::uint32_t RingPool::take_index() noexcept {
  std::uint32_t index = 0;
  while (index < kMaxRings && (index_is_taken_[index].load(std::memory_order_relaxed) ||
                               index_is_taken_[index].exchange(true, std::memory_order_acq_rel))) {
    ++index;
  }
  std::uint32_t known = count();
  while (index < kMaxRings && known <= index &&
         !count_.compare_exchange_weak(known, index + 1, std::memory_order_acq_rel)) {
  }
  return index;
}

Ring* RingPool::map_new(bool is_early) noexcept {
  const std::uint32_t index = take_index();
  if (index >= kMaxRings) {
    return nullptr;
  }
  Ring* const made = make_ring(index, is_early);
  if (made == nullptr) {
    index_is_taken_[index].store(false, std::memory_order_release);
  } else {
    rings_[index].store(made, std::memory_order_release);
  }
  return made;
}

Ring* RingPool::make_ring(std::uint32_t index, bool is_early) noexcept {
  void* const of_thread = map_anonymous(sizeof(ThreadMemory));
  if (of_thread == nullptr) {
    return nullptr;
  }
  const int directory = is_early ? -1 : directory_.load(std::memory_order_acquire) - 1;
  std::uint64_t slots_bytes = file_ring_bytes_.load(std::memory_order_relaxed);
  void* memory = nullptr;
  bool is_only_head = false;
  if (directory >= 0) {
    const std::uint64_t bytes = sizeof(Ring) + slots_bytes;
    int error = ENOSPC;
    if (take_bytes(bytes)) {
      memory = map_file(directory, index, bytes, bytes);
      error = errno;
      files_left_bytes_.fetch_add(memory != nullptr ? 0 : bytes, std::memory_order_relaxed);
    }
    if (memory == nullptr) {
      without_file_error_.store(error, std::memory_order_relaxed);
    }
  }
  const bool is_file = memory != nullptr;
  if (memory == nullptr) {
    const std::uint64_t asked = ring_bytes_.load(std::memory_order_relaxed);
    slots_bytes = asked != 0 ? asked : kDefaultBytes;
    const std::uint64_t bytes = sizeof(Ring) + slots_bytes;
    const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (directory >= 0 && bytes >= page_bytes) {
      memory = map_file(directory, index, page_bytes, bytes);
      is_only_head = memory != nullptr;
    }
    memory = memory != nullptr ? memory : map_anonymous(bytes);
  }
  if (memory == nullptr) {
    munmap(of_thread, sizeof(ThreadMemory));
    return nullptr;
  }
  if (directory >= 0 && !is_file) {
    without_file_.fetch_add(1, std::memory_order_release);
  }
  Ring* made = new (memory) Ring{};
  made->is_only_head = is_only_head ? 1 : 0;
  made->is_early = is_early ? 1 : 0;
  made->magic = kRingMagic;
  made->version = kRingVersion;
  made->header_bytes = sizeof(Ring);
  made->slot_bytes = sizeof(Slot);
  made->capacity = slots_bytes / sizeof(Slot);
  made->index = index;
  made->byte_mask = slots_bytes - 1;
  auto* const own = new (of_thread) ThreadMemory{};
  own->ranges.clock = clock_;
  made->name_cache = &own->names;
  made->open_ranges = &own->ranges;
  made->id_check = &id_check_;
  made->next_id = make_event_id(EventType{}, false, index, 1);
  made->state.store(RingState::kOwned, std::memory_order_relaxed);
  return made;
}

void RingPool::on_thread_exit(void* memory) noexcept {
  // In the child of a fork this runs when the thread that forked ends. The parent still uses the
  // ring, so the child must not give it away.
  if (getpid() != g_owner.load(std::memory_order_relaxed)) {
    return;
  }
  auto* ring = static_cast<Ring*>(memory);
  // A callback from a later destructor of this thread gets a ring again, and then this function
  // runs again. In the last round of destructors it would not: that ring would be nobody's for
  // ever.
  thread_ring_ = t_early_ring = nullptr;
  if (++t_next_try.ends == PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
    t_next_try.left = std::numeric_limits<std::uint32_t>::max();
  }
  OpenRanges& open = *ring->open_ranges;
  while (open.count != 0) {
    close_range(*ring, read_ticks(open.clock));
  }
  ring->state.store(RingState::kRetired, std::memory_order_release);
}

void RingPool::close_in_child() noexcept {
  usable_.store(false, std::memory_order_release);
  thread_ring_ = nullptr;
}

}  // namespace ringside::record
