// SPDX-License-Identifier: Apache-2.0
//
// The metadata lines of a trace ("ph":"M"), by docs/trace-format.md alone.
#ifndef RINGSIDE_TEST_LOAD_PLAIN_METADATA_H
#define RINGSIDE_TEST_LOAD_PLAIN_METADATA_H

#include <string>

#include "analyzer/model/trace.h"

namespace ringside::plain {

/// The args of the first line; false if they are not of a trace that this reader knows.
bool read_process(const std::string& arguments, model::Process& process);

/// Any other; false if it is bad, and has changed nothing then.
bool read_metadata(const std::string& name, const std::string& arguments, model::NameTable& names,
                   model::TraceFile& file);

}  // namespace ringside::plain

#endif  // RINGSIDE_TEST_LOAD_PLAIN_METADATA_H
