// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/hang/hang_text.h"

#include <algorithm>
#include <array>

#include "analyzer/model/joined.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary.h"
#include "plugin/assemble/operation_name.h"

namespace ringside::report {
namespace {

using metrics::Blocker;
using metrics::StuckOperation;
using metrics::WaitsFor;

constexpr std::size_t kNamed = 4;  // ranks whose host and process are told in a sentence

}  // namespace

const char* cause_name(Cause cause) {
  constexpr std::array<const char*, 7> kNames = {"mismatch", "deadlock",  "not_joined", "not_begun",
                                                 "waits",    "undecided", "all_joined"};
  return kNames[static_cast<std::size_t>(cause)];
}

const char* stage_name(metrics::Stage stage) {
  constexpr std::array<const char*, 6> kNames = {
      "in the call",           "enqueued, kernel not begun", "called, not seen to finish",
      "proxy operations open", "network has moved bytes",    "kernel has begun"};
  return kNames[static_cast<std::size_t>(stage)];
}

const char* waits_for_name(WaitsFor waits_for) {
  constexpr std::array<const char*, 6> kNames = {"unknown", "GPU",  "peer's credit",
                                                 "network", "data", "flush"};
  return kNames[static_cast<std::size_t>(waits_for)];
}

std::string HangText::label(std::uint32_t communicator) const {
  return label_of(hang_.matches.communicators[communicator]);
}

std::string HangText::name_of(const model::Operation& operation) const {
  const std::string function(traces_.names.text(operation.func));
  return operation.seq ? assemble::numbered(function, *operation.seq)
         : operation.peer
             ? function + (function == "Recv" ? " from " : " to ") + std::to_string(*operation.peer)
             : function;
}

std::string HangText::short_name_of(std::uint32_t operation) const {
  const auto& matched = hang_.matched(hang_.operations[operation]);
  if (matched.way == match::Way::kPair) {
    return "send from rank " + std::to_string(matched.source) + " to rank " +
           std::to_string(matched.destination);
  }
  return match::operation_text(traces_, matched);
}

std::string HangText::name_of(std::uint32_t operation) const {
  const auto& matched = hang_.matched(hang_.operations[operation]);
  return (matched.way == match::Way::kPair ? "the " : "") + short_name_of(operation) +
         " of communicator " + label(matched.communicator);
}

std::string HangText::name_of_matched(std::size_t index) const {
  const match::MatchedOperation& matched = hang_.matches.operations[index];
  return match::operation_text(traces_, matched) + " of communicator " +
         label(matched.communicator);
}

bool HangText::is_in_cycle(std::uint32_t operation) const {
  return std::find(hang_.cycle.begin(), hang_.cycle.end(), operation) != hang_.cycle.end();
}

bool HangText::is_cycle_of_one_communicator() const {
  const auto communicator = [&](std::uint32_t i) {
    return hang_.matched(hang_.operations[i]).communicator;
  };
  return std::all_of(hang_.cycle.begin(), hang_.cycle.end(), [&](std::uint32_t i) {
    return communicator(i) == communicator(hang_.cycle.front());
  });
}

Cause HangText::cause_of(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  if (stuck.is_unknown) {
    return Cause::kUndecided;
  }
  if (stuck.differs != match::Difference::kNone) {
    return Cause::kMismatch;
  }
  if (is_in_cycle(operation)) {
    return is_cycle_of_one_communicator() ? Cause::kMismatch : Cause::kDeadlock;
  }
  bool has_not_joined = false;
  for (const Blocker& blocker : stuck.blockers) {
    if (blocker.stuck_in) {
      return Cause::kWaits;
    }
    has_not_joined = has_not_joined || blocker.why == Blocker::Why::kNotJoined;
  }
  if (!stuck.blockers.empty()) {
    return has_not_joined ? Cause::kNotJoined : Cause::kNotBegun;
  }
  return unknown_ranks(operation).empty() && stuck.seen == 0 ? Cause::kAllJoined
                                                             : Cause::kUndecided;
}

std::string HangText::place(std::uint32_t position) const {
  const metrics::Position& of = hang_.positions[position];
  const model::Process& process = traces_.files[of.file].process;
  const std::string rank = of.rank ? std::to_string(*of.rank) : std::string("?");
  if (!process.host.empty()) {
    return rank + " (host " + process.host + ", pid " + std::to_string(process.pid) + ")";
  }
  const auto& of_job = job_ranks_.of(of.communicator);
  return of.rank && *of.rank < of_job.size() && of_job[*of.rank] != *of.rank
             ? rank + " (rank " + std::to_string(of_job[*of.rank]) + " of the job)"
             : rank;
}

std::vector<match::Caller> HangText::callers(std::uint32_t operation) const {
  return match::callers_of(traces_, hang_.matches, hang_.matched(hang_.operations[operation]));
}

std::vector<std::uint32_t> HangText::ranks_of(const std::vector<std::uint32_t>& positions) const {
  std::vector<std::uint32_t> ranks;
  ranks.reserve(positions.size());
  for (const std::uint32_t position : positions) {
    ranks.push_back(hang_.positions[position].rank.value_or(0));
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<std::uint32_t> HangText::waiting_ranks(std::uint32_t operation) const {
  return ranks_of(hang_.operations[operation].waiting);
}

std::vector<std::uint32_t> HangText::not_joined_ranks(std::uint32_t operation) const {
  std::vector<std::uint32_t> positions;
  for (const Blocker& blocker : hang_.operations[operation].blockers) {
    if (blocker.why == Blocker::Why::kNotJoined) {
      positions.push_back(blocker.position);
    }
  }
  return ranks_of(positions);
}

std::string HangText::unknown_ranks(std::uint32_t operation) const {
  const std::string none = std::string("no ") + file_word(traces_);
  const std::array<const char*, metrics::kUnknownCount> why = {
      none.c_str(), "its trace is not closed, and holds nothing that is in flight",
      "its dump is older than the hang", "its records are not complete"};
  const StuckOperation& stuck = hang_.operations[operation];
  std::string text;
  for (std::size_t i = 0; i < metrics::kUnknownCount; ++i) {
    const std::vector<std::uint32_t>& ranks = i == 0 ? hang_.unread(stuck) : stuck.unknown[i];
    if (!ranks.empty()) {
      text += (text.empty() ? "" : "; ") + match::rank_list(ranks) + ": " + why[i];
    }
  }
  return text;
}

std::string HangText::waited(std::uint32_t operation) const {
  const StuckOperation& stuck = hang_.operations[operation];
  const bool is_one = stuck.waiting.size() == 1;
  return counted(stuck.waiting.size(), "rank") + (is_one ? " has" : " have") +
         (stuck.waited_ns ? " waited for " + human_duration(*stuck.waited_ns)
                          : " not finished it, as far as is recorded");
}

std::string HangText::blockers_text(std::uint32_t operation, Blocker::Why why) const {
  std::vector<std::string> places;
  for (const Blocker& blocker : hang_.operations[operation].blockers) {
    if (blocker.why == why) {
      places.push_back(place(blocker.position));
    }
  }
  const bool is_one = places.size() == 1;
  return (is_one ? "Rank " : "Ranks ") + model::joined(places, kNamed) +
         (is_one ? " has" : " have");
}

}  // namespace ringside::report
