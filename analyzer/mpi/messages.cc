// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/messages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

// The C++ bindings of MPI 2 are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace ringside::mpi {
namespace {

enum Tag : int { kSize, kPiece };

constexpr std::size_t kMostPiece_bytes = std::size_t{1} << 30;

// MPI's own functions that wait keep a core busy, which other processes of the host could use.
template <typename IsDone>
void sleep_until(const IsDone& is_done) {
  constexpr std::chrono::microseconds kLongest(5000);
  std::chrono::microseconds pause(20);
  while (!is_done()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongest);
  }
}

void wait_for(MPI_Request& request) {
  sleep_until([&] {
    int is_done = 0;
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    return is_done != 0;
  });
}

// Fills the text. Messages of one process come in their order, so these pieces are of this one.
void receive_pieces(int from, std::string& text) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status{};
  for (std::size_t done = 0; done < text.size();) {
    int bytes = 0;
    MPI_Irecv(text.data() + done,
              static_cast<int>(std::min<std::size_t>(kMostPiece_bytes, text.size() - done)),
              MPI_BYTE, from, kPiece, MPI_COMM_WORLD, &request);
    sleep_until([&] {
      int is_done = 0;
      MPI_Test(&request, &is_done, &status);
      return is_done != 0;
    });
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    done += static_cast<std::size_t>(bytes);
  }
}

std::string own_host() {
  if (const char* const given = std::getenv("RINGSIDE_MPI_HOST")) {
    return given;
  }
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int size = 0;
  MPI_Get_processor_name(name.data(), &size);
  return {name.data(), static_cast<std::size_t>(size)};
}

// Tests make messages go in many pieces.
std::size_t piece_bytes() {
  const char* const given = std::getenv("RINGSIDE_MPI_PIECE_BYTES");
  const std::size_t bytes = given != nullptr ? std::strtoull(given, nullptr, 10) : kMostPiece_bytes;
  return std::clamp<std::size_t>(bytes, 1, kMostPiece_bytes);
}

}  // namespace

Messages::Messages(int& argc, char**& argv) : piece_bytes_(piece_bytes()) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  int processes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process_);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  using Name = std::array<char, 256>;
  Name name{};
  own_host().copy(name.data(), name.size() - 1);
  std::vector<Name> names(static_cast<std::size_t>(processes));
  MPI_Allgather(name.data(), static_cast<int>(name.size()), MPI_CHAR, names.data(),
                static_cast<int>(name.size()), MPI_CHAR, MPI_COMM_WORLD);
  for (const Name& host : names) {
    hosts_.emplace_back(host.data());
  }
}

Messages::~Messages() {
  MPI_Finalize();
}

void Messages::send(int to, const std::string& text) {
  const std::uint64_t size = text.size();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&size, sizeof(size), MPI_BYTE, to, kSize, MPI_COMM_WORLD, &request);
  wait_for(request);
  for (std::size_t done = 0; done < text.size(); done += piece_bytes_) {
    const std::size_t bytes = std::min(piece_bytes_, text.size() - done);
    MPI_Isend(text.data() + done, static_cast<int>(bytes), MPI_BYTE, to, kPiece, MPI_COMM_WORLD,
              &request);
    wait_for(request);
  }
  bytes_sent_ += sizeof(size) + text.size();
}

Message Messages::receive() {
  Message message;
  std::uint64_t size = 0;
  MPI_Status status{};
  sleep_until([&] {
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kSize, MPI_COMM_WORLD, &is_there, &status);
    return is_there != 0;
  });
  message.from = status.MPI_SOURCE;
  MPI_Recv(&size, sizeof(size), MPI_BYTE, message.from, kSize, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  message.text.resize(size);
  receive_pieces(message.from, message.text);
  bytes_received_ += sizeof(size) + size;
  return message;
}

void Messages::abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::abort();
}

std::string Messages::library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int size = 0;
  MPI_Get_library_version(text.data(), &size);
  const std::string_view whole(text.data(), static_cast<std::size_t>(size));
  std::string line(whole.substr(0, whole.find_first_of("\n,")));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

}  // namespace ringside::mpi
