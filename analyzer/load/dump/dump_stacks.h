// SPDX-License-Identifier: Apache-2.0
//
// The stacks of the calls in a Flight Recorder dump.
#ifndef RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_STACKS_H
#define RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_STACKS_H

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "analyzer/load/pickle/plain_tree.h"
#include "analyzer/model/name_table.h"

namespace ringside::load {

/// Names the stacks of one dump as call_site.h has them. Entries of a pickle share the containers
/// of their frames, so that few stacks are made into text. `tree` and `names` must outlive it.
class DumpStackReader {
 public:
  DumpStackReader(const PlainTree& tree, model::NameTable& names) : tree_(tree), names_(names) {}
  DumpStackReader(const DumpStackReader&) = delete;
  DumpStackReader& operator=(const DumpStackReader&) = delete;

  /// `frames`: the list of them, the innermost first.
  model::NameId read(const PlainValue& frames);

 private:
  struct Stack {
    std::span<const PlainValue> frames;
    model::NameId name = model::kNoName;
    Stack* next = nullptr;  // of the call behind the last one that had this stack
  };

  Stack& find(std::span<const PlainValue> frames);
  std::string text_of(std::span<const PlainValue> frames) const;

  const PlainTree& tree_;
  model::NameTable& names_;
  std::unordered_map<std::uint64_t, Stack> stacks_;  // by a hash of the frames
  Stack first_;                                      // before the first call
  Stack* last_ = &first_;
  PlainKey name_{"name"};
  PlainKey filename_{"filename"};
  PlainKey line_{"line"};
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_DUMP_DUMP_STACKS_H
