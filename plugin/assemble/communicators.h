// SPDX-License-Identifier: Apache-2.0
//
// The communicators of a process, by context. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_COMMUNICATORS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_COMMUNICATORS_H

#include <cstdint>
#include <vector>

#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"
#include "plugin/assemble/tables/name_table.h"

namespace ringside::assemble {

class Communicators {
 public:
  Communicators() : all_(1) {}

  /// Contexts are numbered from 1; a missing one gets an unknown communicator.
  Communicator& open(const Communicator& opened);
  /// Returns NULL if there is none. The pointer is valid until the next open().
  Communicator* find(std::uint32_t context) {
    return context != 0 && context < all_.size() ? &all_[context] : nullptr;
  }
  /// Returns an unknown communicator if the context has none.
  const Communicator& of(std::uint32_t context) const {
    return all_[context < all_.size() ? context : 0];
  }
  /// All communicators, by context. The first entry is no communicator.
  const std::vector<Communicator>& all() const { return all_; }

  /// Takes a communicator's rank, hash and name from a record of an operation: up to version 3 of
  /// the interface, NCCL reports them only there. Returns the communicator if it changed, else
  /// NULL.
  const Communicator* learn(const RecordView& view, const NameTable& names);

 private:
  std::vector<Communicator> all_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_COMMUNICATORS_H
