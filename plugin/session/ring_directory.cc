// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/ring_directory.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "plugin/journal/journal_format.h"
#include "plugin/posix/allocate_file.h"
#include "plugin/posix/own_descriptor.h"
#include "plugin/record/ring_pool.h"

namespace ringside::session {
namespace {

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool lock_whole_file(int file) {
  struct flock lock = whole_file(F_WRLCK);
  return fcntl(file, F_SETLK, &lock) == 0;
}

using OpenDirectory = std::unique_ptr<DIR, int (*)(DIR*)>;

OpenDirectory open_directory(const std::string& path) {
  return {opendir(path.c_str()), closedir};
}

// Whether this process has that file open; true if that cannot be found out. The file may be the
// journal of another copy of this library in this process. To ask for its lock, we would open the
// file, and closing it again would end the lock.
bool is_open_here(const struct stat& file) {
  const OpenDirectory all = open_directory("/proc/self/fd");
  if (all == nullptr) {
    return true;
  }
  while (const dirent* entry = readdir(all.get())) {
    struct stat about {};
    if (fstatat(dirfd(all.get()), entry->d_name, &about, 0) == 0 && about.st_ino == file.st_ino &&
        about.st_dev == file.st_dev) {
      return true;
    }
  }
  return false;
}

// Whether this is the directory of a process of this user that has died. `name` is its own: only
// what has this process's number in it can be of another copy of this library here.
bool is_left_over(const std::string& path, std::string_view name) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0 || about.st_uid != geteuid()) {
    return false;
  }
  const std::string journal = path + "/" + journal::kJournalName;
  const bool may_be_own = name.find("." + std::to_string(getpid()) + ".") != std::string_view::npos;
  if (lstat(journal.c_str(), &about) != 0 || (may_be_own && is_open_here(about))) {
    return false;
  }
  const int file = open(journal.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return false;
  }
  struct flock lock = whole_file(F_WRLCK);
  const bool is_unused = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
  close(file);
  return is_unused;
}

}  // namespace

RingDirectory::~RingDirectory() {
  if (directory_ >= 0) {
    close(directory_);
    close(lock_);
  }
}

// Removes what create() has made so far.
Result RingDirectory::fail(int error) {
  if (lock_ >= 0) {
    unlinkat(directory_, journal::kJournalName, 0);
    close(lock_);
    lock_ = -1;
  }
  if (directory_ >= 0) {
    close(directory_);
    directory_ = -1;
    rmdir(path_.c_str());
  }
  return Result(error).about(path_);
}

Result RingDirectory::create(const std::string& parent, const std::string& stem) {
  path_ = parent + "/" + stem + std::string(journal::kRingsSuffix);
  if (mkdir(path_.c_str(), 0700) != 0) {
    return fail(errno);
  }
  directory_ = posix::own_descriptor(
      [this] { return open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  if (directory_ < 0) {
    const int error = errno;
    rmdir(path_.c_str());
    return fail(error);
  }
  lock_ = posix::own_descriptor([this] {
    return openat(directory_, journal::kJournalName,
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  });
  // The lock is the process's, not the descriptor's, so the child of a fork does not have it: a
  // child that lives on does not keep the rings of a dead parent from being recovered.
  if (lock_ < 0 || !lock_whole_file(lock_)) {
    return fail(errno);
  }
  owner_ = getpid();
  return {};
}

Result RingDirectory::map_journal(const MemoryWanted& wanted) {
  struct statvfs space {};
  if (fstatvfs(directory_, &space) != 0) {
    return Result(errno).about(path_);
  }
  free_bytes_ = std::uint64_t{space.f_bavail} * space.f_frsize;
  const MemoryShare share = share_of_memory(free_bytes_, wanted);
  if (share.journal_bytes == 0) {
    return {ENOSPC, path_.substr(0, path_.rfind('/')) + " has " +
                        std::to_string(free_bytes_ >> 20) + " MiB free, and " +
                        std::to_string(kLeastFree_bytes >> 20) + " are needed"};
  }
  // The file is allocated as a whole, so that a store never finds the file system full.
  Result mapped(posix::allocate_file(lock_, share.journal_bytes));
  if (mapped.is_ok()) {
    void* const memory =
        mmap(nullptr, share.journal_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lock_, 0);
    if (memory != MAP_FAILED) {
      journal_ = memory;
      share_ = share;
      return mapped;
    }
    mapped = Result(errno);
  }
  mapped = mapped.about(path_);
  return ftruncate(lock_, 0) == 0
             ? mapped
             : Result(mapped.error(), mapped.text() + ", and it cannot be emptied again");
}

void RingDirectory::keep_lock() {
  if (lock_ >= 0) {
    lock_whole_file(lock_);
  }
}

void RingDirectory::remove(unsigned rings) {
  if (directory_ < 0 || getpid() != owner_) {
    return;
  }
  for (unsigned i = 0; i < rings; ++i) {
    unlinkat(directory_, record::RingPool::file_name(i).data(), 0);
  }
  unlinkat(directory_, journal::kControlName, 0);
  unlinkat(directory_, journal::kJournalName, 0);
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
    if (!name.starts_with("ringside.") || !name.ends_with(journal::kRingsSuffix)) {
      continue;
    }
    const std::string path = parent + "/" + std::string(name);
    if (!is_left_over(path, name)) {
      continue;
    }
    ++count;
    if (const OpenDirectory files = open_directory(path); files != nullptr) {
      while (const dirent* inside = readdir(files.get())) {
        struct stat about {};
        if (fstatat(dirfd(files.get()), inside->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode)) {
          bytes += static_cast<std::size_t>(about.st_blocks) * 512;
        }
      }
    }
  }
  return count;
}

}  // namespace ringside::session
