// SPDX-License-Identifier: Apache-2.0
//
// Process 0: it has the others read, and analyses what they have read.
#ifndef RINGSIDE_ANALYZER_MPI_LEADER_H
#define RINGSIDE_ANALYZER_MPI_LEADER_H

#include <map>
#include <string>
#include <vector>

#include "analyzer/align/rows_elsewhere.h"
#include "analyzer/load/other_processes.h"
#include "analyzer/mpi/keeper.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/owner.h"
#include "analyzer/mpi/requests.h"

namespace ringside::mpi {

class Leader final : public load::OtherProcesses, public align::RowsElsewhere {
 public:
  /// `is_local`: each host has files of its own. The messages must outlive it.
  Leader(Messages& messages, bool is_local) : messages_(messages), is_local_(is_local) {}

  load::Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                           const load::DumpChoice& dumps) override;
  std::vector<load::KeptFile> keep(const std::vector<std::string>& paths,
                                   bool has_machines) override;
  void send_rows(const std::vector<std::vector<std::uint32_t>>& contexts,
                 model::Traces& traces) override;
  std::vector<bool> share_out(const std::vector<std::string>& paths) override;
  std::vector<load::ReadFile> receive() override;

  void place(const model::Traces& traces,
             const std::vector<align::CommunicatorElsewhere>& communicators) override;
  std::vector<align::HostBounds> bounds(const align::RangeElsewhere& range) override;
  std::vector<align::Chunk> chunks(align::StepsElsewhere steps) override;

  /// Returns the heads that were kept last, and this alignment. The rows of this process are the
  /// keeper's.
  Heads heads(const align::Alignment& alignment) const;
  Keeper& keeper() { return keeper_; }
  /// The process that keeps the rows of each file of these traces.
  std::vector<int> keepers_of(const model::Traces& traces) const;
  void count_rows_sent(std::uint64_t rows) { own_.rows_sent += rows; }

  /// Ends the other processes. Returns what each process has done, once all have answered.
  std::vector<Statistics> end();

 private:
  struct Place {
    std::string host;
    FileState state;
  };

  // The processes that read some files, by number of the file. One that is no trace has none.
  struct Share {
    std::vector<std::size_t> numbers;
    std::vector<std::uint64_t> bytes;
    std::vector<int> processes;
  };

  /// `is_in_order`: the files of a host are best in one process.
  Share share(const std::vector<std::string>& paths, bool is_in_order);
  /// Asks the other processes for theirs. Returns how many files that is.
  std::size_t ask_for(const Share& share, const std::vector<std::string>& paths, Request what,
                      bool has_machines = false);
  /// The number of each file of these traces in the list of files that are kept.
  std::vector<std::uint64_t> numbers_of(const model::Traces& traces) const;
  std::map<std::string, FoundFiles> find_on_all_hosts(const std::vector<std::string>& arguments,
                                                      const load::DumpChoice& dumps);
  void take_files(const std::string& host, const FoundFiles& found, load::Inputs& inputs,
                  model::Problems& problems);
  /// Each host once, in the order of their first processes, whose numbers they have.
  std::vector<std::pair<std::string, int>> hosts() const;

  Messages& messages_;
  bool is_local_;
  std::map<std::string, Place> places_;  // of files by path, where each host has its own
  std::size_t awaited_ = 0;              // files that others read
  Statistics own_;
  Keeper keeper_;                                // of this process
  std::vector<std::string> kept_paths_;          // of all files whose rows are kept
  std::string kept_;                             // an archive of what is known of them
  std::vector<int> keepers_;                     // the processes that have them
  std::vector<std::uint64_t> numbers_of_files_;  // numbers_of() the traces that were placed
  std::vector<std::size_t> hosts_in_;            // by communicator: how many
  /// By communicator and process: which of the communicator's hosts have rows there.
  std::vector<std::map<int, std::vector<std::uint32_t>>> hosts_at_;
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_LEADER_H
