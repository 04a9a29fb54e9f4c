// SPDX-License-Identifier: Apache-2.0
//
// Reads the pickles of Flight Recorder dumps: None, truth values, numbers, texts, tuples, lists and
// dicts, of protocol 2 and newer. A pickle is a program; this is no machine for it. Nothing is ever
// imported, called or made but these values: each other opcode is an error.
#ifndef RINGSIDE_ANALYZER_LOAD_PICKLE_PICKLE_H
#define RINGSIDE_ANALYZER_LOAD_PICKLE_PICKLE_H

#include <string>
#include <string_view>

#include "analyzer/load/pickle/plain_tree.h"

namespace ringside::load {

/// Whether a file with these first bytes is a pickle of such a protocol.
bool begins_as_pickle(std::string_view bytes);

struct PickleResult {
  PlainValue value;
  std::string error;  // empty if there is none; names the opcode and its offset
};

/// Texts of the value are views of `bytes`. Takes memory in proportion to the number of bytes, and
/// the same stack for all of them.
PickleResult read_pickle(std::string_view bytes, PlainTree& tree);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_PICKLE_PICKLE_H
