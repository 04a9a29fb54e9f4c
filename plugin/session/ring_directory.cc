// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/ring_directory.h"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include "plugin/drain/process_info.h"
#include "plugin/journal/journal_format.h"
#include "plugin/posix/descriptors.h"

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

// Whether this is the directory of a process of this user that has died. What has this process's
// number in its name may be of another copy of this library here. To ask for its lock, we would
// open the journal, and closing it again would end the lock.
bool is_left_over(const std::string& path, std::string_view name) {
  struct stat about {};
  const std::string journal = path + "/" + journal::kJournalName;
  if (name.find("." + std::to_string(getpid()) + ".") != std::string_view::npos ||
      lstat(path.c_str(), &about) != 0 || about.st_uid != geteuid()) {
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

// How many directories in `parent` are of processes of this user that have died.
std::size_t count_left_over(const std::string& parent) {
  std::size_t count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(parent.c_str()), closedir);
  while (const dirent* const entry = all != nullptr ? readdir(all.get()) : nullptr) {
    const std::string_view name(entry->d_name);
    const bool is_of_rings = name.starts_with("ringside.") && name.ends_with(journal::kRingsSuffix);
    count += is_of_rings && is_left_over(parent + "/" + entry->d_name, name) ? 1 : 0;
  }
  return count;
}

// One process of a host says for all what they would find: launchers number those of a host.
bool is_first_of_host() {
  for (const char* const name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"}) {
    if (const char* const value = std::getenv(name); value != nullptr) {
      return std::string_view(value) == "0";
    }
  }
  return true;
}

}  // namespace

std::string RingDirectory::make(const config::Config& config, const std::string& stem) {
  // The application may change its directory later.
  const std::string parent =
      config.ring_directory.empty() ? "" : drain::absolute_path(config.ring_directory);
  std::string left_over;
  if (!parent.empty()) {
    if (const std::size_t dead = is_first_of_host() ? count_left_over(parent) : 0; dead != 0) {
      left_over = parent + " holds the rings of " + std::to_string(dead) +
                  " processes that have died: `ringside recover " + parent +
                  "` makes traces of them and removes them";
    }
    rings_made_ = create(parent, stem);
    if (rings_made_.is_ok()) {
      rings_made_ = map_journal({config.journal_bytes, config.ring_bytes, config.flight_bytes});
    }
  }
  if (!is_open() && config.control) {
    control_made_ = create(journal::control_parent(), stem);
  }
  return left_over;
}

// Makes the directory and the journal in it, and locks the journal.
Result RingDirectory::create(const std::string& parent, const std::string& stem) {
  path_ = parent + "/" + stem + std::string(journal::kRingsSuffix);
  std::string journal = path_ + "/" + journal::kJournalName;  // before there is a directory
  if (mkdir(path_.c_str(), 0700) != 0) {
    return Result(errno).about(path_);
  }
  Result made = exporting::create_private(std::move(journal), journal_file_);
  // The lock is the process's, not the descriptor's, so the child of a fork does not have it: a
  // child that lives on does not keep the rings of a dead parent from being recovered.
  if (made.is_ok() && !lock_whole_file(journal_file_.descriptor())) {
    made = Result(errno);
    unlink(journal_file_.path().c_str());
    journal_file_ = {};
  }
  if (!made.is_ok()) {
    rmdir(path_.c_str());
    return made.about(path_);
  }
  owner_ = getpid();
  return made;
}

// Fails with ENOSPC if there is no memory for the journal beside NCCL's own.
Result RingDirectory::map_journal(const MemoryWanted& wanted) {
  struct statvfs space {};
  if (statvfs(path_.c_str(), &space) != 0) {
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
  const int file = journal_file_.descriptor();
  Result mapped(posix::allocate_file(file, share.journal_bytes));
  if (mapped.is_ok()) {
    void* const memory =
        mmap(nullptr, share.journal_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) {
      journal_ = memory;
      share_ = share;
      return mapped;
    }
    mapped = Result(errno);
  }
  mapped = mapped.about(path_);
  return ftruncate(file, 0) == 0
             ? mapped
             : Result(mapped.error(), mapped.text() + ", and it cannot be emptied again");
}

void RingDirectory::keep_lock() {
  if (journal_file_.check().is_ok()) {
    lock_whole_file(journal_file_.descriptor());
  }
}

void RingDirectory::remove(record::RingPool& rings) noexcept {
  if (!is_open() || getpid() != owner_) {
    return;
  }
  // A thread that has its first event now may be making a file.
  constexpr int kAttempts = 20;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    rings.remove_files(path_.c_str());
    unlink(posix::PathIn(path_, journal::kControlName).c_str());
    unlink(posix::PathIn(path_, journal::kJournalName).c_str());
    if (rmdir(path_.c_str()) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) {
      return;
    }
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
}

std::string RingDirectory::description(const config::Config& config) const {
  const auto kib = [](std::uint64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
  if (journal_ != nullptr) {
    const bool is_less =
        share_.journal_bytes < config.journal_bytes || share_.ring_bytes < config.ring_bytes;
    return ", rings " + path_ + " (if the process dies: ringside recover" +
           (is_less ? "; a journal of " + kib(share_.journal_bytes) + " and rings of " +
                          kib(share_.ring_bytes) + ", since " + std::to_string(free_bytes_ >> 20) +
                          " MiB were free"
                    : std::string()) +
           ")";
  }
  return " (rings in memory, " + (config.ring_directory.empty() ? "as asked" : rings_made_.text()) +
         ": a process that is killed loses about the last second" +
         (!config.control ? std::string()
          : is_open()     ? "; control socket in " + path_
                          : "; no control socket, " + control_made_.text()) +
         ")";
}

}  // namespace ringside::session
