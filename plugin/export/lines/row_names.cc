// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/lines/row_names.h"

#include <charconv>

#include "plugin/export/lines/json_text.h"

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

void RowNames::learn(const assemble::Communicator& communicator) {
  Names& of = names(communicator.context);
  of.rank = communicator.rank;
  of.own = communicator.name;
  if (of.own.empty() && communicator.has_hash) {
    JsonText hash;
    of.own = "communicator " + std::string(hash.hex(communicator.hash).text().substr(1, 6));
  }
  if (of.own.empty()) {
    of.own = "communicator " + std::to_string(communicator.context);
  }
  // A process can have many communicators, so this does not compare each with all others.
  if (communicator.has_hash && !several_ranks_ &&
      ranks_.emplace(communicator.hash, of.rank).first->second != of.rank) {
    several_ranks_ = true;
    ranks_.clear();
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
