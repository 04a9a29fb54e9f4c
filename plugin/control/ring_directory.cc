// SPDX-License-Identifier: Apache-2.0
#include "plugin/control/ring_directory.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "plugin/assemble/journal_format.h"
#include "plugin/record/own_descriptor.h"
#include "plugin/record/ring_pool.h"

namespace ringside::control {
namespace {

// What is left for others, NCCL's own shared memory above all: containers have 64 MB of /dev/shm by
// default, and NCCL fails where it finds no room there.
constexpr std::size_t kLeaveFree_bytes = std::size_t{512} << 20;

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

using OpenDirectory = std::unique_ptr<DIR, int (*)(DIR*)>;

OpenDirectory open_directory(const std::string& path) {
  return {opendir(path.c_str()), closedir};
}

}  // namespace

RingDirectory::~RingDirectory() {
  if (directory_ >= 0) {
    close(directory_);
    close(lock_);
  }
}

bool RingDirectory::fail(const std::string& what, int error) {
  why_ = what + ": " + std::strerror(error);
  if (lock_ >= 0) {
    unlinkat(directory_, assemble::kJournalName, 0);
    close(lock_);
    lock_ = -1;
  }
  if (directory_ >= 0) {
    close(directory_);
    directory_ = -1;
    rmdir(path_.c_str());
  }
  return false;
}

bool RingDirectory::create(const std::string& parent, const std::string& stem,
                           std::size_t journal_bytes) {
  struct statvfs space {};
  if (statvfs(parent.c_str(), &space) != 0) {
    return fail(parent, errno);
  }
  const std::size_t free_bytes = std::size_t{space.f_bavail} * space.f_frsize;
  if (free_bytes < kLeaveFree_bytes + journal_bytes) {
    return fail(parent + " has " + std::to_string(free_bytes >> 20) + " MiB free, and " +
                    std::to_string(kLeaveFree_bytes >> 20) + " are left to NCCL",
                ENOSPC);
  }
  path_ = parent + "/" + stem + std::string(assemble::kRingsSuffix);
  if (mkdir(path_.c_str(), 0700) != 0) {
    return fail(path_, errno);
  }
  directory_ =
      record::own_descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory_ < 0) {
    const int error = errno;
    rmdir(path_.c_str());
    return fail(path_, error);
  }
  lock_ = record::own_descriptor(openat(directory_, assemble::kJournalName,
                                        O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock_ < 0) {
    return fail(path_, errno);
  }
  // A lock of the process, not of the descriptor: the child of a fork does not have it, so that a
  // child that lives on does not keep the rings of a dead parent from being recovered.
  struct flock lock = whole_file(F_WRLCK);
  if (fcntl(lock_, F_SETLK, &lock) != 0) {
    return fail(path_, errno);
  }
  // Allocated whole, so that a store never meets a full file system.
  if (const int error = posix_fallocate(lock_, 0, static_cast<off_t>(journal_bytes)); error != 0) {
    return fail(path_, error);
  }
  void* memory = mmap(nullptr, journal_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lock_, 0);
  if (memory == MAP_FAILED) {
    return fail(path_, errno);
  }
  journal_ = memory;
  journal_bytes_ = journal_bytes;
  owner_ = getpid();
  return true;
}

void RingDirectory::remove(unsigned rings) {
  if (directory_ < 0 || getpid() != owner_) {
    return;
  }
  for (unsigned i = 0; i < rings; ++i) {
    unlinkat(directory_, record::RingPool::file_name(i).data(), 0);
  }
  unlinkat(directory_, assemble::kControlName, 0);
  unlinkat(directory_, assemble::kJournalName, 0);
  rmdir(path_.c_str());
}

std::size_t RingDirectory::count_left_over(const std::string& parent, std::size_t& bytes) {
  bytes = 0;
  std::size_t count = 0;
  const OpenDirectory all = open_directory(parent);
  if (all == nullptr) {
    return 0;
  }
  while (const dirent* entry = readdir(all.get())) {
    const std::string_view name(entry->d_name);
    if (!name.starts_with("ringside.") || !name.ends_with(assemble::kRingsSuffix)) {
      continue;
    }
    const std::string path = parent + "/" + std::string(name);
    struct stat about {};
    const int file = open((path + "/" + assemble::kJournalName).c_str(),
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
      continue;
    }
    // Not our own: closing a descriptor of that would end its lock.
    struct flock lock = whole_file(F_WRLCK);
    const bool unused = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    close(file);
    if (!unused) {
      continue;
    }
    ++count;
    if (const OpenDirectory files = open_directory(path); files != nullptr) {
      while (const dirent* inside = readdir(files.get())) {
        if (fstatat(dirfd(files.get()), inside->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode)) {
          bytes += static_cast<std::size_t>(about.st_blocks) * 512;
        }
      }
    }
  }
  return count;
}

}  // namespace ringside::control
