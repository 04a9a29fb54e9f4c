// SPDX-License-Identifier: Apache-2.0
#include "launch/ring_holder.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

#include "plugin/journal/journal_format.h"

namespace ringside::launch {

RingHolder holder_of(const std::string& ring_directory) {
  const int journal = open((ring_directory + '/' + journal::kJournalName).c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (journal < 0) {
    return {};
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool is_known = fcntl(journal, F_GETLK, &lock) == 0;
  close(journal);
  if (!is_known) {
    return {};
  }
  return lock.l_type == F_UNLCK
             ? RingHolder{RingHolder::State::kDead, 0}
             : RingHolder{RingHolder::State::kLives, std::max<pid_t>(lock.l_pid, 0)};
}

}  // namespace ringside::launch
