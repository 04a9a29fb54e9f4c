// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/verdict/overtaken.h"

namespace ringside::match {

LatestFinished::Call LatestFinished::call_of(const model::Operation& operation) {
  return {
      {operation.enqueue_start_ns.value_or(0), operation.id}, operation.group.value_or(0), true};
}

bool LatestFinished::is_later(const Call& call, const Call& than) {
  return call.is_known && (!than.is_known || than.order < call.order);
}

void LatestFinished::add(const model::Operation& operation) {
  if (operation.state != model::State::kCompleted || operation.kind == model::Kind::kApi) {
    return;
  }
  const Call call = call_of(operation);
  const bool is_same_group = last_.is_known && call.group != 0 && call.group == last_.group;
  if (is_later(call, last_)) {
    if (!is_same_group) {
      last_of_other_group_ = last_;
    }
    last_ = call;
  } else if (!is_same_group && is_later(call, last_of_other_group_)) {
    last_of_other_group_ = call;
  }
}

bool LatestFinished::overtakes(const model::Operation& operation) const {
  const Call call = call_of(operation);
  const auto is_after = [&](const Call& finished) {
    return finished.is_known && call.order < finished.order &&
           (call.group == 0 || call.group != finished.group);
  };
  return is_after(last_) || is_after(last_of_other_group_);
}

std::optional<std::uint32_t> peer_of_own_communicator(const model::Process& process,
                                                      const model::Operation& operation) {
  return process.has_pair_communicators && operation.group.value_or(0) == 0 ? operation.peer
                                                                            : std::nullopt;
}

bool Overtaken::is_overtaken(std::uint32_t file, const model::Operation& operation) {
  const auto [found, is_new] = files_.try_emplace(file);
  const model::Process& process = traces_.files[file].process;
  if (is_new) {
    for (const model::Operation& each : traces_.files[file].operations) {
      found->second[{each.context, peer_of_own_communicator(process, each)}].add(each);
    }
  }
  return found->second[{operation.context, peer_of_own_communicator(process, operation)}].overtakes(
      operation);
}

}  // namespace ringside::match
