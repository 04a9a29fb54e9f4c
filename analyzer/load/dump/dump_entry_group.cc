// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_entry_group.h"

#include <algorithm>

#include "analyzer/load/dump/dump_groups.h"
#include "analyzer/load/json/parse_number.h"

namespace ringside::load {
namespace {

// From ranks within a replica group of torchft.
void make_global(std::int64_t rank, std::uint32_t replica_ranks, std::vector<std::uint32_t>& ranks,
                 std::string& listed) {
  const auto first = static_cast<std::uint32_t>(rank - rank % replica_ranks);
  listed.clear();
  for (std::uint32_t& one : ranks) {
    one += first;
    listed += listed.empty() ? "[" : ", ";
    listed += std::to_string(one);
  }
  listed += ']';
}

}  // namespace

std::optional<std::int64_t> watched_number(const PlainTree& tree, const PlainValue& value) {
  return value.kind == PlainValue::Kind::kText ? parse_number<std::int64_t>(tree.text(value))
                                               : integer_of(value);
}

std::string contradiction_of(const NamedCall& call, const model::Context& context) {
  if (!context.rank) {
    return {};
  }
  const std::string peer = call.peer ? std::to_string(*call.peer) : "?";
  const std::string told = "the entry is a " +
                           std::string(call.name == "Send" ? "send " : "recv ") +
                           std::to_string(call.own) + (call.name == "Send" ? "->" : "<-") + peer;
  return call.own != *context.rank
             ? told + ", and this rank is " + std::to_string(*context.rank) + " of its group"
         : call.peer.value_or(0) >= *context.nranks
             ? told + ", and its group has " + std::to_string(*context.nranks) + " ranks"
             : std::string();
}

std::vector<std::string> DumpGroups::read(std::int64_t rank, bool are_described,
                                          std::uint32_t replica_ranks) {
  std::vector<std::string> troubles;
  are_described_ = are_described;
  const auto groups = tree_.dict(tree_.at(root_, "pg_config"));
  std::map<std::string_view, std::size_t> last;  // of a name that is there twice the last counts
  for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
    last[tree_.text(groups[i])] = i;
  }
  for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
    const std::string name(tree_.text(groups[i]));
    if (last[name] != i) {
      continue;
    }
    if (are_described && tree_.text(tree_.at(groups[i + 1], "name")) != name) {
      troubles.push_back("pg_config has no name, or another one, in group " + name);
    }
    const PlainValue desc = tree_.at(groups[i + 1], "desc");
    if (desc.kind != PlainValue::Kind::kText) {
      troubles.push_back("pg_config has no desc that can be read of group " + name);
    }
    std::string listed(tree_.text(tree_.at(groups[i + 1], "ranks")));
    const auto told = ranks_in(listed);
    std::vector<std::uint32_t> ranks = told.value_or(std::vector<std::uint32_t>());
    const std::string_view description = tree_.text(desc);
    if (replica_ranks > 0 && description == "default_pg") {
      make_global(rank, replica_ranks, ranks, listed);
    }
    const auto own = std::find(ranks.begin(), ranks.end(), rank);
    // With torchft, groups list other numbers than those of the job.
    without_rank_ +=
        !ranks.empty() && own == ranks.end() && are_described && replica_ranks == 0 ? 1 : 0;
    if ((told && own == ranks.end()) ||
        !contexts_.try_emplace(name, static_cast<std::uint32_t>(contexts_.size() + 1)).second) {
      continue;
    }
    model::Context& context = file_.contexts[contexts_[name]];
    context.name = is_description(description) ? description : std::string_view(name);
    context.comm = std::string(name).append(" ").append(listed);
    context.created_ns = file_.process.start_ns;
    if (told) {
      context.rank = static_cast<std::uint32_t>(own - ranks.begin());
      context.nranks = static_cast<std::uint32_t>(ranks.size());
    }
  }
  return troubles;
}

const EntryGroup& DumpGroups::of(const PlainValue& entry) {
  const PlainValue told = tree_.at(entry, process_group_);
  const auto names = tree_.list(told);
  const bool is_pair = names.size() == 2;
  const std::array<PlainValue, 3> group = {tree_.at(entry, pg_id_),
                                           is_pair ? names[0] : PlainValue(),
                                           is_pair ? names[1] : PlainValue()};
  // Most entries are of the same group as the one before, and share its texts.
  if (!last_ || last_names_ != group) {
    last_names_ = group;
    last_ = group[1].kind == PlainValue::Kind::kText && group[2].kind == PlainValue::Kind::kText
                ? find(integer_of(group[0]), tree_.text(group[1]), tree_.text(group[2]))
                : EntryGroup{std::nullopt,
                             "the entry has no process_group (name, description) that can be read"};
  }
  return *last_;
}

std::vector<std::string> DumpGroups::lost_ends(std::span<const PlainValue> entries) {
  std::map<std::uint32_t, std::int64_t> enqueued;  // of groups whose last entry is still to come
  for (const auto& [id, context] : file_.contexts) {
    if (context.last_enqueued) {
      enqueued.emplace(id, *context.last_enqueued);
    }
  }
  std::vector<std::string> lost;
  for (std::size_t i = entries.size(); i-- > 0 && !enqueued.empty() && !tree_.is_exhausted();) {
    const std::optional<std::uint32_t> context = of(entries[i]).context;
    const auto found = context ? enqueued.find(*context) : enqueued.end();
    if (found == enqueued.end()) {
      continue;
    }
    // The watchdog of nccl2 counts by op_id, from 0; others count by one of these, from 1.
    const auto number_of = [&](const char* key) { return integer_of(tree_.at(entries[i], key)); };
    const bool is_nccl2 = tree_.text(tree_.at(entries[i], "profiling_name")).starts_with("nccl2:");
    const auto operation = number_of("op_id");
    const std::int64_t last =
        is_nccl2 && operation
            ? *operation
            : std::max({operation.value_or(0), number_of("collective_seq_id").value_or(0),
                        number_of("p2p_seq_id").value_or(0)});
    if (found->second > last) {
      lost.push_back("pg_status says that number " + std::to_string(found->second) + " of group " +
                     file_.contexts.at(found->first).name +
                     " was enqueued, and its last entry has number " + std::to_string(last) +
                     ": the calls behind it are not recorded");
    }
    enqueued.erase(found);
  }
  const auto groups = tree_.dict(tree_.at(root_, "pg_status"));
  const bool are_all_there = (entries.empty() || !numbers_.empty()) && file_.account.rotated == 0;
  for (std::size_t i = 0; i + 1 < groups.size() && are_all_there; i += 2) {
    const std::string_view id = tree_.text(groups[i]);
    const auto number = parse_number<std::int64_t>(id);
    const auto last = watched_number(tree_, tree_.at(groups[i + 1], "last_enqueued_collective"));
    if (number && last.value_or(0) > 0 && !numbers_.contains(*number)) {
      lost.push_back("pg_status says that number " + std::to_string(*last) +
                     " of the group with pg_id " + std::string(id) +
                     " was enqueued, and no entry is of it: its calls are not recorded");
    }
  }
  return lost;
}

void DumpGroups::take_watched(const PlainValue& status, model::Context& context) const {
  const auto number_of = [&](std::string_view key) {
    const auto told = watched_number(tree_, tree_.at(status, key));
    return told && *told >= 0 ? told : std::nullopt;
  };
  context.last_enqueued = number_of("last_enqueued_collective");
  context.last_started = number_of("last_started_collective");
  context.last_completed = number_of("last_completed_collective");
}

void DumpGroups::watch_rest() {
  std::map<std::int64_t, PlainValue> statuses;    // by pg_id
  std::map<std::int64_t, std::uint32_t> created;  // contexts by the number that is their name
  const auto groups = tree_.dict(tree_.at(root_, "pg_status"));
  for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
    if (const auto id = parse_number<std::int64_t>(tree_.text(groups[i]))) {
      statuses.emplace(*id, groups[i + 1]);
    }
  }
  for (const auto& [name, context] : contexts_) {
    if (const auto number = parse_number<std::int64_t>(name)) {
      created.emplace(*number, context);
    }
  }
  const bool are_all_there =
      statuses.size() == groups.size() / 2 && created.size() == contexts_.size();
  std::map<std::int64_t, std::uint32_t> contexts;  // by pg_id
  for (auto status = statuses.begin(); const auto& [number, context] : created) {
    if (status != statuses.end()) {
      contexts.emplace((status++)->first, context);
    }
  }
  const bool is_in_order =
      are_all_there && statuses.size() == created.size() &&
      std::includes(contexts.begin(), contexts.end(), numbers_.begin(), numbers_.end());
  for (const auto& [id, context] : contexts) {
    if (is_in_order && !numbers_.contains(id)) {
      take_watched(statuses.at(id), file_.contexts[context]);
    }
  }
}

EntryGroup DumpGroups::find(std::optional<std::int64_t> number, std::string_view name,
                            std::string_view description) {
  const auto found = contexts_.find(name);
  if (number) {
    numbers_.emplace(*number, found == contexts_.end() ? 0 : found->second);
  }
  if (found == contexts_.end()) {
    return {std::nullopt,
            "the entry is of a group of which pg_config does not say that this rank is in it"};
  }
  model::Context& context = file_.contexts[found->second];
  if (number && !context.last_enqueued) {
    take_watched(tree_.at(tree_.at(root_, "pg_status"), std::to_string(*number)), context);
  }
  if (!is_description(description)) {
    return {found->second, {}};
  }
  if (context.name == name) {  // pg_config does not describe it
    context.name = description;
  }
  return {found->second, context.name == description
                             ? ""
                             : "the entry describes its group as " + std::string(description) +
                                   ", and pg_config as " + context.name};
}

}  // namespace ringside::load
