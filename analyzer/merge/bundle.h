// SPDX-License-Identifier: Apache-2.0
//
// The traces as they are in one tar file, with a perfetto_manifest that says by how much each is
// moved: Perfetto 58 and newer shows it as one trace.
#ifndef RINGSIDE_ANALYZER_MERGE_BUNDLE_H
#define RINGSIDE_ANALYZER_MERGE_BUNDLE_H

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/align/alignment.h"
#include "analyzer/merge/output_file.h"
#include "analyzer/merge/plan.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

/// The header block of a member of a POSIX ustar archive: a plain file, private, of no time, so
/// that the same input gives the same bytes. `name` is at most 99 bytes, `bytes` below 8 GiB.
std::string tar_header(std::string_view name, std::uint64_t bytes);

/// A file that cannot be read, or is too large, is added to `problems`; false then, since the
/// archive would not be whole. Errors of writing are the output's.
bool write_bundle(const model::Traces& traces, const align::Alignment& alignment, const Plan& plan,
                  OutputFile& output, model::Problems& problems);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_BUNDLE_H
