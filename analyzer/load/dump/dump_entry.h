// SPDX-License-Identifier: Apache-2.0
//
// The parts of a Flight Recorder dump, as flight_recorder.cc reads them.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRY_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRY_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/load/dump/dump_calls.h"
#include "analyzer/load/pickle/plain_tree.h"
#include "analyzer/model/name_table.h"
#include "analyzer/model/operation.h"

namespace ringside::load {

/// A datatype that the dump names.
struct DumpType {
  std::string_view text;
  std::uint64_t bytes = 0;  // of an element; 0 if not known
  model::NameId name = model::kNoName;
};

/// The tensors that one side of a call has.
struct DumpTensors {
  std::optional<std::uint64_t> count;  // of elements, in all
  std::optional<std::uint64_t> bytes;
  DumpType* type = nullptr;  // nullptr if it has none, or several
  bool has_sizes = false;    // the entry tells them all, also where it has no tensors
  bool has_types = false;    // likewise
};

/// A function that the dump names.
struct DumpCall {
  Alike alike;
  bool is_all_to_all;
  model::NameId name = model::kNoName;
};

/// The keys of an entry, in their order.
struct DumpKeys {
  PlainKey frames{"frames"};
  PlainKey record_id{"record_id"};
  PlainKey process_group{"process_group"};
  PlainKey collective_seq_id{"collective_seq_id"};
  PlainKey p2p_seq_id{"p2p_seq_id"};
  PlainKey op_id{"op_id"};
  PlainKey profiling_name{"profiling_name"};
  PlainKey time_created_ns{"time_created_ns"};
  PlainKey input_sizes{"input_sizes"};
  PlainKey input_dtypes{"input_dtypes"};
  PlainKey output_sizes{"output_sizes"};
  PlainKey output_dtypes{"output_dtypes"};
  PlainKey state{"state"};
  PlainKey time_discovered_started_ns{"time_discovered_started_ns"};
  PlainKey time_discovered_completed_ns{"time_discovered_completed_ns"};
  PlainKey retired{"retired"};
  PlainKey is_p2p{"is_p2p"};
};

inline constexpr std::size_t kNoEntry = std::numeric_limits<std::size_t>::max();

/// An entry of the dump.
struct DumpEntry {
  std::string_view call;  // as all_reduce; without what stands before the last colon
  model::Operation operation;
  std::optional<std::int64_t> collective;  // numbers of its group
  std::optional<std::int64_t> point_to_point;
  std::optional<std::int64_t> op_id;
  // The bytes of its tensors begin at this index of the list of all; inputs come first.
  std::size_t first_tensor = 0;
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::size_t before = kNoEntry;  // of the same context
  bool is_doubtful = false;       // it is damaged, so that nobody knows whether ranks agree in it
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_ENTRY_H
