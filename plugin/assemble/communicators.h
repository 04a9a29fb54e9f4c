// SPDX-License-Identifier: Apache-2.0
//
// The communicators of a process, by context. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_COMMUNICATORS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_COMMUNICATORS_H

#include <cstdint>
#include <vector>

#include "plugin/assemble/name_table.h"
#include "plugin/assemble/record_view.h"
#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class Communicators {
 public:
  Communicators() : all_(1) {}

  /// A communicator was created. Contexts are numbered from 1; a gap is filled with unknown ones.
  Communicator& open(const Communicator& opened);
  /// NULL if there is no such communicator. Good until the next one is opened.
  Communicator* find(std::uint32_t context) {
    return context != 0 && context < all_.size() ? &all_[context] : nullptr;
  }
  /// An unknown communicator if there is none of this context.
  const Communicator& of(std::uint32_t context) const {
    return all_[context < all_.size() ? context : 0];
  }
  /// By context. The first is no communicator.
  const std::vector<Communicator>& all() const { return all_; }

  /// Up to version 3 of the interface, NCCL tells rank, hash and name of a communicator with its
  /// operations only. Returns the communicator if the record says something new of it, else NULL.
  const Communicator* learn(const RecordView& view, const NameTable& names);

 private:
  std::vector<Communicator> all_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_COMMUNICATORS_H
