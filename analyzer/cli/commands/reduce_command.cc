// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/progress_line.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/partial/partial_writer.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/merge/output_file.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::cli {
namespace {

struct ReduceOptions {
  std::vector<std::string> inputs;
  std::string output;
  bool force = false;
};

constexpr char kReduceExample[] =
    "A partial has what the analysis needs of all the traces that were given, in a fraction of "
    "their size. Every command but `merge` and `lint` takes partials in place of traces, or "
    "together with some, and says the same: losses, bad lines and names of the traces are in it, "
    "too. A file that was named and is not there is not in it: the exit status is then 4.\n\n"
    "Examples:\n"
    "  ringside reduce traces/ -o job.part\tonce, then faster each time:\n"
    "  ringside summary job.part\n"
    "  ringside reduce /local/traces -o node1.part\ton each host; only this file is copied\n"
    "  ringside stragglers node*.part\twhere they have come together\n"
    "  ssh node1 ringside reduce /local/traces -o - > node1.part\n"
    "  ringside reduce node*.part -o job.part\tseveral into one\n";

struct Written {
  std::uint64_t traces = 0;  // without those that could not be read
  std::uint64_t entries = 0;
  std::uint64_t operations = 0;
  std::uint64_t steps = 0;
};

std::uint64_t bytes_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// False, after a message, if a trace cannot be written.
bool write_traces(const std::vector<load::LoadedTrace>& loaded, merge::OutputFile& output,
                  Written& written) {
  for (const std::string& sections : load::encode_traces(loaded)) {
    if (sections.empty()) {
      tell(std::string("ringside reduce") + load::kTooLargeForPartial);
      return false;
    }
    output.write(sections);
  }
  written.entries += loaded.size();
  for (const load::LoadedTrace& one : loaded) {
    for (const model::TraceFile& file : one.traces.files) {
      ++written.traces;
      written.operations += file.operations.size();
      written.steps += file.steps.size();
    }
  }
  return true;
}

// Some files after the others, so that not all of them need fit into memory.
bool reduce_all(const std::vector<std::string>& paths, merge::OutputFile& output,
                model::Problems& problems, Written& written) {
  constexpr std::uint64_t kBatch_bytes = std::uint64_t{256} << 20;
  load::Progress progress;
  const ProgressLine line("reading", progress);
  for (std::size_t begin = 0; begin < paths.size();) {
    std::size_t end = begin;
    for (std::uint64_t bytes = 0; end < paths.size() && bytes < kBatch_bytes; ++end) {
      bytes += bytes_of(paths[end]);
    }
    const auto loaded = load::load_each({paths.begin() + static_cast<std::ptrdiff_t>(begin),
                                         paths.begin() + static_cast<std::ptrdiff_t>(end)},
                                        0, &progress);
    for (const load::LoadedTrace& one : loaded) {
      load::append_problems(one.problems, problems);
    }
    if (!write_traces(loaded, output, written)) {
      return false;
    }
    begin = end;
  }
  return true;
}

std::string written_text(const ReduceOptions& options, const Written& written,
                         std::uint64_t bytes) {
  std::string text = options.output + ": " + report::counted(written.traces, "trace") + ", " +
                     report::counted(written.operations, "operation") + ", " +
                     report::human_bytes(bytes);
  if (written.operations > 0 && written.steps == 0) {
    text += ": " +
            report::fixed(static_cast<double>(bytes) / static_cast<double>(written.operations), 1) +
            " bytes an operation of a rank";
  }
  return text;
}

ExitStatus run_reduce(const ReduceOptions& options) {
  merge::OutputFile output(options.output, options.force);
  if (!output.error().empty()) {
    tell("ringside reduce: " + output.error());
    return kExitUsage;
  }
  model::Problems problems;
  const load::Inputs inputs = load::find_inputs(options.inputs, problems);
  // The partial knows nothing of files that are not there, so its readers could not report them.
  const bool are_there = problems.files().empty();
  if (is_input("reduce", options.output, inputs.paths, {})) {
    return kExitUsage;
  }
  Written written;
  output.write(load::partial_start());
  const bool is_whole = reduce_all(inputs.paths, output, problems, written);
  output.write(load::partial_end(written.entries));
  print_problems(problems, inputs.notes);
  if (!is_whole) {
    return kExitInternal;
  }
  if (written.traces == 0) {
    std::fprintf(stderr, "ringside: there is no trace to reduce\n");
    return kExitNoInput;
  }
  if (!output.finish()) {
    tell("ringside reduce: " + output.error());
    return kExitInternal;
  }
  note(written_text(options, written, output.bytes()));
  return are_there ? kExitOk : kExitIncomplete;
}

}  // namespace

void add_reduce(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ReduceOptions>();
  CLI::App* const command = app.add_subcommand(
      "reduce", "Put what the analysis needs of many traces into one small file");
  command->add_option("DIR_OR_FILE", options->inputs, "Directories with traces, or trace files")
      ->required();
  command->add_option("-o,--output", options->output, "Write this file; -: stdout")
      ->type_name("FILE")
      ->required();
  command->add_flag("--force", options->force, "Replace what is there");
  add_quiet_option(*command);
  set_command(*command, kReduceExample,
              {{2, kUsageOrExists},
               {3, "nothing that was named could be read"},
               {4, "something that was named is not there"}},
              options, chosen, run_reduce);
}

}  // namespace ringside::cli
