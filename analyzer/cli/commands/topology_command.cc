// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/source/byte_source.h"
#include "analyzer/load/topology/topology_file.h"
#include "analyzer/metrics/machine/topology.h"
#include "analyzer/report/topology_report.h"

namespace ringside::cli {
namespace {

struct TopologyOptions : AnalysisOptions {
  std::vector<std::uint32_t> mesh;
  std::string assumed;
};

constexpr char kTopologyExample[] =
    "The plugin reads GPUs, NVLinks, PCIe and network adapters on each host. This says how NVLink "
    "joins the ranks, whether all of them saw the same machine, and what is wrong with a link, "
    "PCIe or an adapter. docs/metrics.md says what is counted, and what the kinds mean.\n\n"
    "Examples:\n"
    "  ringside topology traces/\tdomains, matrices, GPUs, adapters, the tree\n"
    "  ringside topology --mesh 0,1,2,3 traces/\tthe matrix of four ranks alone\n"
    "  ringside topology system.xml\tNCCL's own dump (NCCL_TOPO_DUMP_FILE)\n"
    "  ringside topology topo.txt\tthe output of nvidia-smi topo -m\n"
    "  ringside topology --format csv --table matrix traces/\tfor a script\n";

std::optional<metrics::MeshKind> kind_named(const std::string& name) {
  const auto& names = metrics::kMeshKindNames;
  const auto* const found = std::find(names.begin(), names.end(), name);
  return found == names.end()
             ? std::nullopt
             : std::optional(static_cast<metrics::MeshKind>(found - names.begin()));
}

// The whole of a file that is no trace, but has a topology; empty if it is anything else. A table
// of nvidia-smi may be in a longer report, and traces begin as JSON does.
std::string text_of_topology(const std::string& path) {
  constexpr std::size_t kBegin = std::size_t{1} << 20;
  constexpr std::size_t kMost = std::size_t{256} << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return {};
  }
  const std::string text = load::first_bytes(path, kBegin);
  const bool is_json = text.starts_with('{') || (text.starts_with('[') && text.find('{') < 8);
  if (is_json || !load::topology_format(text)) {
    return {};
  }
  return load::first_bytes(path, kMost);
}

ExitStatus run_on_file(const TopologyOptions& options, const std::string& text) {
  std::string error;
  const auto file = load::read_topology_text(text, *load::topology_format(text), error);
  if (!file) {
    tell("ringside topology: " + options.inputs.front() + ": " + error + '.');
    return kExitNoInput;
  }
  return show_document(
      report::topology_file_document(*file, options.is_for_people(), kind_named(options.assumed)),
      options, kExitOk);
}

ExitStatus run_topology(const TopologyOptions& options) {
  for (const std::string& input : options.inputs) {
    const std::string text = text_of_topology(input);
    if (!text.empty() && options.inputs.size() == 1 && options.mesh.empty()) {
      return run_on_file(options, text);
    }
    if (!text.empty()) {
      tell("ringside topology: " + input +
           " is a topology from another tool: give it alone, without --mesh.");
      return kExitUsage;
    }
  }
  Analysis analysis;
  if (!load_traces(options, analysis)) {
    return kExitNoInput;
  }
  leave_out_duplicates(analysis);
  if (!choose_traces(options, analysis)) {
    return kExitNoInput;
  }
  const metrics::Topology topology = metrics::find_topology(analysis.traces);
  report::Document document;
  if (options.mesh.empty()) {
    document =
        report::topology_document(topology, options.is_for_people(), kind_named(options.assumed));
  } else {
    std::string refusal;
    const auto mesh = metrics::mesh_of(topology, options.mesh, refusal);
    if (!mesh) {
      tell("ringside topology: " + refusal + '.');
      return kExitNoInput;
    }
    std::vector<std::string> labels;
    for (const std::uint32_t rank : options.mesh) {
      labels.push_back("rank " + std::to_string(rank));
    }
    const auto kind = kind_named(options.assumed).value_or(mesh->kind);
    document.command = "topology";
    document.sentences.push_back(
        "These ranks: " + std::string(metrics::kMeshKindNames[static_cast<std::size_t>(kind)]) +
        '.');
    document.tables.push_back(
        report::mesh_table(*mesh, labels, "matrix", "NVLinks between their GPUs"));
  }
  document.notes.insert(document.notes.end(), analysis.duplicates.begin(),
                        analysis.duplicates.end());
  return show_document(document, options, kExitOk);
}

}  // namespace

void add_topology(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<TopologyOptions>();
  CLI::App* const command = app.add_subcommand(
      "topology",
      "Say which GPUs, links and adapters the job had, and whether all ranks saw the same");
  add_input_options(*command, *options);
  for (const char* const of_clocks : {"--no-align", "--clock-error", "--align-report"}) {
    command->remove_option(command->get_option(of_clocks));
  }
  command
      ->add_option("--mesh", options->mesh,
                   "Only the matrix of these ranks, such as 0,1,2; they must be on one host or in "
                   "one fabric clique")
      ->delimiter(',')
      ->type_name("RANKS");
  command
      ->add_option("--assume-kind", options->assumed,
                   "Take this kind for what was read, to test what follows from it")
      ->type_name("KIND")
      ->check(CLI::IsMember(std::vector<std::string>(metrics::kMeshKindNames.begin(),
                                                     metrics::kMeshKindNames.end())));
  set_command(*command, kTopologyExample, {{1, kHasError}, {3, kNothingFits}}, options, chosen,
              run_topology);
}

}  // namespace ringside::cli
