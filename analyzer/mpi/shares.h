// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MPI_SHARES_H
#define RINGSIDE_ANALYZER_MPI_SHARES_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringside::mpi {

/// A file to be read, and its host.
struct FileToShare {
  std::uint64_t bytes = 0;
  std::string host;  // empty: all hosts see it
};

/// Returns the process that reads each file, one of the file's host. The largest files come first,
/// and each goes to the process that has the fewest bytes until then.
std::vector<int> share_by_size(const std::vector<FileToShare>& files,
                               const std::vector<std::string>& hosts_of_processes);

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_SHARES_H
