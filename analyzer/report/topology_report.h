// SPDX-License-Identifier: Apache-2.0
//
// The topology of a job as a document: domains, matrices of links, GPUs, adapters, the tree.
#ifndef RINGSIDE_ANALYZER_REPORT_TOPOLOGY_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_TOPOLOGY_REPORT_H

#include <optional>
#include <string>

#include "analyzer/metrics/machine/topology.h"
#include "analyzer/model/topology_file.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// `assumed`: the kind that a test has set in place of every domain's own.
Document topology_document(const metrics::Topology& topology, bool is_for_people,
                           std::optional<metrics::MeshKind> assumed);

/// The topology from a file of another tool.
Document topology_file_document(const model::TopologyFile& file, bool is_for_people,
                                std::optional<metrics::MeshKind> assumed);

/// One matrix by itself, of these GPUs. `title` says where it comes from.
Table mesh_table(const metrics::Mesh& mesh, const std::vector<std::string>& labels,
                 const std::string& key, const std::string& title);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_TOPOLOGY_REPORT_H
