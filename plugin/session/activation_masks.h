// SPDX-License-Identifier: Apache-2.0
//
// NCCL's activation masks in this process: one for each NCCL that is loaded, and there can be
// several (a framework's own and the system's). A mask is a variable of NCCL. It is read and
// written only while a context is open whose init gave its address: NCCL may be unloaded after its
// last finalize. This class knows no lock: Recording uses it under the session's mutex.
#ifndef RINGSIDE_PLUGIN_SESSION_ACTIVATION_MASKS_H
#define RINGSIDE_PLUGIN_SESSION_ACTIVATION_MASKS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "plugin/config/events.h"

namespace ringside::session {

class ActivationMasks {
 public:
  /// The event types that an NCCL shall be asked for.
  using Resolve = std::function<std::uint32_t(const config::NcclFacts&)>;

  /// A change that somebody else made.
  struct Change {
    const int* mask;
    int nccl_version;  ///< 0: not known
    std::uint32_t from, to;
  };

  /// An init gave this pointer for this context. NULL: this NCCL has no mask.
  void open(std::uint32_t context, int* mask, const config::NcclFacts& nccl);
  /// Drops the mask with its last context. False if the context is not open: nothing has changed.
  bool close(std::uint32_t context);
  std::size_t open_contexts() const { return contexts_.size(); }
  std::size_t count() const { return masks_.size(); }

  /// Decides what each mask shall hold; store() writes it. A mask that somebody else has changed is
  /// left alone, unless `anew`.
  void choose(const Resolve& resolve, bool anew);
  void store();
  /// The event types that any NCCL is asked for, as choose() decided.
  std::uint32_t wanted() const;
  /// Those of them that some NCCL is not asked for, since somebody else has changed its mask.
  std::uint32_t missing() const;

  /// Reads all masks. Returns what others have changed since they were read or written last.
  std::vector<Change> look();

  /// The value of a mask now: of one that somebody else has changed, else of the one that came
  /// last. -1: there is none.
  int actual() const;

 private:
  struct Mask {
    int* address;
    config::NcclFacts nccl;
    std::size_t contexts = 0;
    std::uint32_t wanted = 0;
    std::uint32_t seen = 0;       ///< what it holds, as far as is known
    bool is_to_be_stored = true;  ///< store() has yet to write `wanted`
    bool is_changed() const { return !is_to_be_stored && seen != wanted; }
  };

  std::unordered_map<std::uint32_t, int*> contexts_;
  std::vector<Mask> masks_;  ///< in the order in which they came
};

}  // namespace ringside::session

#endif  // RINGSIDE_PLUGIN_SESSION_ACTIVATION_MASKS_H
