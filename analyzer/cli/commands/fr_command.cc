// SPDX-License-Identifier: Apache-2.0
//
// The options are those of PyTorch 2.15's torchfrtrace (config_manager.py), and -d of the script
// that it was before.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/live/hang_answer.h"
#include "analyzer/cli/output.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/calls_report.h"
#include "analyzer/report/export/export_tables.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::cli {
namespace {

struct FrOptions : AnalysisOptions {
  bool takes_incomplete = false;
  bool lists_entries = false;
  bool is_verbose = false;
  bool is_of_torchft = false;
  bool force = false;
  std::size_t mismatch_cap = 10;
  std::string output;
};

constexpr char kFrExample[] =
    "This command is for those who know PyTorch's torchfrtrace. `ringside hang` and `match` say "
    "the same of a directory of dumps, and take more options; docs/coming-from.md compares them.\n"
    "\n"
    "Examples:\n"
    "  ringside fr --allow-incomplete-ranks --print_stack_trace dumps/\twhat went wrong, and from "
    "where it was called\n"
    "  ringside fr -j --selected-ranks 0 1 --pg-filters tp -- dumps/\tthe calls, ranks side by "
    "side\n"
    "  ringside fr -o job.sqlite dumps/\tand a database of all calls\n";

// Moves what the other document has behind what there is; tables of one key become one.
void append(report::Document other, report::Document& document) {
  const auto move_to = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_to(other.sentences, document.sentences);
  move_to(other.findings, document.findings);
  for (std::string& note : other.notes) {
    if (std::find(document.notes.begin(), document.notes.end(), note) == document.notes.end()) {
      document.notes.push_back(std::move(note));
    }
  }
  for (report::Table& table : other.tables) {
    const auto same = std::find_if(document.tables.begin(), document.tables.end(),
                                   [&](const report::Table& one) { return one.key == table.key; });
    if (same == document.tables.end()) {
      document.tables.push_back(std::move(table));
      continue;
    }
    for (auto& row : table.rows) {
      if (std::find(same->rows.begin(), same->rows.end(), row) == same->rows.end()) {
        same->rows.push_back(std::move(row));
      }
    }
  }
}

// Ranks without a dump, of the first group that has such; empty if there is none.
std::string without_dump(const match::Matches& matches) {
  for (const match::Communicator& communicator : matches.communicators) {
    if (const auto absent = match::ranks_without_trace(communicator); !absent.empty()) {
      return match::rank_list(absent) + " of " + report::label_of(communicator);
    }
  }
  return {};
}

bool write_database(const FrOptions& options, report::ExportSink& sink, const Analysis& analysis) {
  report::export_to(sink, {analysis.facts(), match::chooses_operations(options.selection)}, {});
  if (!sink.finish()) {
    tell("ringside fr: " + sink.error());
    return false;
  }
  note(options.output + ": written; docs/database.md has its tables");
  return true;
}

ExitStatus list_entries(const FrOptions& options, Analysis& analysis) {
  align_clocks(options, analysis);
  if (!choose_traces(options, analysis) || !match_chosen(options, analysis)) {
    return kExitNoInput;
  }
  report::Document document =
      report::calls_document(analysis.traces, analysis.matches, analysis.alignment,
                             options.most_rows(0), options.wants_frames());
  if (options.is_verbose) {
    append(report::communicators_document(analysis.traces, analysis.matches), document);
  }
  document.command = "fr";
  return show_document(document, options, kExitOk);
}

ExitStatus run_fr(const FrOptions& options) {
  if (options.inputs.empty()) {
    tell("ringside fr: say which directory has the dumps");
    tell("Try `ringside fr --help`.");
    return kExitUsage;
  }
  std::unique_ptr<report::ExportSink> sink;
  if (!options.output.empty()) {
    sink = options.output.ends_with(".json")
               ? report::make_json_sink(options.output, options.force)
               : report::make_sqlite_sink(options.output, options.force);
    if (!sink->error().empty()) {
      tell("ringside fr: " + sink->error());
      return kExitUsage;
    }
  }
  Analysis analysis;
  if (!load_traces(options, analysis)) {
    return kExitNoInput;
  }
  if (is_input("fr", options.output, analysis.inputs, analysis.traces)) {
    return kExitUsage;
  }
  if (options.lists_entries) {
    return list_entries(options, analysis);
  }
  auto answer = answer_hang(options, 0, analysis);
  if (!answer || !match_chosen(options, analysis)) {
    return kExitNoInput;
  }
  if (const std::string absent = without_dump(analysis.matches);
      !absent.empty() && !options.takes_incomplete && !match::chooses_files(options.selection)) {
    tell("ringside fr: no dump of " + absent +
         " was read; --allow-incomplete-ranks says what the others show");
    return kExitIncomplete;
  }
  report::Document document = std::move(answer->document);
  document.command = "fr";
  document.findings.clear();  // its sentences say as much
  report::Document match = report::match_document(
      analysis.traces, analysis.matches, analysis.alignment, options.mismatch_cap,
      options.wants_frames(), report::count_unread(analysis.traces, analysis.problems) == 0);
  append(std::move(match), document);
  if (options.is_verbose) {
    append(report::communicators_document(analysis.traces, analysis.matches), document);
    append(report::calls_document(analysis.traces, analysis.matches, analysis.alignment, 0, false),
           document);
  } else {
    std::erase_if(document.tables, [](const report::Table& table) {
      return table.rows.empty() ||
             (table.key != "stuck" && table.key != "sides" && table.key != "frames");
    });
  }
  std::stable_partition(document.tables.begin(), document.tables.end(),
                        [](const report::Table& table) { return table.key != "frames"; });
  if (sink && !write_database(options, *sink, analysis)) {
    return kExitInternal;
  }
  return show_document(document, options, answer->status);
}

// The option takes all words that follow it, and the directory may be the last of these.
void take_ranks(const std::vector<std::string>& words, FrOptions& options) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char* const end = words[i].data() + words[i].size();
    std::int64_t rank = 0;
    const auto [rest, error] = std::from_chars(words[i].data(), end, rank);
    if (error == std::errc() && rest == end) {
      options.selection.ranks.push_back(rank);
    } else if (i > 0 && i + 1 == words.size() && options.inputs.empty()) {
      options.inputs.push_back(words[i]);
    } else {
      throw CLI::ValidationError("--selected-ranks", words[i] + " is no number");
    }
  }
}

// A pickle is a program of whoever wrote it, and only Python reads it.
std::string why_not_written(const std::string& path) {
  return path.ends_with(".pickle") || path.ends_with(".pkl")
             ? "a pickle is not written, since whoever reads one runs what is in it; name a file "
               ".sqlite, which any language reads, or .json"
             : "";
}

}  // namespace

void add_fr(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<FrOptions>();
  options->dumps.takes_dumps = true;
  options->dumps.takes_others = false;
  CLI::App* const command = app.add_subcommand(
      "fr", "Analyse Flight Recorder dumps as PyTorch's torchfrtrace does, with its options");
  add_quiet_option(*command);
  auto* const directory =
      command->add_option("trace_dir", options->inputs, "The directory of the dumps")->expected(1);
  command->add_option("-d,--dir", options->inputs, "The same, as the first script had it")
      ->type_name("DIR")
      ->expected(1)
      ->excludes(directory);
  command
      ->add_option_function<std::vector<std::string>>(
          "--selected-ranks,--rank",
          [options](const std::vector<std::string>& words) { take_ranks(words, *options); },
          "Only the dumps of these ranks; what others did is not known then")
      ->type_name("NUMBER...");
  command->add_flag("--allow-incomplete-ranks", options->takes_incomplete,
                    "Say what the dumps show although some rank has none");
  command
      ->add_option("--pg-filters,--comm", options->selection.communicators,
                   "Only these process groups, by description or name")
      ->type_name("NAME...");
  auto* const output =
      command
          ->add_option("-o,--output", options->output,
                       "Write a database of groups, memberships, collectives, calls and frames: "
                       "JSON if the name ends in .json, else SQLite")
          ->type_name("FILE")
          ->check(
              CLI::Validator([](const std::string& path) { return why_not_written(path); }, ""));
  command->add_flag("--force", options->force, "Replace FILE if it is there");
  command
      ->add_option("-p,--prefix", options->dumps.prefix,
                   "The names of the dumps up to the rank (default: anything)")
      ->type_name("PREFIX");
  command
      ->add_flag("-j,--just_print_entries", options->lists_entries,
                 "List the calls, ranks side by side, without a verdict")
      ->excludes(output);
  command->add_flag("-v,--verbose", options->is_verbose,
                    "Also the last operation of each rank, the groups, and all calls");
  command->add_flag("--print_stack_trace", options->has_stacks,
                    "Also the stacks of the calls that a verdict is on (with -j: of all)");
  command
      ->add_option("--mismatch_cap,--mismatch-cap", options->mismatch_cap,
                   "Mismatches to describe of each group; all are counted")
      ->type_name("COUNT")
      ->capture_default_str();
  auto* const size = command
                         ->add_option("--group-world-size", options->dumps.replica_ranks,
                                      "The ranks of a replica group, for --transform-ft")
                         ->type_name("RANKS")
                         ->check(CLI::Range(1U, 1U << 20));
  auto* const transform =
      command->add_flag("--transform-ft", options->is_of_torchft,
                        "The dumps are torchft's: default_pg lists ranks within a replica group");
  transform->needs(size);
  size->needs(transform);
  command->add_option("--format", options->format, "table, json or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "markdown"}))
      ->capture_default_str();
  set_command(*command, kFrExample,
              {{0, "no problem is found"},
               {1, "something is stuck, or calls do not match"},
               {2, kUsageOrExists},
               {3, kNothingFits},
               {4,
                "a rank has no dump (without --allow-incomplete-ranks), or whether such ranks have "
                "joined cannot be known"}},
              options, chosen, run_fr);
}

}  // namespace ringside::cli
