// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/foreign_file.h"
#include "analyzer/load/imports/ras.h"
#include "analyzer/report/ras_report.h"
#include "live/ras_client.h"

namespace ringside::cli {
namespace {

struct RasOptions {
  std::string file;
  std::string address;
  std::string save;
  double timeout_s = 15;
  std::string format = "table";
};

constexpr char kRasExample[] =
    "NCCL 2.24 and newer has a service (RAS) in every process that knows which collectives each "
    "rank has launched, and whose process does not answer. Put its answer next to the traces, and "
    "`ringside hang` shows it with its own verdict.\n"
    "\nExamples:\n"
    "  ringside ras\tof a job on this host\n"
    "  ringside ras --address node7:28028 --save traces/ras.json\tand keep it with the traces\n"
    "  ringside ras traces/ras.json\tan answer that was kept, of `ncclras` too\n";

std::string default_address() {
  const char* const set = std::getenv("NCCL_RAS_ADDR");  // NOLINT(concurrency-mt-unsafe)
  return set != nullptr && *set != '\0' ? set : "localhost:28028";
}

ExitStatus run_ras(const RasOptions& options) {
  model::Ras ras;
  std::string source = options.file;
  std::string trouble;
  if (!options.file.empty()) {
    trouble = load::load_ras(options.file, ras);
    if (!trouble.empty()) {
      trouble = load::trouble_or_kind(options.file, trouble, load::begins_as_ras);
    }
  } else {
    source = options.address.empty() ? default_address() : options.address;
    const live::RasAnswer answer = live::ask_ras(
        source, std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000)));
    trouble = answer.error;
    if (trouble.empty() && !options.save.empty()) {
      std::ofstream file(options.save, std::ios::binary | std::ios::trunc);
      if (!(file << answer.text).flush()) {
        tell("ringside ras: " + options.save + ": cannot be written");
        return kExitInternal;
      }
    }
    if (trouble.empty()) {
      trouble = load::read_ras(answer.text, ras);
    }
  }
  if (!trouble.empty()) {
    tell("ringside ras: " + source + ": " + trouble +
         (options.file.empty() ? "; check that the job runs on that host, that its NCCL_RAS_ENABLE "
                                 "is not 0, and that this is its NCCL_RAS_ADDR"
                               : ""));
    return kExitNoInput;
  }
  const report::Document document = report::ras_document(ras);
  if (!show(report::render(document, options.format, {}, screen_columns()), options.format)) {
    return kExitInternal;
  }
  const bool is_whole = ras.not_listed == 0 &&
                        std::none_of(ras.communicators.begin(), ras.communicators.end(),
                                     [](auto& one) { return model::ranks_not_reported(one) > 0; });
  return !document.findings.empty() ? kExitFindings : is_whole ? kExitOk : kExitIncomplete;
}

}  // namespace

void add_ras(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<RasOptions>();
  CLI::App* const command =
      app.add_subcommand("ras", "Ask NCCL's RAS service of a running job, or read its answer");
  CLI::Option* const file =
      command->add_option("FILE", options->file, "An answer that was kept, instead of asking");
  command
      ->add_option("--address", options->address,
                   "The address of the service (default: NCCL_RAS_ADDR, else localhost:28028)")
      ->type_name("HOST:PORT")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return std::regex_match(text, std::regex(".+:[0-9]+")) ? ""
                                                                   : text + " is not HOST:PORT";
          },
          ""))
      ->excludes(file);
  command->add_option("--save", options->save, "Also write the answer there, as it is")
      ->type_name("FILE")
      ->excludes(file);
  command->add_option("--timeout", options->timeout_s, "Seconds to wait for all of it")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--format", options->format, "table, json, csv or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  set_command(*command, kRasExample,
              {{0, "RAS reports nothing wrong"},
               {1, "it does"},
               {3, "there is no answer, or none that can be read"},
               {4, "RAS reports nothing wrong, but says nothing of some ranks"}},
              options, chosen, run_ras);
}

}  // namespace ringside::cli
