// SPDX-License-Identifier: Apache-2.0
//
// The tensors of the calls in a Flight Recorder dump.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_TENSORS_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_TENSORS_H

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/load/dump/dump_entry.h"
#include "analyzer/load/pickle/plain_tree.h"
#include "analyzer/model/name_table.h"

namespace ringside::load {

/// Reads the tensors of one dump. `tree` and `names` must outlive it.
class DumpTensorReader {
 public:
  DumpTensorReader(const PlainTree& tree, model::NameTable& names, bool keeps_bytes)
      : tree_(tree), names_(names), keeps_bytes_(keeps_bytes) {}

  /// Reads one side of an entry, adds the bytes of each tensor to bytes(), and their number to
  /// `count`.
  DumpTensors read(const PlainValue& entry, const PlainKey& sizes_key, const PlainKey& types_key,
                   std::uint32_t& count);

  /// The sizes of all tensors that were read, one by one, if they are kept; of one that is not
  /// known, more than any message has.
  const std::vector<std::uint64_t>& bytes() const { return bytes_; }

  /// kNoName if there is no type.
  model::NameId name_of(DumpType* type) const;

 private:
  DumpType* type_of(const PlainValue& value);
  std::uint64_t add(const PlainValue& sizes, std::uint64_t bytes_of_element,
                    DumpTensors& tensors) const;

  const PlainTree& tree_;
  model::NameTable& names_;
  bool keeps_bytes_;
  std::vector<std::uint64_t> bytes_;
  PlainValue last_type_value_;
  DumpType* last_type_ = nullptr;
  std::unordered_map<std::string_view, DumpType> types_;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_TENSORS_H
