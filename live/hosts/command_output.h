// SPDX-License-Identifier: Apache-2.0
//
// What a command writes, taken as it comes by a thread of its own: nobody waits, and however much
// it is, memory is bounded.
#ifndef RINGSIDE_LIVE_HOSTS_COMMAND_OUTPUT_H
#define RINGSIDE_LIVE_HOSTS_COMMAND_OUTPUT_H

#include <array>
#include <cstddef>
#include <string>
#include <thread>

namespace ringside::live {

class CommandOutput {
 public:
  static constexpr std::size_t kMostOutput_bytes = std::size_t{64} << 20;
  static constexpr std::size_t kMostErrors_bytes = 4096;

  /// Begins. Throws std::system_error if there are no descriptors, or no thread.
  CommandOutput();
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;
  ~CommandOutput();

  // The descriptors that the command has in the place of its standard ones.
  int output() const { return output_.command; }
  int errors() const { return errors_.command; }
  /// Call this once the command has them.
  void close_command_ends();

  /// Takes what is there by now, and ends. A process that the command has left behind may write on:
  /// nobody reads it.
  void finish();

  // Once it has ended.
  /// A command that writes more than the most gets a SIGPIPE.
  bool is_too_long() const { return output_.is_too_long; }
  std::string take_output() { return std::move(output_.text); }
  /// The first 4096 bytes.
  std::string take_errors() { return std::move(errors_.text); }

 private:
  struct Pipe {
    int command = -1, here = -1;
    std::string text;
    bool is_too_long = false;
  };
  static void take(Pipe& pipe, std::size_t most_bytes, bool ends_at_most);
  void close_all();
  void take_all();

  Pipe output_, errors_;
  int wake_ = -1;  ///< an eventfd
  std::thread thread_;
};

}  // namespace ringside::live

#endif  // RINGSIDE_LIVE_HOSTS_COMMAND_OUTPUT_H
