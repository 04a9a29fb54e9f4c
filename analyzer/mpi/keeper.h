// SPDX-License-Identifier: Apache-2.0
//
// The rows of the files that a process has read, while they stay there.
#ifndef RINGSIDE_ANALYZER_MPI_KEEPER_H
#define RINGSIDE_ANALYZER_MPI_KEEPER_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/align/rows_elsewhere.h"
#include "analyzer/load/other_processes.h"
#include "analyzer/load/trace_loader.h"

namespace ringside::mpi {

class Messages;

/// A communicator, as far as its members' rows are in this process.
struct KeptCommunicator {
  struct Member {
    std::uint64_t file = 0;  // number in the list of files that were shared out
    std::uint32_t context = 0;
    std::uint32_t rank = 0;
    std::uint32_t host = 0;  // below `hosts`
    std::int64_t since_zero_ns = 0;
  };
  std::vector<std::string> functions;
  std::uint32_t hosts = 0;
  std::vector<Member> members;
};

/// The steps of a process that bound clocks (align::StepsElsewhere). Files have their numbers in
/// the list.
struct KeptSteps {
  std::uint64_t stride = 1;
  std::vector<std::vector<std::uint64_t>> before;
  align::WantedSteps files;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(stride, before, files);
  }
};

/// The contexts of a file whose rows are wanted.
struct ContextsOfFile {
  std::uint64_t number = 0;  // of the file, likewise
  std::vector<std::uint32_t> contexts;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(number, contexts);
  }
};

/// Their rows, with all names of the file.
struct RowsOfFile {
  std::uint64_t number = 0;
  std::vector<std::string> names;
  model::Operations operations;

  template <typename Archive>
  void transfer(Archive& archive) {
    archive(number, names, operations);
  }
};

class Keeper {
 public:
  /// Reads files, after it has forgotten all others. `numbers` are theirs in the list.
  void read(std::vector<std::uint64_t> numbers, std::vector<std::string> paths);
  /// What is known of each of them.
  std::vector<load::KeptFile> heads(bool has_machines);
  /// Copies rows.
  RowsOfFile rows(const ContextsOfFile& wanted) const;
  /// Takes some of the files away, as partials. Returns none if there are none left. `rows` becomes
  /// more by their rows.
  std::vector<load::ReadFile> take_some(std::uint64_t& rows);
  /// Gives all rows to their files, which know all names; those of the network, too.
  void give_rows(model::Traces& traces);
  void clear() { *this = {}; }

  void place(std::vector<KeptCommunicator> communicators);
  /// The bounds of each operation, and of each of the hosts that the communicator has here.
  std::vector<align::HostBounds> bounds(const align::RangeElsewhere& range) const;
  /// All processes do this together: each joins the ends of some operations' steps, and has their
  /// chunks.
  std::vector<align::Chunk> chunks(KeptSteps&& wanted, Messages& messages) const;

 private:
  // A member's operations by function and number, as indices of its file's.
  struct Rows {
    std::size_t loaded = 0;  // index into loaded_
    std::vector<std::vector<std::uint32_t>> by_function;
  };

  std::vector<std::uint64_t> numbers_;
  std::vector<std::string> paths_;
  std::vector<load::LoadedTrace> loaded_;
  std::size_t taken_ = 0;                   // of loaded_
  std::vector<align::StampErrors> errors_;  // of each of loaded_
  std::vector<KeptCommunicator> communicators_;
  std::vector<std::vector<Rows>> rows_;  // of each member of these
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_KEEPER_H
