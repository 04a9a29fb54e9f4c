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
#include <sys/time.h>
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

std::uint64_t page_bytes() noexcept {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Makes a file that nobody else can have made. Returns its descriptor; -1 with errno.
int make_file(const char* path) noexcept {
  return posix::own_descriptor(
      [=] { return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); });
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

void RingPool::set_directory(const char* directory, std::uint64_t ring_bytes,
                             std::uint64_t all_bytes) noexcept {
  // The pages of heads get memory one by one (head_of).
  const posix::SilentCalls silent;
  const std::uint64_t bytes = kMaxRings * page_bytes();
  const int file = make_file(posix::PathIn(directory, kHeadsName).c_str());
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    void* const heads = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    heads_.store(heads != MAP_FAILED ? static_cast<char*>(heads) : nullptr,
                 std::memory_order_relaxed);
  }
  if (file >= 0) {
    close(file);
  }
  file_ring_bytes_.store(usable_bytes(ring_bytes), std::memory_order_relaxed);
  files_left_bytes_.store(all_bytes, std::memory_order_relaxed);
  directory_.store(directory, std::memory_order_release);
}

void RingPool::remove_files(const char* directory) noexcept {
  directory_.store(nullptr);  // before the names go: map_file() looks at it in the other order
  for (std::uint32_t i = 0; i < count(); ++i) {
    unlink(posix::PathIn(directory, file_name(i).data()).c_str());
  }
  unlink(posix::PathIn(directory, kHeadsName).c_str());
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

// The ring's file as memory; NULL, with errno: it cannot be had. All pages are allocated and
// mapped: no later event causes a page fault, or SIGBUS because the file system is full by then.
void* RingPool::map_file(const char* directory, std::uint32_t index, std::uint64_t bytes) noexcept {
  const posix::PathIn path(directory, file_name(index).data());
  const int file = make_file(path.c_str());
  if (file < 0) {
    return nullptr;
  }
  const posix::FileIdentity own(file);
  errno = posix::allocate_file(file, bytes);
  constexpr int kHow = MAP_SHARED | MAP_POPULATE;
  void* memory =
      errno == 0 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kHow, file, 0) : MAP_FAILED;
  int error = errno;
  if (own.is_of(file)) {
    close(file);
  } else if (memory != MAP_FAILED) {  // of which file, nobody knows
    munmap(std::exchange(memory, MAP_FAILED), bytes);
    error = EBADF;
  }
  if (memory == MAP_FAILED || directory_.load() == nullptr) {
    unlink(path.c_str());
  }
  errno = error;
  return memory != MAP_FAILED ? memory : nullptr;
}

// Returns the ring's page in the file of heads, or NULL. A store raises SIGBUS if the file system
// has no room. So the kernel stores first, a timer's zeros, and its call fails then.
void* RingPool::head_of(std::uint32_t index) const noexcept {
  char* const heads = heads_.load(std::memory_order_relaxed);
  char* const head = heads != nullptr ? heads + index * page_bytes() : nullptr;
  return head != nullptr && syscall(SYS_getitimer, ITIMER_VIRTUAL, head) == 0 ? head : nullptr;
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
  const char* const directory = is_early ? nullptr : directory_.load(std::memory_order_acquire);
  std::uint64_t slots_bytes = file_ring_bytes_.load(std::memory_order_relaxed);
  void* memory = nullptr;
  RingPlace place = RingPlace::kFile;
  if (directory != nullptr) {
    const std::uint64_t bytes = sizeof(Ring) + slots_bytes;
    int error = ENOSPC;
    if (take_bytes(bytes)) {
      memory = map_file(directory, index, bytes);
      error = errno;
      files_left_bytes_.fetch_add(memory != nullptr ? 0 : bytes, std::memory_order_relaxed);
    }
    if (memory == nullptr) {
      without_file_error_.store(error, std::memory_order_relaxed);
    }
  }
  if (memory == nullptr) {
    const std::uint64_t asked = ring_bytes_.load(std::memory_order_relaxed);
    slots_bytes = asked != 0 ? asked : kDefaultBytes;
    const std::uint64_t bytes = sizeof(Ring) + slots_bytes;
    memory = map_anonymous(bytes);
    void* const head = directory != nullptr && memory != nullptr ? head_of(index) : nullptr;
    place = head != nullptr ? RingPlace::kHead : RingPlace::kMemory;
    // An old size of 0 maps the same page once more. After a failure, the first page of `memory`
    // may be another thread's.
    constexpr int kHow = MREMAP_MAYMOVE | MREMAP_FIXED;
    if (head != nullptr && mremap(head, 0, page_bytes(), kHow, memory) == MAP_FAILED) {
      munmap(static_cast<char*>(memory) + page_bytes(), bytes - page_bytes());
      memory = nullptr;
    }
  }
  if (memory == nullptr) {
    munmap(of_thread, sizeof(ThreadMemory));
    return nullptr;
  }
  if (directory != nullptr && place != RingPlace::kFile) {
    without_file_.fetch_add(1, std::memory_order_release);
  }
  Ring* made = new (memory) Ring{};
  made->place = place;
  made->is_early = is_early ? 1 : 0;
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
  std::atomic_signal_fence(std::memory_order_release);
  made->magic = kRingMagic;  // last: a kill finds a whole head, or none
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
