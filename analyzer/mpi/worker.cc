// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/worker.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/stat.h>

#include "analyzer/load/other_processes.h"
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

void send_some(Messages& messages, const std::vector<std::uint64_t>& numbers,
               const std::vector<std::string>& paths) {
  Packer answer;
  const std::vector<std::string> partials = load::read_as_partials(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    answer.number(numbers[i]);
    answer.text(partials[i]);
  }
  messages.send(0, answer.packed());
}

void read_files(Messages& messages, Unpacker& request, Statistics& statistics) {
  const bool are_shared = request.number() != 0;
  while (!request.is_at_end()) {
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> paths;
    std::uint64_t batch_bytes = 0;
    while (!request.is_at_end() && batch_bytes < kBatch_bytes) {
      numbers.push_back(request.number());
      batch_bytes += request.number();
      paths.push_back(request.text());
      if (are_shared) {
        check_is_there(paths.back());
      }
    }
    send_some(messages, numbers, paths);
    statistics.files += paths.size();
    statistics.bytes += batch_bytes;
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
