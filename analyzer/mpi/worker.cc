// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/worker.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "analyzer/load/other_processes.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/mpi/packing.h"
#include "analyzer/mpi/requests.h"

namespace ringside::mpi {
namespace {

// Files whose traces are in memory at one time.
constexpr std::uint64_t kBatch_bytes = std::uint64_t{64} << 20;

void find_files(Messages& messages, Unpacker& request) {
  const std::vector<std::string> arguments = request.texts();
  Packer answer;
  pack(find_on_this_host(arguments, unpack_dump_choice(request)), answer);
  messages.send(0, answer.packed());
}

void check_is_there(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw std::runtime_error(path + ", which process 0 sees: " + std::strerror(errno) +
                             ". All hosts must see all files; if each has its own, say --local");
  }
}

// Packs the partials of the next files of a request.
Packer read_batch(Unpacker& request, bool are_shared, Statistics& statistics) {
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;
  while (!request.is_at_end() && bytes < kBatch_bytes) {
    numbers.push_back(request.number());
    bytes += request.number();
    paths.push_back(request.text());
    if (are_shared) {
      check_is_there(paths.back());
    }
  }
  statistics.files += paths.size();
  statistics.bytes += bytes;
  const std::vector<std::string> partials = load::encode_files(paths, load::load_each(paths));
  Packer answer;
  for (std::size_t i = 0; i < partials.size(); ++i) {
    answer.number(numbers[i]);
    answer.text(partials[i]);
  }
  return answer;
}

// Reads all before it sends: process 0 receives nothing until it has read its own files.
void read_files(Messages& messages, Unpacker& request, Statistics& statistics) {
  const bool are_shared = request.number() != 0;
  std::vector<Packer> answers;
  while (!request.is_at_end()) {
    answers.push_back(read_batch(request, are_shared, statistics));
  }
  for (Packer& answer : answers) {
    messages.send(0, answer.packed());
    answer = {};
  }
}

}  // namespace

void serve(Messages& messages) {
  Statistics statistics;
  for (;;) {
    const Message message = messages.receive();
    Unpacker request(message.text);
    switch (static_cast<Request>(request.number())) {
      case Request::kFind:
        find_files(messages, request);
        break;
      case Request::kRead:
        read_files(messages, request, statistics);
        break;
      case Request::kEnd: {
        complete(messages, statistics);
        Packer answer;
        pack(statistics, answer);
        messages.send(0, answer.packed());
        return;
      }
    }
  }
}

}  // namespace ringside::mpi
