// SPDX-License-Identifier: Apache-2.0
//
// The work of the processes other than process 0.
#ifndef RINGSIDE_ANALYZER_MPI_WORKER_H
#define RINGSIDE_ANALYZER_MPI_WORKER_H

#include "analyzer/mpi/messages.h"

namespace ringside::mpi {

/// Does what process 0 asks for until it says that this is the end. Files are read some after the
/// others: so many bytes of them, or one file that is larger, are in memory at one time. Throws
/// std::runtime_error if a file that process 0 sees is not there.
void serve(Messages& messages);

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_WORKER_H
