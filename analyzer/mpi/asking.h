// SPDX-License-Identifier: Apache-2.0
//
// Process 0 asks all others.
#ifndef RINGSIDE_ANALYZER_MPI_ASKING_H
#define RINGSIDE_ANALYZER_MPI_ASKING_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/packing.h"
#include "analyzer/mpi/requests.h"

namespace ringside::mpi {

inline Packer request_of(Request what, std::string_view text) {
  Packer request;
  request.number(static_cast<std::uint64_t>(what));
  request.bytes(text);
  return request;
}

inline void tell_others(Messages& messages, Request what, std::string_view text) {
  const Packer request = request_of(what, text);
  for (int process = 1; process < messages.processes(); ++process) {
    messages.send(process, request.packed());
  }
}

/// Calls take(text) for the answer of each.
template <typename Take>
void hear_others(Messages& messages, const Take& take) {
  for (int process = 1; process < messages.processes(); ++process) {
    take(std::string_view(messages.receive().text));
  }
}

/// Asks all others, and itself by calling answer(text). Returns the answer of each process.
template <typename Answer>
std::vector<std::string> ask_all(Messages& messages, Request what, std::string_view text,
                                 const Answer& answer) {
  tell_others(messages, what, text);
  std::vector<std::string> answers(static_cast<std::size_t>(messages.processes()));
  answers.front() = answer(text);
  for (int process = 1; process < messages.processes(); ++process) {
    Message message = messages.receive();
    answers[static_cast<std::size_t>(message.from)] = std::move(message.text);
  }
  return answers;
}

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_ASKING_H
