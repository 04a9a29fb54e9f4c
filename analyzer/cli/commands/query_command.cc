// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/report/export/export_tables.h"
#include "analyzer/report/export/query.h"

namespace ringside::cli {
namespace {

struct QueryOptions : AnalysisOptions {
  bool lists_views = false;
  unsigned seconds = 0;  // that the query may take; 0: any time
};

constexpr char kQueryExample[] =
    "The last argument is one SELECT over the tables of docs/database.md, or over a view: "
    "`ringside query --views` lists both with their columns. Nothing is written. Columns that end "
    "with _ns are shown as durations and those that end with bytes as sizes, but in JSON and CSV; "
    "in SQL duration(NS) and size(BYTES) are these texts.\n\n"
    "Examples:\n"
    "  ringside query traces/ 'SELECT * FROM rank_times'\town time and waiting of each rank\n"
    "  ringside query traces/ 'SELECT * FROM slow_links LIMIT 5'\tthe slowest links\n"
    "  ringside query --format csv traces/ \\\n"
    "      'SELECT function, count(*) AS operations FROM operations GROUP BY 1'\n"
    "  ringside query --views\twhat can be asked\n";

// A table for people has lines of a width that can be read.
void add_columns(report::QueryDatabase& database, const std::string& name, bool is_for_people,
                 report::Table& table) {
  constexpr std::size_t kWidth = 80;
  std::string first = name;
  std::string columns;
  for (const report::CellColumn& column :
       database.answer("SELECT * FROM " + name, 0, false).columns) {
    if (is_for_people && columns.size() + column.key.size() > kWidth) {
      table.rows.push_back({std::exchange(first, ""), std::exchange(columns, "") + ','});
    }
    columns += (columns.empty() ? "" : ", ") + column.key;
  }
  table.rows.push_back({first, columns});
}

report::Document views_document(report::QueryDatabase& database, bool is_for_people) {
  report::Table views{"views", "Views", {{"view", "view"}, {"meaning", "meaning"}}, {}};
  report::Table columns{
      "columns", "Columns of views and tables", {{"table", "of"}, {"columns", "columns"}}, {}};
  for (const report::View& view : report::query_views()) {
    views.rows.push_back({std::string(view.name), std::string(view.meaning)});
    add_columns(database, view.name, is_for_people, columns);
  }
  for (const report::ExportTable& table : report::export_tables()) {
    add_columns(database, table.name, is_for_people, columns);
  }
  report::Document document{"query", {}, {}, {}, {}};
  document.tables = {std::move(views), std::move(columns)};
  return document;
}

ExitStatus usage_trouble(const std::string& text) {
  tell("ringside query: " + text);
  tell("Try `ringside query --help`.");
  return kExitUsage;
}

constexpr unsigned kPatience_s = 10;
constexpr int kExitStopped = 128 + SIGINT;

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void say_slow(int /*signal*/) {
  say("ringside query: the query takes long; Ctrl-C stops it, and --seconds one that is late\n");
}

// A single step of SQLite may take any time, so the process ends, whatever it is at.
void end_query(int signal) {
  say(signal == SIGALRM
          ? "ringside query: the query takes longer than --seconds allows, and was stopped\n"
          : "ringside query: stopped before the query was answered\n");
  _exit(signal == SIGALRM ? kExitUsage : kExitStopped);
}

ExitStatus run_query(const QueryOptions& given) {
  const auto database = report::make_query_database();
  if (database == nullptr) {
    return usage_trouble("this ringside was built without SQLite; build it with libsqlite3-dev");
  }
  if (given.lists_views && !given.inputs.empty()) {
    return usage_trouble("--views lists what can be asked, and takes neither traces nor a query");
  }
  if (given.lists_views) {
    return show_document(views_document(*database, given.is_for_people()), given, kExitOk);
  }
  QueryOptions options = given;
  if (options.inputs.size() < 2) {
    return usage_trouble("traces and one query are needed: ringside query traces/ 'SELECT ...'");
  }
  const std::string sql = std::move(options.inputs.back());
  options.inputs.pop_back();
  // Reading the traces may take long, so the query is judged first.
  if (const std::string trouble = database->trouble_with(sql); !trouble.empty()) {
    tell("ringside query: " + trouble);
    return kExitUsage;
  }
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  report::export_to(*database, {analysis->facts(), match::chooses_operations(options.selection)},
                    {});
  report::Document document{"query", {}, {}, {}, {}};
  if (database->finish()) {
    std::signal(SIGINT, end_query);
    std::signal(SIGALRM, options.seconds > 0 ? end_query : say_slow);
    alarm(options.seconds > 0 ? options.seconds : kPatience_s);
    document.tables.push_back(database->answer(sql, options.most_rows(), options.is_for_people()));
    alarm(0);
  }
  if (!database->error().empty()) {
    tell("ringside query: " + database->error());
    return kExitUsage;
  }
  if (document.tables.front().rows.empty()) {
    document.sentences.emplace_back("The answer has no rows.");
  }
  return print_document(std::move(document), *analysis, options);
}

}  // namespace

void add_query(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<QueryOptions>();
  CLI::App* const command =
      app.add_subcommand("query", "Answer a question of your own, in SQL, or by a view");
  add_analysis_options(*command, *options);
  add_kineto_option(*command, *options);
  add_dump_options(*command, *options);
  command->get_option("DIR_OR_FILE")->required(false);
  command->add_flag("--views", options->lists_views, "List the views and the tables");
  command
      ->add_option("--seconds", options->seconds,
                   "Stop a query that takes longer (default: none does)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, 86400U));
  command->formatter(std::make_shared<HelpFormatter>(" SQL"));
  set_command(*command, kQueryExample,
              {{2, "the command line or the query is wrong, or it takes too much time or memory"},
               {3, kNothingFits},
               {4, kRestsOnPart},
               {kExitStopped, "Ctrl-C has stopped the query"}},
              options, chosen, run_query);
}

}  // namespace ringside::cli
