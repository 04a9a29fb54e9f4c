// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/export.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "analyzer/chakra/held_signals.h"
#include "analyzer/chakra/operation_node.h"
#include "analyzer/chakra/profile_node.h"
#include "analyzer/chakra/rank_graph.h"
#include "analyzer/chakra/rank_operations.h"
#include "analyzer/load/kineto/execution_trace.h"
#include "analyzer/load/kineto/kineto_trace.h"
#include "analyzer/model/parallel.h"

namespace ringside::chakra {
namespace {

namespace fs = std::filesystem;

// Ids of nodes: that of the process groups, then those of the pieces in their order.
constexpr std::uint64_t kGroupsId = 1;
constexpr std::uint64_t kFirstPieceId = 2;

std::uint64_t id_of(PieceIndex piece) {
  return kFirstPieceId + piece;
}

std::vector<std::uint64_t> ids_of(const std::vector<PieceIndex>& pieces) {
  std::vector<std::uint64_t> ids;
  ids.reserve(pieces.size());
  for (const PieceIndex piece : pieces) {
    ids.push_back(id_of(piece));
  }
  return ids;
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

class Writer {
 public:
  Writer(const facts::Facts& facts, const ExportChoice& choice, ExportOutcome& outcome)
      : facts_(facts),
        choice_(choice),
        outcome_(outcome),
        temporary_(without_slash(choice.directory) + '.' + std::to_string(::getpid()) + ".tmp") {}

  ~Writer() {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write() {
    std::error_code error;
    if (!fs::create_directories(temporary_, error)) {
      outcome_.error = "cannot write " + choice_.directory + ": " +
                       (error ? error.message() : std::string("a temporary directory is there"));
      outcome_.is_not_made = true;
      return;
    }
    ranks_ = find_rank_operations(facts_);
    for (const auto& [key, operations] : ranks_.of_rank) {
      ++ranks_of_file_[file_of(key)];
      files_.push_back(
          {key, std::make_unique<TraceFile>(temporary_ / name_of(key), choice_.format)});
    }
    for_each_on_cores(files_.size(), [&](std::size_t, std::size_t i) { write_rank(files_[i]); });
    std::map<std::uint32_t, std::int64_t> first_us;
    for (const File& file : files_) {
      auto& first = first_us.try_emplace(file.key.first, file.first_us).first->second;
      first = std::min(first, file.first_us);
    }
    for (File& file : files_) {
      finish(file, first_us[file.key.first]);
    }
    if (goes_on()) {
      give_names();
    }
    std::sort(outcome_.notes.begin(), outcome_.notes.end());
    std::sort(outcome_.problems.begin(), outcome_.problems.end());
    if (ranks_.without_rank > 0) {
      outcome_.notes.push_back(
          "left out are operations of ranks whose number in the job is not "
          "known: " +
          std::to_string(ranks_.without_rank));
    }
  }

 private:
  struct File {
    RunAndRank key;
    std::unique_ptr<TraceFile> file;
    std::int64_t first_us = 0;
  };
  struct Rank {
    const std::vector<RankOperation>* operations = nullptr;
    model::KinetoTrace trace;         // of PyTorch's profiler; empty if there is none
    model::ExecutionTrace execution;  // of PyTorch; likewise
    std::optional<RankGraph> graph;
  };

  std::string name_of(const RunAndRank& key) const {
    const bool is_one_run = facts_.matches().runs.runs.size() < 2;
    return (is_one_run ? std::string("chakra.") : "run" + std::to_string(key.first + 1) + '.') +
           std::to_string(key.second) + (choice_.format == Format::kJson ? ".json" : ".et");
  }

  bool goes_on() {
    const std::lock_guard lock(mutex_);
    if (outcome_.error.empty() && signals_.has_come()) {
      outcome_.error = "interrupted";
    }
    return outcome_.error.empty();
  }

  void fail(const RunAndRank& key) {
    const int error = errno;
    const std::lock_guard lock(mutex_);
    if (outcome_.error.empty()) {
      outcome_.error =
          "cannot write " + choice_.directory + '/' + name_of(key) + ": " + std::strerror(error);
    }
  }

  std::vector<Attribute> metadata_of(const RunAndRank& key, const std::string& schema) const {
    std::vector<Attribute> attributes;
    attributes.push_back({"tool", std::string("ringside " RINGSIDE_VERSION)});
    attributes.push_back({"rank", std::int64_t{key.second}});
    const model::TraceFile& trace = facts_.traces().files[file_of(key)];
    attributes.push_back({"hostname", trace.process.host});
    attributes.push_back({"pid", static_cast<std::uint64_t>(trace.process.pid)});
    attributes.push_back({"nccl_version", trace.process.nccl_version});
    if (!schema.empty()) {
      attributes.push_back({"schema", schema});
    }
    attributes.push_back(
        {"clock", std::string(facts_.alignment().is_aligned() ? "aligned" : "realtime")});
    return attributes;
  }

  std::uint32_t file_of(const RunAndRank& key) const {
    return facts_.matches().parts[ranks_.of_rank.at(key).front().part].file;
  }

  void write_rank(File& file) {
    if (!goes_on()) {
      return;
    }
    std::vector<RankOperation>& operations = ranks_.of_rank.at(file.key);
    Rank rank;
    rank.operations = &operations;
    const auto profile = read_profile(file.key, rank.trace);
    if (profile) {
      read_execution_trace(profile->file, rank);
    }
    rank.graph.emplace(graph_of(facts_, operations, profile ? &*profile : nullptr));
    const Schedule& schedule = rank.graph->schedule;
    file.first_us = schedule.pieces().front().start_us;
    Node groups = groups_node(facts_, ranks_, file.key.first);
    groups.id = kGroupsId;
    bool is_written =
        file.file->begin(metadata_of(file.key, rank.execution.schema)) && file.file->add(groups);
    std::uint64_t nodes = 2;  // with that of finish()
    for (PieceIndex i = 1; i < schedule.pieces().size() && is_written; ++i) {
      constexpr PieceIndex kBetweenLooks = 4096;
      if (i % kBetweenLooks == 0 && !goes_on()) {
        return;
      }
      is_written = file.file->add(node_of(rank, i));
      ++nodes;
    }
    if (!is_written || !file.file->pause()) {
      fail(file.key);
    }
    const std::lock_guard lock(mutex_);
    outcome_.nodes += nodes;
  }

  // The first trace of the profiler for a rank's process; nothing if there is none. A graph has
  // one: ids of two profiles may be the same.
  std::optional<Profile> read_profile(const RunAndRank& key, model::KinetoTrace& trace) {
    const std::uint32_t file = file_of(key);
    const match::KinetoFileJoin* taken = nullptr;
    for (const match::KinetoFileJoin* const profile : choice_.profiles) {
      if (profile->file != file) {
        continue;
      }
      if (ranks_of_file_[file] > 1) {
        add_problem(profile->path + ": left out, since its process has several ranks");
      } else if (taken != nullptr) {
        add_problem(profile->path + ": left out, since " + taken->path +
                    " is of the same rank, and an execution trace has one profile");
      } else {
        taken = profile;
      }
    }
    if (taken == nullptr) {
      return std::nullopt;
    }
    if (const auto error = load::read_kineto_trace(taken->path, trace)) {
      add_problem(taken->path + ": " + *error);
      return std::nullopt;
    }
    const std::lock_guard lock(mutex_);
    ++outcome_.profiles;
    return Profile{&trace, file, &taken->kernels};
  }

  void add_problem(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    if (std::find(outcome_.problems.begin(), outcome_.problems.end(), problem) ==
        outcome_.problems.end()) {
      outcome_.problems.push_back(problem);  // several ranks may have the same one
    }
  }

  // PyTorch before 2.1 has the number of the record function as External id.
  static const model::ExecutionNode* execution_node_of(const Rank& rank, std::uint32_t index) {
    const model::KinetoCall& call = rank.trace.operators[index];
    const auto found = rank.execution.nodes.find(
        call.record_function_id != model::kNoId ? call.record_function_id : call.external_id);
    return found != rank.execution.nodes.end() &&
                   found->second.name == rank.trace.names.text(call.name)
               ? &found->second
               : nullptr;
  }

  void read_execution_trace(std::uint32_t file, Rank& rank) {
    for (const auto& [path, of_file] : choice_.execution_traces) {
      if (of_file != file) {
        continue;
      }
      const auto error = load::read_execution_trace(path, rank.execution);
      std::size_t linked = 0;
      for (std::uint32_t i = 0; i < rank.trace.operators.size(); ++i) {
        linked += execution_node_of(rank, i) != nullptr ? 1 : 0;
      }
      if (error) {
        add_problem(path + ": " + *error);
      }
      const std::lock_guard lock(mutex_);
      outcome_.notes.push_back(path + ": " + std::to_string(linked) + " of " +
                               std::to_string(rank.trace.operators.size()) +
                               " operators of the profile have their node in this execution trace");
    }
  }

  Node node_of(const Rank& rank, PieceIndex index) const {
    const Piece& piece = rank.graph->schedule.pieces()[index];
    Node node;
    switch (piece.source) {
      case Piece::Source::kOperation:
        node = operation_node(facts_, ranks_, (*rank.operations)[piece.of]);
        if (const auto kernel = rank.graph->kernels[piece.of]) {
          add_kernel(rank.trace, *kernel, node);
        }
        break;
      case Piece::Source::kCall:
        node = call_node(rank.trace, piece.of);
        if (const auto* from = execution_node_of(rank, piece.of)) {
          add_execution_node(*from, node);
        }
        break;
      case Piece::Source::kActivity:
        node = activity_node(rank.trace, piece.of);
        break;
      case Piece::Source::kGap:
      case Piece::Source::kLead:
        node.name = piece.duration_us > 0 ? "gap" : "join";
        node.add("is_cpu_op", piece.is_cpu);
        node.add(node.name, true);
        break;
    }
    node.id = id_of(index);
    if (piece.control) {
      node.control_dependencies.push_back(id_of(*piece.control));
    }
    node.data_dependencies = ids_of(piece.data);
    if (!piece.syncs.empty()) {
      node.add("sync_dep", ids_of(piece.syncs));
    }
    if (piece.other_thread) {
      node.add("inter_thread_dep", id_of(*piece.other_thread));
    }
    node.start_us = piece.start_us;
    node.duration_us = piece.duration_us;
    return node;
  }

  // How long a rank's first piece is after the first of all is known once all ranks are.
  void finish(File& file, std::int64_t first_us) {
    if (!goes_on()) {
      return;
    }
    Node lead;
    lead.id = kFirstPieceId;
    lead.name = "lead";
    lead.start_us = first_us;
    lead.duration_us = file.first_us - first_us;
    lead.add("is_cpu_op", true);
    lead.add("lead", true);
    if (!file.file->go_on() || !file.file->add(lead) || !file.file->finish()) {
      fail(file.key);
    }
    ++outcome_.files;
  }

  // Whether a file is of an export: "chakra.12.et", "run2.12.json". An earlier one may have had
  // more ranks, or another format.
  static bool is_execution_trace(std::string_view name) {
    const auto is_number = [](std::string_view text) {
      return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    const std::size_t dot = name.find('.');
    const std::size_t last_dot = name.rfind('.');
    const std::string_view begin = name.substr(0, dot);
    return dot < last_dot && is_number(name.substr(dot + 1, last_dot - dot - 1)) &&
           (name.ends_with(".et") || name.ends_with(".json")) &&
           (begin == "chakra" || (begin.starts_with("run") && is_number(begin.substr(3))));
  }

  // A directory that is there keeps what else is in it.
  void give_names() {
    std::error_code error;
    fs::rename(temporary_, choice_.directory, error);
    if (error && choice_.replaces && fs::is_directory(choice_.directory)) {
      error.clear();
      std::vector<fs::path> older;
      for (const auto& entry : fs::directory_iterator(choice_.directory, error)) {
        if (is_execution_trace(entry.path().filename().string())) {
          older.push_back(entry.path());
        }
      }
      for (const fs::path& path : older) {
        if (!error) {
          fs::remove(path, error);
        }
      }
      for (const File& file : files_) {
        if (!error) {
          fs::rename(temporary_ / name_of(file.key),
                     fs::path(choice_.directory) / name_of(file.key), error);
        }
      }
    }
    if (error) {
      outcome_.error = "cannot write " + choice_.directory + ": " + error.message();
    }
  }

  const facts::Facts& facts_;
  const ExportChoice& choice_;
  ExportOutcome& outcome_;
  fs::path temporary_;
  RankOperations ranks_;
  std::map<std::uint32_t, std::size_t> ranks_of_file_;
  std::vector<File> files_;
  std::mutex mutex_;
  HeldSignals signals_;
};

}  // namespace

std::string why_not(const ExportChoice& choice) {
  std::error_code error;
  const fs::file_status status = fs::status(choice.directory, error);
  if (!fs::exists(status)) {
    // Directories above it are made, too.
    fs::path above = fs::absolute(without_slash(choice.directory), error).parent_path();
    while (!fs::exists(above, error) && above.has_relative_path()) {
      above = above.parent_path();
    }
    if (!fs::is_directory(above, error) || ::access(above.c_str(), W_OK) != 0) {
      const int reason = fs::is_directory(above, error) ? errno : ENOTDIR;
      return "cannot write " + choice.directory + ": " + std::strerror(reason);
    }
    return {};
  }
  if (!fs::is_directory(status)) {
    return choice.directory + " is there, and is no directory";
  }
  const bool is_empty = fs::is_empty(choice.directory, error);
  if (error) {
    return "cannot read " + choice.directory + ": " + error.message();
  }
  return is_empty || choice.replaces ? std::string()
                                     : choice.directory + " is there already; --force replaces it";
}

ExportOutcome export_traces(const facts::Facts& facts, const ExportChoice& choice) {
  ExportOutcome outcome;
  Writer(facts, choice, outcome).write();
  return outcome;
}

}  // namespace ringside::chakra
