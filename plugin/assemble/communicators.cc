// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/communicators.h"

#include "plugin/record/encode.h"

namespace ringside::assemble {

Communicator& Communicators::open(const Communicator& opened) {
  if (all_.size() <= opened.context) {
    all_.resize(opened.context + std::size_t{1});
  }
  return all_[opened.context] = opened;
}

const Communicator* Communicators::learn(const RecordView& view, const NameTable& names) {
  Communicator* const known = find(view.context);
  if (known == nullptr || !view.has_extra ||
      (view.type != record::EventType::kColl && view.type != record::EventType::kP2p)) {
    return nullptr;
  }
  bool has_changed = false;
  if (!known->rank_known && known->abi_version != 0) {
    known->rank = view.extra.rank_or_qp;
    known->rank_known = true;
    has_changed = true;
  }
  if (!known->has_hash && view.extra.comm_hash != 0) {
    known->hash = view.extra.comm_hash;
    known->has_hash = true;
    has_changed = true;
  }
  if (known->name.empty() && (view.extra.flags & record::kExtraCommName) != 0) {
    known->name = names.text(view.ring, view.extra.variant);
    has_changed = !known->name.empty() || has_changed;
  }
  return has_changed ? known : nullptr;
}

}  // namespace ringside::assemble
