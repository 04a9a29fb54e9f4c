// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/row_names.h"

#include <charconv>

#include "plugin/export/json_text.h"

namespace ringside::exporting {

RowNames::Names& RowNames::names(std::uint32_t context) {
  while (names_.size() <= context) {
    Names added;
    added.own = added.operations = "communicator " + std::to_string(names_.size());
    names_.push_back(std::move(added));
  }
  return names_[context];
}

std::string_view RowNames::of_rank(std::uint32_t context, std::string_view what) {
  text_.assign(names(context).rank_prefix).append(what);
  return text_;
}

std::string_view RowNames::of_channel(std::uint32_t context, std::string_view what, int channel,
                                      std::string_view behind) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, channel);
  text_.assign(names(context).rank_prefix).append(what).append(digits, end.ptr).append(behind);
  return text_;
}

// A process can have many communicators, so this does not compare each with all others.
void RowNames::count_rank(Names& of, const assemble::Communicator& communicator) {
  if (of.has_hash && !several_ranks_ && --ranks_[of.hash].contexts == 0) {
    ranks_.erase(of.hash);
  }
  of.rank = communicator.rank;
  of.has_hash = communicator.has_hash;
  of.hash = communicator.hash;
  if (!of.has_hash || several_ranks_) {
    return;
  }
  OneRank& known = ranks_[of.hash];
  several_ranks_ = known.contexts > 0 && known.rank != of.rank;
  known.rank = of.rank;
  ++known.contexts;
  if (several_ranks_) {
    ranks_.clear();
  }
}

void RowNames::learn(const assemble::Communicator& communicator) {
  Names& of = names(communicator.context);
  const bool had_several_ranks = several_ranks_;
  count_rank(of, communicator);
  of.own = communicator.name;
  if (of.own.empty() && communicator.has_hash) {
    JsonText hash;
    of.own = "communicator " + std::string(hash.hex(communicator.hash).text().substr(1, 6));
  }
  if (of.own.empty()) {
    of.own = "communicator " + std::to_string(communicator.context);
  }
  if (several_ranks_ != had_several_ranks) {
    for (Names& other : names_) {
      compose(other);
    }
  }
  compose(of);
}

void RowNames::compose(Names& of) const {
  const std::string rank = "rank " + std::to_string(of.rank);
  of.operations = several_ranks_ ? of.own + " " + rank : of.own;
  of.rank_prefix = several_ranks_ ? rank + " " : "";
}

}  // namespace ringside::exporting
