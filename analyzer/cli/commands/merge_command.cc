// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <optional>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/path_graphs.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/progress_line.h"
#include "analyzer/load/inputs.h"
#include "analyzer/merge/bundle.h"
#include "analyzer/merge/kineto/kineto_plan.h"
#include "analyzer/merge/merged_file.h"
#include "analyzer/merge/output_file.h"
#include "analyzer/merge/path_lines.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/printable.h"
#include "analyzer/report/document/numbers.h"

namespace ringside::cli {
namespace {

struct MergeOptions : AnalysisOptions {
  std::string output;
  bool force = false;
  bool no_steps = false;
  bool no_arrows = false;
  bool overview = false;
  std::optional<std::size_t> top_slowest;
  std::string around;
  double margin_s = 0.01;
};

constexpr char kMergeExample[] =
    "Open the result in ui.perfetto.dev or chrome://tracing. The timeline shows the waits of "
    "ranks, for which rank they wait, and which came last; docs/analyzer.md says how.\n\n"
    "Examples:\n"
    "  ringside merge traces/ -o all.json\tall ranks on one clock\n"
    "  ringside merge traces/ -o job.json --overview\tthe whole job, small\n"
    "  ringside merge traces/ -o slow.json --top-slowest 20\twhere the time went\n"
    "  ringside merge traces/ -o one.json --around world:AllReduce:1234 --margin 0.005\n"
    "  ringside merge traces/ -o part.json --from 60 --to 65 --no-steps\n"
    "  ringside merge traces/ -o all.pftrace --format perfetto\tsmaller, for Perfetto only\n"
    "  ringside merge traces/ -o all.json --kineto profiles/\twith what torch.profiler recorded\n"
    "  ringside merge traces/ -o all.tar --format bundle\tas they are, for Perfetto 58 or newer\n";

// Above that a browser takes long to open it, or has not the memory.
constexpr std::uint64_t kLarge_bytes = std::uint64_t{512} << 20;

// False, after a message, if --around names nothing.
bool choose_operations(const MergeOptions& options, Analysis& analysis) {
  if (!options.around.empty() &&
      !merge::keep_around(analysis.traces, analysis.alignment, options.around,
                          static_cast<std::int64_t>(options.margin_s * 1e9), analysis.matches)) {
    std::fprintf(
        stderr,
        "ringside merge: --around %s: no such operation; say communicator:function:number,\n"
        "as world:AllReduce:12, with a name or hash of `ringside communicators`\n",
        options.around.c_str());
    return false;
  }
  if (options.top_slowest) {
    merge::keep_slowest(analysis.traces, analysis.alignment, *options.top_slowest,
                        analysis.matches);
  }
  return true;
}

std::string clocks_text(const align::Alignment& alignment) {
  if (alignment.hosts().size() == 1) {
    return "one clock";
  }
  std::int64_t most_ns = 0;
  std::size_t unbounded = 0;
  for (const align::HostOffset& host : alignment.hosts()) {
    unbounded += alignment.is_aligned() && (host.is_reference || host.is_bounded) ? 0 : 1;
    most_ns = std::max(most_ns, host.is_reference ? 0 : host.most_uncertainty_ns);
  }
  if (unbounded > 0) {
    return "the clocks of " + report::counted(unbounded, "host") +
           " are as they were: no arrows and no waiting between these and others";
  }
  return "clocks of " + report::counted(alignment.hosts().size(), "host") + " within " +
         report::fixed(static_cast<double>(most_ns) / 1e3, 1) + " us of the reference";
}

std::string merged_text(const MergeOptions& options, const Analysis& analysis,
                        const merge::Plan& plan, const merge::MergedLines& lines,
                        std::uint64_t bytes) {
  std::string text =
      options.output + ": " + report::counted(plan.processes.size(), "process", "processes") +
      ", " + (lines.unread > 0 ? std::to_string(lines.unread) + " of them not to the end, " : "") +
      report::counted(plan.operations, "operation") + ", " +
      report::counted(lines.written, "line") + ", " + report::human_bytes(bytes) + "; " +
      clocks_text(analysis.alignment) + '\n';
  if (bytes > kLarge_bytes) {
    text +=
        "note: this is large for a viewer; --no-steps, --from, --to, --top-slowest make it "
        "smaller\n";
  }
  return text;
}

merge::WriteOptions write_options(const MergeOptions& options) {
  merge::WriteOptions result;
  result.has_steps = !options.no_steps;
  result.is_perfetto = options.format == "perfetto";
  result.is_overview = options.overview;
  return result;
}

// Returns 0 if some are compressed: the size of their text is not known.
std::uint64_t bytes_to_read(const model::Traces& traces) {
  std::uint64_t bytes = 0;
  for (const model::TraceFile& file : traces.files) {
    std::vector<std::string> paths = file.later_paths;
    paths.push_back(file.path);
    for (const std::string& path : paths) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(path, error);
      if (error || path.ends_with(".gz")) {
        return 0;
      }
      bytes += size;
    }
  }
  return bytes;
}

ExitStatus finish_output(merge::OutputFile& output) {
  if (output.finish()) {
    return kExitOk;
  }
  tell("ringside merge: " + output.error());
  return kExitInternal;
}

// Options that leave operations out, or add to them, would have to rewrite the traces.
bool fits_bundle(const MergeOptions& options) {
  return !options.top_slowest && options.around.empty() && !options.no_steps &&
         !options.no_arrows && !options.overview && !match::chooses_operations(options.selection);
}

ExitStatus run_bundle(const Analysis& analysis, const merge::Plan& plan,
                      merge::OutputFile& output) {
  model::Problems problems;
  const bool is_whole =
      merge::write_bundle(analysis.traces, analysis.alignment, plan, output, problems);
  print_problems(problems, {});
  if (!is_whole && output.error().empty()) {
    return kExitNoInput;
  }
  const ExitStatus status = finish_output(output);
  if (status == kExitOk) {
    note(report::counted(plan.processes.size(), "process", "processes") + ", " +
         report::human_bytes(output.bytes()) + "; " + clocks_text(analysis.alignment) +
         ", of which a bundle has the constant part of each offset");
  }
  return status;
}

// Returns false, after a message, if --kineto is given and there is no such trace.
bool take_kineto(const MergeOptions& options, Analysis& analysis, merge::Plan& plan) {
  if (analysis.profiles.empty() && options.kineto.empty()) {
    return true;
  }
  model::Problems problems;
  merge::add_kineto(analysis.traces, analysis.alignment, analysis.profiles, plan, problems);
  print_problems(problems, {});
  analysis.unused_profiles += problems.files().size();
  if (plan.kineto.empty()) {
    tell("ringside merge: there is no trace of PyTorch's profiler to merge");
    return false;
  }
  return true;
}

std::string kineto_text(const merge::Plan& plan, const merge::MergedLines& lines) {
  std::uint64_t kernels = 0;
  std::uint64_t linked = 0;
  for (const merge::KinetoPlan& planned : plan.kineto) {
    kernels += planned.kernels;
    linked += planned.linked;
  }
  return report::counted(plan.kineto.size(), "trace") + " of PyTorch's profiler, " +
         report::counted(lines.kineto_events, "event") + "; " + std::to_string(linked) + " of " +
         report::counted(kernels, "NCCL kernel") + " found among the operations\n";
}

ExitStatus run_merge(const MergeOptions& options) {
  const bool is_bundle = options.format == "bundle";
  if (is_bundle && !fits_bundle(options)) {
    std::fprintf(stderr,
                 "ringside merge: a bundle has the traces as they are; choose a part by --rank and "
                 "--host only\n");
    return kExitUsage;
  }
  if (!options.kineto.empty() && (options.format != "json" || options.overview)) {
    std::fprintf(stderr, "ringside merge: --kineto needs --format json, and no --overview\n");
    return kExitUsage;
  }
  merge::OutputFile output(options.output, options.force);
  if (!output.error().empty()) {
    tell("ringside merge: " + output.error());
    return kExitUsage;
  }
  model::Problems ignored;  // which analyse() tells
  const std::string partial = load::first_partial(load::find_inputs(options.inputs, ignored).paths);
  if (!partial.empty()) {
    tell("ringside merge: " + partial +
         " is a partial, which has no lines to merge: name the traces that it was made of");
    return kExitUsage;
  }
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  if (is_input("merge", options.output, analysis->inputs, analysis->traces)) {
    return kExitUsage;
  }
  if (!choose_operations(options, *analysis)) {
    return kExitNoInput;
  }
  merge::PlanOptions plan_options;
  plan_options.is_part = options.top_slowest || !options.around.empty() ||
                         match::chooses_operations(options.selection);
  plan_options.has_arrows = !options.no_arrows && !options.overview;
  merge::Plan plan =
      merge::make_plan(analysis->traces, analysis->matches, analysis->alignment, plan_options);
  if (!take_kineto(options, *analysis, plan)) {
    return kExitNoInput;
  }
  if (!analysis->graphs.empty() && !plan_options.is_part) {
    if (const std::string why = complete_graphs(options, std::nullopt, false, *analysis);
        !why.empty()) {
      tell("ringside merge: " + why);
      return kExitNoInput;
    }
    auto paths = std::make_shared<metrics::StepPaths>(
        metrics::find_step_paths(analysis->facts(), analysis->graphs, std::nullopt));
    plan.path_lines = [paths, &analysis, &plan](std::uint32_t pid) {
      return merge::path_lines(*paths, analysis->graphs, analysis->facts(), plan, pid);
    };
  }
  if (is_bundle) {
    return run_bundle(*analysis, plan, output);
  }
  merge::WriteOptions writing = write_options(options);
  load::Progress progress;
  progress.bytes_all = bytes_to_read(analysis->traces);
  writing.bytes_read = &progress.bytes_done;
  model::Problems problems;
  std::optional<ProgressLine> line(std::in_place, "merging", progress);
  const merge::MergedLines lines =
      merge::write_merged(analysis->traces, analysis->alignment, plan, writing, output, problems);
  line.reset();
  print_problems(problems, {});
  if (lines.damaged > 0) {
    note("note: " + report::counted(lines.damaged, "line was", "lines were") +
         " left out, the first is " + lines.first_damaged);
  }
  if (const ExitStatus status = finish_output(output); status != kExitOk) {
    return status;
  }
  std::string text = merged_text(options, *analysis, plan, lines, output.bytes());
  if (!plan.kineto.empty()) {
    text += kineto_text(plan, lines);
  }
  if (!is_quiet()) {
    std::fputs(model::printable_lines(text).c_str(), stderr);
  }
  const bool is_whole = lines.unread == 0 && analysis->unused_profiles == 0 &&
                        status_of_reading(*analysis) == kExitOk;
  return is_whole ? kExitOk : kExitIncomplete;
}

}  // namespace

void add_merge(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<MergeOptions>();
  CLI::App* const command =
      app.add_subcommand("merge", "Put all ranks into one timeline for a viewer, on one clock");
  options->format = "json";
  options->has_graphs = true;
  options->reads_profiles_again = true;
  options->needs_joins = false;  // a viewer shows the others, too
  add_analysis_options(*command, *options);
  add_kineto_option(*command, *options);
  add_graph_memory_option(*command, *options);
  for (const char* const of_documents : {"--format", "--table", "--top", "--align-report"}) {
    command->remove_option(command->get_option(of_documents));
  }
  command->add_option("-o,--output", options->output, "Write this file; -: stdout")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--format", options->format,
          "json; perfetto: Perfetto's own, smaller; bundle: a tar of the traces as they are")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"json", "perfetto", "bundle"}))
      ->capture_default_str();
  command->add_flag("--force", options->force, "Replace what is there");
  command->add_flag("--no-steps", options->no_steps, "Without the rows of the network's steps");
  command->add_flag("--no-arrows", options->no_arrows, "Without arrows between ranks");
  command->add_flag("--overview", options->overview,
                    "Small: one row for each rank and communicator, of the whole job");
  constexpr const char* kGroup = "Choose a part";
  command
      ->add_option("--top-slowest", options->top_slowest,
                   "Only the COUNT operations that took longest")
      ->type_name("COUNT")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40).description("POSITIVE"))
      ->group(kGroup);
  CLI::Option* const around = command->add_option(
      "--around", options->around, "Only what is near the operation communicator:function:number");
  around->type_name("OPERATION")->group(kGroup);
  command->add_option("--margin", options->margin_s, "How near --around means, in seconds")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(around)
      ->capture_default_str()
      ->group(kGroup);
  set_command(
      *command, kMergeExample,
      {{2, kUsageOrExists},
       {3, kNothingFits},
       {4, "a trace could not be read to its end, or one of PyTorch's profiler was not used"}},
      options, chosen, run_merge);
}

}  // namespace ringside::cli
