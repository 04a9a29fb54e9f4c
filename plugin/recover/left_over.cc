// SPDX-License-Identifier: Apache-2.0
#include "plugin/recover/left_over.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/journal/journal_format.h"
#include "plugin/record/ring_pool.h"

namespace ringside::recover {
namespace {

// Rings and journal of a live process are read again until the log has not changed halves
// meanwhile. Later attempts ignore the records in the rings.
constexpr int kAttempts = 30;
constexpr int kAttemptsWithRings = 20;

// The journal and the rings are at most this large (RINGSIDE_JOURNAL_BYTES, RINGSIDE_RING_BYTES).
constexpr std::size_t kMostBytes = (std::size_t{4} << 30) + (std::size_t{1} << 20);

// So much is read of another user's journal and rings together: their sizes cost that user nothing.
constexpr std::size_t kMostOfOthersBytes = std::size_t{256} << 20;

// True for the file, or page, of a process that died before its last store, which says what it is.
bool is_unmade(std::span<const std::byte> file) {
  const auto word = file.first(std::min(file.size(), sizeof record::kRingMagic));
  return std::all_of(word.begin(), word.end(), [](std::byte one) { return one == std::byte{0}; });
}

}  // namespace

LeftOver::~LeftOver() {
  if (lock_ >= 0) {
    close(lock_);
  }
  if (directory_ >= 0) {
    close(directory_);
  }
}

Result LeftOver::open() {
  directory_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat about {};
  if (directory_ < 0 || fstat(directory_, &about) != 0) {
    return Result(errno);
  }
  owner_ = about.st_uid;
  is_own_ = owner_ == geteuid();
  constexpr int kHow = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  lock_ = openat(directory_, journal::kJournalName, (is_own_ ? O_RDWR : O_RDONLY) | kHow);
  if (lock_ < 0) {
    const Result opened(errno);
    // A process that begins makes its journal before its rings, and both within a moment.
    constexpr std::time_t kMoment_s = 60;
    const bool is_old = std::time(nullptr) - about.st_mtim.tv_sec > kMoment_s;
    is_remains_ = opened.error() == ENOENT && (has_files() || is_old);
    return is_remains_ ? Result() : opened.about("its journal");
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  is_in_use_ = is_own_ ? fcntl(lock_, F_SETLK, &lock) != 0
                       : fcntl(lock_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
  return {};
}

std::vector<std::string> LeftOver::names() const {
  std::vector<std::string> names;
  const int listed = dup(directory_);
  if (DIR* const all = listed >= 0 ? fdopendir(listed) : nullptr; all != nullptr) {
    rewinddir(all);
    while (const dirent* entry = readdir(all)) {
      names.emplace_back(entry->d_name);
    }
    closedir(all);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool LeftOver::has_files() const {
  const std::vector<std::string> all = names();
  return std::any_of(all.begin(), all.end(), [](const std::string& name) {
    return name.starts_with("ring") || name.starts_with(journal::kControlName);
  });
}

Result LeftOver::read_all(int file, std::vector<std::byte>& bytes) {
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    return {EBADMSG, "is not a file"};
  }
  if (about.st_uid != owner_) {
    return {EPERM, "is not of the directory's owner"};
  }
  if (static_cast<std::size_t>(about.st_size) > kMostBytes) {
    return {EBADMSG, "is larger than any that the plugin makes"};
  }
  if (!is_own_ && static_cast<std::size_t>(about.st_size) > left_bytes_) {
    return {EFBIG, "is too much: of another user's process, 256 MiB are read"};
  }
  bytes.resize(static_cast<std::size_t>(about.st_size));
  left_bytes_ -= is_own_ ? 0 : bytes.size();
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        pread(file, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return {};
}

Result LeftOver::read_file(const char* name, std::vector<std::byte>& bytes) {
  const int file = openat(directory_, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return Result(errno).about("cannot be opened");
  }
  Result result = read_all(file, bytes);
  // A process that lives may have overwritten slots while they were copied. The head is read again:
  // from its tail on, the copied slots are whole.
  if (result.is_ok() && is_in_use_ && bytes.size() >= sizeof(record::Ring) &&
      pread(file, bytes.data(), sizeof(record::Ring), 0) !=
          static_cast<ssize_t>(sizeof(record::Ring))) {
    result = {EAGAIN, "cannot be read twice"};
  }
  close(file);
  return result;
}

Result LeftOver::read(journal::JournalImage& journal, std::vector<journal::RingImage>& rings,
                      std::vector<std::string>& notes) {
  std::vector<std::byte> bytes;
  Result result = read_state(bytes, rings, notes);
  const bool has_rings = !rings.empty() || !notes.empty();  // rings are made after the journal
  if (result.is_ok() && (has_rings || !is_unmade(bytes))) {
    result = journal::read_journal(bytes, journal);
  }
  if (is_in_use_) {
    std::vector<std::string> noted_before;
    std::vector<journal::RingImage> now;
    read_rings(now, noted_before);
    for (journal::RingImage& ring : now) {
      const auto before =
          std::find_if(rings.begin(), rings.end(),
                       [&](const journal::RingImage& known) { return known.index == ring.index; });
      ring.records.clear();
      if (before != rings.end()) {
        ring.records = std::move(before->records);
      }
    }
    rings = std::move(now);
  }
  return result.is_ok() ? result : Result(result.error(), "its journal " + result.text());
}

// The rings are read before the journal, so a record that a live process takes out of a ring
// meanwhile is found in the journal. This is not so if the log has changed halves meanwhile: the
// record may then be in the trace, and nothing shows it. The rings are read again afterwards, so
// that their counts are not older than the journal.
Result LeftOver::read_state(std::vector<std::byte>& journal, std::vector<journal::RingImage>& rings,
                            std::vector<std::string>& notes) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t before = turns();
    rings.clear();
    notes.clear();
    read_rings(rings, notes);
    if (attempt >= kAttemptsWithRings) {
      for (journal::RingImage& ring : rings) {
        ring.records.clear();
      }
    }
    // This uses the descriptor that has the lock, because closing another descriptor of the same
    // file would end the lock.
    Result result = read_all(lock_, journal);
    if (!result.is_ok() || !is_in_use_ || turns() == before) {
      if (attempt >= kAttemptsWithRings) {
        notes.emplace_back(
            "what is still in its rings is left out: it records faster than they "
            "can be read");
      }
      return result;
    }
  }
  return {EAGAIN,
          "changes faster than it can be read: once more, or when the process has less to do"};
}

// Returns 0 if the journal has no header; read_journal() reports the reason.
std::uint64_t LeftOver::turns() const {
  std::uint64_t found = 0;
  const auto at = static_cast<off_t>(offsetof(journal::JournalHeader, turns));
  return pread(lock_, &found, sizeof found, at) == static_cast<ssize_t>(sizeof found) ? found : 0;
}

void LeftOver::read_rings(std::vector<journal::RingImage>& rings, std::vector<std::string>& notes) {
  std::vector<std::byte> bytes;
  unread_rings_ = 0;
  left_bytes_ = kMostOfOthersBytes;
  const auto take = [&](const std::string& name, Result result, std::span<const std::byte> file) {
    journal::RingImage ring;
    if (result.is_ok() && is_unmade(file)) {
      return;
    }
    if (result.is_ok()) {
      result = journal::read_ring(file, ring);
    }
    if (result.is_ok()) {
      rings.push_back(std::move(ring));
    } else {
      ++unread_rings_;
      notes.push_back(name + " " + result.text());
    }
  };
  for (const std::string& name : names()) {
    if (!name.starts_with(record::RingPool::kRingPrefix) || rings.size() == record::kMaxRings) {
      continue;
    }
    const Result result = read_file(name.c_str(), bytes);
    const bool has_heads = result.is_ok() && name == record::RingPool::kHeadsName;
    const std::size_t rings_there = has_heads ? record::kMaxRings : 1;
    const std::size_t each_bytes = bytes.size() / rings_there;
    for (std::size_t i = 0; i < rings_there; ++i) {
      take(name, result, std::span(bytes).subspan(i * each_bytes, each_bytes));
    }
  }
}

// The journal is removed first: without it, nothing tries to recover the files that are left.
Result LeftOver::remove() {
  unlinkat(directory_, journal::kJournalName, 0);
  for (const std::string& name : names()) {
    if (name.starts_with(record::RingPool::kRingPrefix) ||
        name.starts_with(journal::kControlName) ||
        (name.starts_with("ringside.") && name.ends_with(".json"))) {
      unlinkat(directory_, name.c_str(), 0);
    }
  }
  return Result::of_call(rmdir(path_.c_str()) == 0);
}

}  // namespace ringside::recover
