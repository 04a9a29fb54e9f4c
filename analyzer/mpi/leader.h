// SPDX-License-Identifier: Apache-2.0
//
// Process 0: it has the others read, and takes what they have read.
#ifndef RINGSIDE_ANALYZER_MPI_LEADER_H
#define RINGSIDE_ANALYZER_MPI_LEADER_H

#include <map>
#include <string>
#include <vector>

#include "analyzer/load/other_processes.h"
#include "analyzer/mpi/messages.h"
#include "analyzer/mpi/requests.h"

namespace ringside::mpi {

class Leader final : public load::OtherProcesses {
 public:
  /// `is_local`: each host has files of its own. The messages must outlive it.
  Leader(Messages& messages, bool is_local) : messages_(messages), is_local_(is_local) {}

  load::Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                           const load::DumpChoice& dumps) override;
  std::vector<bool> share_out(const std::vector<std::string>& paths) override;
  std::vector<load::ReadFile> receive() override;

  /// Ends the other processes. Returns what each process has done, once all have answered.
  std::vector<Statistics> end();

 private:
  struct Place {
    std::string host;
    FileState state;
  };

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
};

}  // namespace ringside::mpi

#endif  // RINGSIDE_ANALYZER_MPI_LEADER_H
