// SPDX-License-Identifier: Apache-2.0
//
// The processes that MPI has started, and messages between them. Only messages.cc knows MPI.
#ifndef RINGSIDE_ANALYZER_MPI_MESSAGES_H
#define RINGSIDE_ANALYZER_MPI_MESSAGES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ringside::mpi {

struct Message {
  int from = 0;
  std::string text;
};

/// One of these in a process, which MPI knows from its begin to its end.
class Messages {
 public:
  Messages(int& argc, char**& argv);
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  int process() const { return process_; }
  int processes() const { return static_cast<int>(hosts_.size()); }
  /// The host of each process. RINGSIDE_MPI_HOST gives a process another, for tests.
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Returns once the message is on its way. A message of any size goes in pieces of 1 GiB at most,
  /// since MPI counts bytes as int. A process that waits here, or in receive(), sleeps.
  void send(int to, const std::string& text);
  Message receive();
  /// The bytes of the messages of this process.
  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t bytes_received() const { return bytes_received_; }

  /// Ends all processes, at once.
  [[noreturn]] static void abort(int status);
  /// The name of the MPI that this program is built with, and its version.
  static std::string library();

 private:
  int process_ = 0;
  std::vector<std::string> hosts_;
  std::size_t piece_bytes_;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_MESSAGES_H
