// SPDX-License-Identifier: Apache-2.0
//
// The answer of NCCL's RAS service in sentences and tables: by itself, or beside the verdict on a
// hang, which it never changes.
#ifndef RINGSIDE_ANALYZER_REPORT_RAS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_RAS_REPORT_H

#include <string>

#include "analyzer/model/ras.h"
#include "analyzer/model/trace.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// A document of an answer. It has findings if something in it is wrong.
Document ras_document(const model::Ras& ras);

/// Adds sentences, findings and tables of an answer to the document of `ringside hang`, marked as
/// RAS's. `source`: the file. Names of communicators are those in the traces.
void add_ras(const model::Ras& ras, const std::string& source, const model::Traces& traces,
             Document& hang);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_RAS_REPORT_H
