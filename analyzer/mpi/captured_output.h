// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MPI_CAPTURED_OUTPUT_H
#define RINGSIDE_ANALYZER_MPI_CAPTURED_OUTPUT_H

namespace ringside::mpi {

/// Keeps what is written to stdout in memory, so that nothing of it is seen if a process dies. What
/// is written there is never a terminal's, although Open MPI gives process 0 one.
class CapturedOutput {
 public:
  /// Throws std::system_error if it cannot be kept.
  CapturedOutput();
  ~CapturedOutput();
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  /// Writes all of it to where stdout was. False, after a message on stderr, if that fails.
  bool release();

 private:
  int stdout_;
  int memory_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_CAPTURED_OUTPUT_H
