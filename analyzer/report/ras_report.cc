// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/ras_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::report {
namespace {

using RasNames = std::map<std::string, std::string>;  // of communicators, by hash

std::string ras_name_of(const model::RasCommunicator& communicator, const RasNames& names) {
  const auto found = names.find(communicator.hash);
  return found == names.end() ? communicator.hash : found->second;
}

// " rank 2 of communicator world (pid 7 on 10.0.0.1)".
std::string ras_rank_text(const model::RasRank& rank, const std::string& communicator) {
  return " rank " + std::to_string(rank.rank) + " of communicator " + communicator + " (pid " +
         std::to_string(rank.pid) + " on " + rank.host + ")";
}

void add(Document& document, Severity severity, const char* kind, std::string text) {
  document.findings.push_back({severity, kind, std::move(text)});
}

// "... of communicator world: 3 on ranks 0, 2; 1 on rank 1".
void add_counts(const model::RasCommunicator& communicator, const std::string& name,
                Document& document) {
  std::set<std::string> functions;
  for (const model::RasRank& rank : communicator.ranks) {
    for (const auto& [function, launched] : rank.launched) {
      functions.insert(function);
    }
  }
  for (const std::string& function : functions) {
    std::map<std::uint64_t, std::vector<std::uint32_t>, std::greater<>> by_count;
    for (const model::RasRank& rank : communicator.ranks) {
      by_count[rank.launched.at(function)].push_back(rank.rank);
    }
    if (by_count.size() < 2) {
      continue;
    }
    std::string text;
    for (auto& [launched, ranks] : by_count) {
      std::sort(ranks.begin(), ranks.end());
      text += (text.empty() ? "" : "; ") + std::to_string(launched) + " on " +
              match::rank_list(ranks) + (launched < by_count.begin()->first ? " (behind)" : "");
    }
    text.insert(0, ": ").insert(0, name).insert(0, " of communicator ").insert(0, function);
    add(document, Severity::kWarning, "ras-counts",
        text.insert(0, "NCCL's RAS counts different numbers of launched "));
  }
}

void add_communicator(const model::RasCommunicator& communicator, const std::string& name,
                      Document& document) {
  for (const model::RasRank& rank : communicator.absent) {
    const std::string what = rank.is_dead           ? "considers dead"
                             : rank.is_unresponsive ? "gets no answer from"
                                                    : "has no data of";
    add(document, Severity::kError, "ras-absent", "NCCL's RAS " + what + ras_rank_text(rank, name));
  }
  for (const model::RasRank& rank : communicator.ranks) {
    if (rank.init_error != 0 || rank.async_error != 0 || rank.is_aborted) {
      const std::int64_t error = rank.async_error != 0 ? rank.async_error : rank.init_error;
      add(document, Severity::kError, "ras-error",
          "NCCL's RAS reports that" + ras_rank_text(rank, name) +
              (error != 0 ? " has the error ncclResult_t " + std::to_string(error)
                          : " has aborted it"));
    }
  }
  add_counts(communicator, name, document);
}

Table ranks_table(const model::Ras& ras, const RasNames& names) {
  Table table{"ras",
              "NCCL's RAS: the collectives that each rank has launched",
              {{"communicator", "communicator"},
               {"rank", "rank", Shown::kInteger},
               {"host", "host"},
               {"pid", "pid", Shown::kInteger},
               {"state", "state"}},
              {}};
  std::set<std::string> functions;
  for (const model::RasCommunicator& communicator : ras.communicators) {
    for (const model::RasRank& rank : communicator.ranks) {
      for (const auto& [function, launched] : rank.launched) {
        if (launched > 0) {
          functions.insert(function);
        }
      }
    }
  }
  for (const std::string& function : functions) {
    table.columns.push_back({function, function, Shown::kInteger});
  }
  for (const model::RasCommunicator& communicator : ras.communicators) {
    for (const auto* const ranks : {&communicator.ranks, &communicator.absent}) {
      for (const model::RasRank& rank : *ranks) {
        const bool is_absent = ranks == &communicator.absent;
        auto& row = table.rows.emplace_back();
        row = {ras_name_of(communicator, names), cell_of(rank.rank), rank.host, cell_of(rank.pid),
               rank.is_dead                                    ? "dead"
               : rank.is_unresponsive                          ? "no answer"
               : is_absent                                     ? "no data"
               : rank.is_aborted                               ? "aborted"
               : rank.async_error != 0 || rank.init_error != 0 ? "error"
               : rank.is_in_progress                           ? "in progress"
                                                               : "answers"};
        for (const std::string& function : functions) {
          const auto found = rank.launched.find(function);
          row.push_back(found == rank.launched.end() ? Cell() : cell_of(found->second));
        }
      }
    }
  }
  return table;
}

// A possible cause of trouble is a warning; settings that differ are a note.
Document diagnostics_document(const model::Ras& ras, const RasNames& names) {
  Document document{"ras", {}, {}, {}, {}};
  for (const model::RasDiagnostic& diagnostic : ras.diagnostics) {
    const auto name = names.find(diagnostic.hash);
    add(document,
        diagnostic.check == "ECC" || diagnostic.check == "NVLink" || diagnostic.check == "p2p" ||
                diagnostic.check.starts_with('[') ||
                diagnostic.check.find("Xid") != std::string::npos
            ? Severity::kWarning
            : Severity::kNote,
        "ras-diagnostic",
        "NCCL's RAS, " + diagnostic.check + ": " + diagnostic.text +
            (name == names.end() ? "" : " (communicator " + name->second + ")"));
  }
  document.sentences.push_back(
      "NCCL's RAS diagnostics: " + counted(ras.diagnostics.size(), "line") + " to review, " +
      counted(ras.checks_passed, "check") + " without a finding.");
  document.notes.emplace_back(
      "The form of RAS diagnostics (NCCL 2.31 and newer) is known from NVIDIA's documentation and "
      "source only.");
  return document;
}

Document make_document(const model::Ras& ras, const RasNames& names) {
  if (ras.is_diagnostics) {
    return diagnostics_document(ras, names);
  }
  Document document{"ras", {}, {}, {}, {}};
  for (const model::RasCommunicator& communicator : ras.communicators) {
    add_communicator(communicator, ras_name_of(communicator, names), document);
  }
  if (ras.timeouts > 0) {
    add(document, Severity::kWarning, "ras-absent",
        "NCCL's RAS waited in vain for " + counted(ras.timeouts, "process", "processes") +
            " or connections");
  }
  for (const std::string& line : ras.lines) {
    // Lines that go on are indented.
    if (!line.starts_with(' ') || document.findings.empty()) {
      add(document, Severity::kWarning, "ras-text", "NCCL's RAS: " + line);
    } else {
      document.findings.back().text += "; " + line.substr(line.find_first_not_of(' '));
    }
  }
  const std::string of_when =
      "NCCL " + ras.nccl_version + (ras.time.empty() ? "" : ", " + ras.time + " of its host");
  document.sentences.push_back(
      document.findings.empty()
          ? "NCCL's RAS reports nothing wrong" +
                (ras.is_text ? std::string()
                             : " in " + counted(ras.communicators.size(), "communicator")) +
                " (" + of_when + ")."
          : "NCCL's RAS reports " + counted(document.findings.size(), "trouble") + " (" + of_when +
                ").");
  if (ras.not_listed > 0) {
    document.sentences.front() +=
        " It says nothing of " + counted(ras.not_listed, "communicator") + " that it counts.";
  }
  for (const model::RasCommunicator& communicator : ras.communicators) {
    if (const std::uint64_t unknown = model::ranks_not_reported(communicator); unknown > 0) {
      document.sentences.front() += " It says nothing of " + counted(unknown, "rank") + " of the " +
                                    std::to_string(communicator.nranks) + " of communicator " +
                                    ras_name_of(communicator, names) + '.';
    }
  }
  document.notes.emplace_back(
      "RAS counts collectives when they are launched, at one moment of a job that runs: counts may "
      "differ for a moment, and equal counts do not mean that anything has ended.");
  if (!ras.is_text) {
    document.tables.push_back(ranks_table(ras, names));
  }
  return document;
}

std::size_t column_at(const Table& table, const std::string& key) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const CellColumn& column) { return column.key == key; });
  return static_cast<std::size_t>(found - table.columns.begin());
}

// Names the checks with a finding on a rank beside what that rank did last.
void add_hardware(const model::Ras& ras, const RasNames& names, Document& hang) {
  const auto table = std::find_if(hang.tables.begin(), hang.tables.end(),
                                  [](const Table& one) { return one.key == "ranks"; });
  if (ras.diagnostics.empty() || table == hang.tables.end()) {
    return;
  }
  const std::size_t communicator = column_at(*table, "communicator");
  const std::size_t rank = column_at(*table, "rank");
  const bool is_there = column_at(*table, "diagnostics") < table->columns.size();
  if (!is_there) {
    table->columns.push_back({"diagnostics", "RAS diagnostics"});
  }
  for (auto& row : table->rows) {
    std::string checks;
    for (const model::RasDiagnostic& diagnostic : ras.diagnostics) {
      const auto name = names.find(diagnostic.hash);
      const std::string& label = name == names.end() ? diagnostic.hash : name->second;
      const bool is_of_rank =
          std::any_of(diagnostic.ranks.begin(), diagnostic.ranks.end(),
                      [&](std::uint32_t one) { return row[rank] == Cell(std::uint64_t{one}); });
      if (is_of_rank && row[communicator] == Cell(label)) {
        checks += (checks.empty() ? "" : ", ") + diagnostic.check;
      }
    }
    if (!is_there) {
      row.push_back(checks.empty() ? Cell() : Cell(checks));
    } else if (!checks.empty()) {
      row.back() = checks;
    }
  }
}

}  // namespace

Document ras_document(const model::Ras& ras) {
  return make_document(ras, {});
}

void add_ras(const model::Ras& ras, const std::string& source, const model::Traces& traces,
             Document& hang) {
  RasNames names;
  for (const model::TraceFile& file : traces.files) {
    for (const auto& [number, context] : file.contexts) {
      if (context.comm && !context.name.empty()) {
        names[*context.comm] = context.name;
      }
    }
  }
  Document own = make_document(ras, names);
  hang.sentences.push_back(source + ": " + own.sentences.front());
  add_hardware(ras, names, hang);
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(hang.findings, own.findings);
  append(hang.tables, own.tables);
  append(hang.notes, own.notes);
}

}  // namespace ringside::report
