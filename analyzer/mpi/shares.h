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
  std::string host;      // empty: all hosts see it
  bool follows = false;  // it may be of one trace with the file before
};

/// Returns the process that reads each file, one of the file's host. The largest files come first,
/// and each goes to the process that has the fewest bytes until then.
std::vector<int> share_by_size(const std::vector<FileToShare>& files,
                               const std::vector<std::string>& hosts_of_processes);

/// The same, but each process gets files that follow each other, as the files of one host do in the
/// order of their names. Files of one trace stay together. A process has more than its part by one
/// file, or one trace, at most.
std::vector<int> share_in_order(const std::vector<FileToShare>& files,
                                const std::vector<std::string>& hosts_of_processes);

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_SHARES_H
