// SPDX-License-Identifier: Apache-2.0
//
// A dump at the path that a process has named. The process may name anything.
#ifndef RINGSIDE_LIVE_HOSTS_DUMP_FILE_H
#define RINGSIDE_LIVE_HOSTS_DUMP_FILE_H

#include <string>
#include <sys/types.h>

namespace ringside::live {

/// Opens it for reading; it never waits. A negative number, and why in `reason`, unless the path
/// has a regular file, no link, that belongs to the process's user.
int open_dump(const std::string& path, uid_t owner, std::string& reason);

/// Its bytes, 200 MiB at most. `reason` is why there are none.
std::string read_dump(const std::string& path, uid_t owner, std::string& reason);

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_DUMP_FILE_H
