// SPDX-License-Identifier: Apache-2.0
//
// The ids of the operations of one file. They are nearly consecutive, so a bit is enough for most.
#ifndef RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_IDS_H
#define RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_IDS_H

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace ringside::load {

class OperationIds {
 public:
  /// Returns false if the id was added before.
  bool add(std::uint64_t id) {
    if (page_ == nullptr || page_number_ != id / kPageIds) {
      page_number_ = id / kPageIds;
      page_ = &pages_[page_number_];
    }
    const auto bit = static_cast<std::size_t>(id % kPageIds);
    const bool is_new = !page_->test(bit);
    page_->set(bit);
    return is_new;
  }

 private:
  static constexpr std::uint64_t kPageIds = 512;
  using Page = std::bitset<kPageIds>;

  std::unordered_map<std::uint64_t, Page> pages_;  // by id / kPageIds
  Page* page_ = nullptr;                           // of the last id
  std::uint64_t page_number_ = 0;
};

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_TRACE_OPERATION_IDS_H
