// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analyzer/load/json/parse_number.h"

namespace ringside::load {
namespace {

// A group as one dump has it.
struct Listed {
  model::TraceFile* file;
  model::Context* context;
  std::string ranks;  // the end of the context's `comm`
};

std::int64_t rank_of(const Listed& one) {
  return *one.file->process.launcher_rank;
}

// A list of ranks that is not damaged, and the dumps that have it.
struct Claim {
  std::vector<std::uint32_t> ranks;
  std::set<std::int64_t> dumps;
  bool is_dumped = false;  // all of its ranks have a dump

  bool has(std::int64_t rank) const {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }
  auto weight() const { return std::pair(dumps.size(), is_dumped); }
};
using Claims = std::map<std::string_view, Claim>;  // by the list

Claims claims_of(const std::vector<Listed>& group, const std::set<std::int64_t>& dumped) {
  Claims claims;
  for (const Listed& one : group) {
    if (!one.context->rank) {
      continue;  // its list is damaged
    }
    Claim& claim = claims[one.ranks];
    if (claim.dumps.empty()) {
      claim.ranks = *ranks_in(one.ranks);
      claim.is_dumped = std::all_of(claim.ranks.begin(), claim.ranks.end(),
                                    [&](std::uint32_t rank) { return dumped.contains(rank); });
    }
    claim.dumps.insert(rank_of(one));
  }
  return claims;
}

// Whether another dump disagrees about who is in the group of this one.
bool is_disputed(const Listed& one, const Claims& claims) {
  const auto own = claims.find(one.ranks);
  return std::any_of(claims.begin(), claims.end(), [&](const auto& other) {
    const auto& [ranks, claim] = other;
    return ranks != one.ranks &&
           (claim.has(rank_of(one)) ||
            (own != claims.end() &&
             std::any_of(claim.dumps.begin(), claim.dumps.end(),
                         [&](std::int64_t rank) { return own->second.has(rank); })));
  });
}

// The list with the dump's rank that most dumps have; of two that as many have, the one all of
// whose ranks have a dump. The end if that leaves none or several.
Claims::const_iterator best_for(const Listed& one, const Claims& claims) {
  auto best = claims.end();
  bool is_only = false;
  for (auto claim = claims.begin(); claim != claims.end(); ++claim) {
    if (!claim->second.has(rank_of(one))) {
      continue;
    }
    if (best == claims.end() || best->second.weight() < claim->second.weight()) {
      best = claim;
      is_only = true;
    } else if (best->second.weight() == claim->second.weight()) {
      is_only = false;
    }
  }
  return is_only ? best : claims.end();
}

void mend(const std::string& name, const Listed& one, const Claims& claims,
          model::Problems& problems) {
  if (one.context->rank && !is_disputed(one, claims)) {
    return;
  }
  const auto best = best_for(one, claims);
  if (best != claims.end() && best->first == one.ranks) {
    return;
  }
  const std::string why =
      "pg_config lists the ranks of group " + name + " as \"" + std::string(one.ranks) + '"';
  if (best == claims.end()) {
    problems.add_line(one.file->path, 0,
                      why +
                          ", and no other dump has them for certain: its calls are matched as "
                          "those of a group of its own");
    return;
  }
  problems.add_line(
      one.file->path, 0,
      why + "; the ranks that other dumps list are taken: " + std::string(best->first));
  const auto& ranks = best->second.ranks;
  const auto own = std::find(ranks.begin(), ranks.end(), rank_of(one));
  one.context->rank = static_cast<std::uint32_t>(own - ranks.begin());
  one.context->nranks = static_cast<std::uint32_t>(ranks.size());
  one.context->comm = name + ' ' + std::string(best->first);
}

// The names of groups of the same ranks, by the files that have them, and one file's context of
// each. A group has few sets of files, whatever the number of its names.
using Files = std::vector<model::TraceFile*>;
using Names = std::vector<std::pair<std::string, model::Context>>;

std::map<std::string, std::map<Files, Names>> names_by_ranks(model::Traces& traces) {
  struct Named {
    Files files;
    const model::Context* first = nullptr;
  };
  std::map<std::string, std::map<std::string, Named>> named;  // by ranks, and by name
  for (model::TraceFile& file : traces.files) {
    for (const auto& [number, context] : file.contexts) {
      const std::string comm = context.comm.value_or("");
      const std::size_t blank = comm.find(' ');
      if (!file.process.tells_begin && context.rank && context.nranks.value_or(0) > 1 &&
          blank < comm.size()) {
        Named& group = named[comm.substr(blank + 1)][comm.substr(0, blank)];
        group.files.push_back(&file);
        group.first = group.first == nullptr ? &context : group.first;
      }
    }
  }
  std::map<std::string, std::map<Files, Names>> names;
  for (auto& [ranks, groups] : named) {
    for (auto& [name, group] : groups) {
      names[ranks][std::move(group.files)].emplace_back(name, *group.first);
    }
  }
  return names;
}

bool are_apart(const Files& some, const Files& others) {  // both are in the files' order
  auto other = others.begin();
  return std::none_of(some.begin(), some.end(), [&](const model::TraceFile* file) {
    other = std::lower_bound(other, others.end(), file);
    return other != others.end() && *other == file;
  });
}

// Says that each of these files has a part in the group that another one has as `like`, and of
// which nothing is known.
void add_unknown(const Files& files, const model::Context& like) {
  const auto ranks = ranks_in(std::string_view(*like.comm).substr(like.comm->find(' ')));
  for (model::TraceFile* const file : files) {
    const auto rank = static_cast<std::uint32_t>(*file->process.launcher_rank);
    const auto own = std::find(ranks->begin(), ranks->end(), rank);
    model::Context& added = file->contexts[file->contexts.rbegin()->first + 1];
    added.name = like.name;
    added.comm = like.comm;
    added.rank = static_cast<std::uint32_t>(own - ranks->begin());
    added.nranks = like.nranks;
    added.created_ns = file->process.start_ns;
    ++file->bad_lines;
  }
}

// The ranks of a group find each other by its name, which PyTorch makes alike on all of them. If
// some name it otherwise, either they have not made the same groups, or the name is damaged: nobody
// knows which of their calls belong together.
void tell_other_names(model::Traces& traces, model::Problems& problems) {
  for (const auto& [of_ranks, groups] : names_by_ranks(traces)) {
    const std::string& ranks = of_ranks;
    for (auto one = groups.begin(); one != groups.end(); ++one) {
      for (auto other = std::next(one); other != groups.end(); ++other) {
        if (!are_apart(one->first, other->first)) {
          continue;
        }
        const auto tell = [&](const auto& here, const auto& there) {
          for (std::size_t i = 0; i < here.second.size(); ++i) {
            const auto& otherwise = there.second[std::min(i, there.second.size() - 1)].first;
            std::string text = "pg_config calls the group of ranks ";
            text.append(ranks).append(" \"").append(here.second[i].first);
            text.append("\", and that of rank ");
            text.append(std::to_string(*there.first.front()->process.launcher_rank));
            text.append(" calls it \"").append(otherwise);
            text +=
                "\": PyTorch gives a group one name on all of its ranks, so which of its calls "
                "belong together is not known";
            for (const model::TraceFile* const file : here.first) {
              problems.add_line(file->path, 0, text);
            }
          }
        };
        if (one->first.size() <= other->first.size()) {
          tell(*one, *other);
        }
        if (one->first.size() >= other->first.size()) {
          tell(*other, *one);
        }
        for (const auto& [name, context] : other->second) {
          add_unknown(one->first, context);
        }
        for (const auto& [name, context] : one->second) {
          add_unknown(other->first, context);
        }
      }
    }
  }
}

// A rank may not have made a group yet that others have, or its pg_config is damaged: nobody knows
// what it called there. It is a member all the same, whose records do not begin with the group.
void tell_absent_groups(model::Traces& traces, model::Problems& problems) {
  struct Known {
    std::map<std::string, const model::Context*> lists;
    std::set<std::int64_t> ranks;  // whose dumps have the group
  };
  std::map<std::string, Known> groups;  // by name
  std::map<std::int64_t, model::TraceFile*> dumps;
  for (model::TraceFile& file : traces.files) {
    if (file.process.tells_begin || !file.process.launcher_rank) {
      continue;
    }
    dumps[*file.process.launcher_rank] = &file;
    for (const auto& [number, context] : file.contexts) {
      const std::string comm = context.comm.value_or("");
      Known& group = groups[comm.substr(0, comm.find(' '))];
      group.ranks.insert(*file.process.launcher_rank);
      if (context.rank && comm.find(' ') < comm.size()) {
        group.lists.emplace(comm.substr(comm.find(' ') + 1), &context);
      }
    }
  }
  for (const auto& [name, group] : groups) {
    if (group.lists.size() != 1) {
      continue;
    }
    const auto& [listed, like] = *group.lists.begin();
    const auto ranks = ranks_in(listed);
    for (std::size_t i = 0; ranks && i < ranks->size(); ++i) {
      const auto dump = dumps.find((*ranks)[i]);
      if (dump == dumps.end() || group.ranks.contains(dump->first)) {
        continue;
      }
      auto& contexts = dump->second->contexts;
      model::Context& added = contexts[contexts.empty() ? 1 : contexts.rbegin()->first + 1];
      added.name = like->name;
      added.comm = like->comm;
      added.rank = static_cast<std::uint32_t>(i);
      added.nranks = like->nranks;
      problems.add_line(dump->second->path, 0,
                        "pg_config does not have group " + name + " (" + like->name +
                            "), in which other dumps list this rank: either it has not made the "
                            "group yet, or what it called there is not recorded");
    }
  }
}

}  // namespace

std::optional<std::vector<std::uint32_t>> ranks_in(std::string_view listed) {
  constexpr std::string_view kDigits = "0123456789";
  if (listed.find_first_not_of("0123456789[], ") < listed.size()) {
    return std::nullopt;
  }
  std::vector<std::uint32_t> ranks;
  for (std::size_t at = listed.find_first_of(kDigits); at < listed.size();) {
    const std::size_t end = std::min(listed.find_first_not_of(kDigits, at), listed.size());
    const auto rank = parse_number<std::uint32_t>(listed.substr(at, end - at));
    if (!rank) {
      return std::nullopt;
    }
    ranks.push_back(*rank);
    at = listed.find_first_of(kDigits, end);
  }
  std::vector<std::uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() ? std::optional(ranks)
                                                                          : std::nullopt;
}

void mend_dump_groups(model::Traces& traces, model::Problems& problems) {
  std::map<std::string, std::vector<Listed>> groups;  // by name
  std::set<std::int64_t> dumped;
  bool is_one_job = true;
  for (model::TraceFile& file : traces.files) {
    if (file.process.tells_begin || !file.process.launcher_rank) {
      continue;
    }
    is_one_job = dumped.insert(*file.process.launcher_rank).second && is_one_job;
    for (auto& [number, context] : file.contexts) {
      const std::string_view comm = context.comm ? std::string_view(*context.comm) : "";
      const std::size_t blank = comm.find(' ');
      if (blank < comm.size()) {
        groups[std::string(comm.substr(0, blank))].push_back(
            {&file, &context, std::string(comm.substr(blank + 1))});
      }
    }
  }
  for (const auto& [name, group] : groups) {
    const Claims claims = is_one_job ? claims_of(group, dumped) : Claims();
    for (const Listed& one : group) {
      mend(name, one, claims, problems);
    }
  }
  if (is_one_job) {
    tell_other_names(traces, problems);
    tell_absent_groups(traces, problems);
  }
}

}  // namespace ringside::load
