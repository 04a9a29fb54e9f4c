// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/group_patterns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/match/calls/entry.h"

namespace ringside::match {
namespace {

// Union-find over the group calls of all ranks.
class Components {
 public:
  std::size_t node(std::uint32_t member, std::uint64_t group) {
    const auto [entry, is_new] = nodes_.emplace(std::pair(member, group), parents_.size());
    if (is_new) {
      parents_.push_back(entry->second);
    }
    return entry->second;
  }

  std::size_t root(std::size_t node) {
    while (parents_[node] != node) {
      parents_[node] = parents_[parents_[node]];
      node = parents_[node];
    }
    return node;
  }

  void unite(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

  std::map<std::size_t, std::vector<std::uint32_t>> members() {
    std::map<std::size_t, std::vector<std::uint32_t>> found;
    for (const auto& [key, node] : nodes_) {
      found[root(node)].push_back(key.first);
    }
    return found;
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> nodes_;
  std::vector<std::size_t> parents_;
};

// The sends of a group. Vectors, sorted when all are there: a tree node for each pair of ranks
// would be large.
struct Shape {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;  // source and destination
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> destinations;
  std::vector<std::uint32_t> shifts;  // destination - source, modulo the number of ranks
  std::vector<std::uint64_t> sizes_bytes;
  bool is_plain = false;  // no pattern: a send has no partner or size, or is repeated
};

template <typename T>
void keep_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

template <typename T>
void add_if_new(std::vector<T>& values, const T& value) {
  if (values.empty() || values.back() != value) {
    values.push_back(value);
  }
}

void add_to_shape(const model::Traces& traces, const Matches& matches, const MatchedOperation& pair,
                  std::uint32_t nranks, Shape& shape) {
  const auto parts = parts_of(matches, pair);
  if (parts.size() != 2 || pair.source >= nranks || pair.destination >= nranks) {
    shape.is_plain = true;
    return;
  }
  const auto sent_bytes = operation_of(traces, parts[0]).bytes;
  const auto received_bytes = operation_of(traces, parts[1]).bytes;
  if (!sent_bytes || !received_bytes || *sent_bytes != *received_bytes) {
    shape.is_plain = true;
    return;
  }
  add_if_new(shape.sizes_bytes, *sent_bytes);
  shape.links.emplace_back(pair.source, pair.destination);
  if (is_to_self(pair)) {
    return;
  }
  add_if_new(shape.sources, pair.source);
  add_if_new(shape.destinations, pair.destination);
  add_if_new(shape.shifts, pair.destination > pair.source
                               ? pair.destination - pair.source
                               : pair.destination + nranks - pair.source);
}

void close_shape(Shape& shape) {
  const std::size_t links = shape.links.size();
  keep_distinct(shape.links);
  shape.is_plain = shape.is_plain || shape.links.size() < links;
  keep_distinct(shape.sources);
  keep_distinct(shape.destinations);
  keep_distinct(shape.shifts);
  keep_distinct(shape.sizes_bytes);
}

// To how many others the rank sends that sends to most.
std::size_t most_destinations(const Shape& shape) {
  std::size_t most = 0;
  std::size_t here = 0;
  for (std::size_t i = 0; i < shape.links.size(); ++i) {
    here = i > 0 && shape.links[i].first == shape.links[i - 1].first ? here : 0;
    here += shape.links[i].first != shape.links[i].second ? 1 : 0;
    most = std::max(most, here);
  }
  return most;
}

Pattern pattern_of(const Shape& shape, std::uint32_t nranks) {
  if (shape.is_plain || nranks < 2) {
    return Pattern::kNone;
  }
  const std::uint64_t n = nranks;
  const auto selves = static_cast<std::uint64_t>(
      std::count_if(shape.links.begin(), shape.links.end(),
                    [](const auto& link) { return link.first == link.second; }));
  const std::uint64_t links = shape.links.size() - selves;
  const bool has_one_size = shape.sizes_bytes.size() == 1;
  const bool is_all = links == n * (n - 1) && (selves == 0 || selves == n);
  // Two ranks that exchange messages are both an AlltoAll and a ring. They count as a ring, which
  // claims less.
  if (is_all && (n > 2 || selves == n)) {
    return has_one_size ? Pattern::kAlltoAll : Pattern::kAlltoAllv;
  }
  if (has_one_size && links == n && shape.shifts.size() == 1 && selves == 0) {
    return Pattern::kRing;
  }
  const bool is_star = has_one_size && n > 2 && links == n - 1 && selves <= 1;
  if (is_star && shape.destinations.size() == 1 && shape.sources.size() == n - 1) {
    return Pattern::kGather;
  }
  if (is_star && shape.sources.size() == 1 && shape.destinations.size() == n - 1) {
    return Pattern::kScatter;
  }
  // Frameworks leave out sends of no bytes. Neighbours that exchange are fewer pairs than this, or
  // each sends to two others only.
  const bool are_most = 2 * links > n * (n - 1) && most_destinations(shape) > 2;
  return are_most ? Pattern::kAlltoAllv : Pattern::kNone;
}

std::int64_t first_time(const model::Traces& traces, const std::vector<Part>& parts) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const Part& part : parts) {
    first_ns = std::min(first_ns, since_epoch(traces.files[part.file].process,
                                              time_of(operation_of(traces, part))));
  }
  return first_ns;
}

struct Group {
  Pattern pattern = Pattern::kNone;
  bool is_aligned = false;  // one of its pairs is
  std::int64_t time_ns = 0;
  std::vector<Part> parts;
};

void replace_pairs(const std::vector<MatchedOperation>& kept, std::vector<Group>& groups,
                   std::uint32_t communicator, std::size_t first, Matches& matches) {
  const std::size_t first_part = matches.operations[first].first_part;
  const Parts::Range all(matches.parts, first_part, matches.parts.size() - first_part);
  const std::vector<Part> old(all.begin(), all.end());
  matches.operations.resize(first);
  matches.parts.truncate(first_part);
  const auto append = [&](std::span<const Part> parts) {
    for (const Part& part : parts) {
      matches.parts.push_back(part);
    }
  };
  for (MatchedOperation pair : kept) {
    const std::size_t from = pair.first_part - first_part;
    pair.first_part = matches.parts.size();
    append(std::span(old).subspan(from, pair.part_count));
    matches.operations.push_back(pair);
  }
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    const auto place = [](const Part& part) { return std::tie(part.member, part.operation); };
    return std::tuple(a.time_ns, place(a.parts.front())) <
           std::tuple(b.time_ns, place(b.parts.front()));
  });
  std::uint64_t number = 0;
  for (const Group& group : groups) {
    MatchedOperation operation;
    operation.communicator = communicator;
    operation.way = Way::kGroup;
    operation.pattern = group.pattern;
    operation.is_aligned = group.is_aligned;
    operation.number = number++;
    operation.first_part = matches.parts.size();
    operation.part_count = static_cast<std::uint32_t>(group.parts.size());
    append(group.parts);
    matches.operations.push_back(operation);
  }
}

}  // namespace

void recognise_groups(const model::Traces& traces, std::uint32_t communicator, std::size_t first,
                      Matches& matches) {
  const auto pairs = std::span(matches.operations).subspan(first);
  const std::uint32_t nranks = matches.communicators[communicator].nranks;
  constexpr std::size_t kNoNode = std::numeric_limits<std::size_t>::max();
  Components components;
  std::vector<std::size_t> node_of_pair(pairs.size(), kNoNode);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (const Part& part : parts_of(matches, pairs[i])) {
      const auto& group = operation_of(traces, part).group;
      // A call outside of all groups connects nothing. It is a group of its own.
      if (group) {
        const std::size_t node = components.node(part.member, *group);
        if (node_of_pair[i] != kNoNode) {
          components.unite(node, node_of_pair[i]);
        }
        node_of_pair[i] = node;
      }
    }
  }
  std::map<std::size_t, std::vector<std::size_t>> pairs_of;  // by the component's root
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (node_of_pair[i] != kNoNode) {
      pairs_of[components.root(node_of_pair[i])].push_back(i);
    }
  }
  auto members = components.members();
  std::vector<bool> is_taken(pairs.size());
  std::vector<Group> groups;
  for (const auto& [root, indices] : pairs_of) {
    std::vector<std::uint32_t>& here = members[root];
    std::sort(here.begin(), here.end());
    if (here.size() != nranks || std::adjacent_find(here.begin(), here.end()) != here.end()) {
      continue;
    }
    Shape shape;
    for (const std::size_t i : indices) {
      const auto parts = parts_of(matches, pairs[i]);
      shape.is_plain = shape.is_plain ||
                       std::any_of(parts.begin(), parts.end(),
                                   [&](const Part& p) { return !operation_of(traces, p).group; });
      add_to_shape(traces, matches, pairs[i], nranks, shape);
    }
    close_shape(shape);
    Group group;
    group.pattern = pattern_of(shape, nranks);
    if (group.pattern == Pattern::kNone) {
      continue;
    }
    for (const std::size_t i : indices) {
      is_taken[i] = true;
      group.is_aligned = group.is_aligned || pairs[i].is_aligned;
      const auto parts = parts_of(matches, pairs[i]);
      group.parts.insert(group.parts.end(), parts.begin(), parts.end());
    }
    std::sort(group.parts.begin(), group.parts.end(), [](const Part& a, const Part& b) {
      return std::tie(a.member, a.operation) < std::tie(b.member, b.operation);
    });
    group.time_ns = first_time(traces, group.parts);
    groups.push_back(std::move(group));
  }
  if (groups.empty()) {
    return;
  }
  std::vector<MatchedOperation> kept;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!is_taken[i]) {
      kept.push_back(pairs[i]);
    }
  }
  replace_pairs(kept, groups, communicator, first, matches);
}

const char* pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kNone:
      return "";
    case Pattern::kAlltoAll:
      return "AlltoAll";
    case Pattern::kAlltoAllv:
      return "AlltoAllv";
    case Pattern::kGather:
      return "Gather";
    case Pattern::kScatter:
      return "Scatter";
    case Pattern::kRing:
      return "SendRecv ring";
  }
  return "";
}

std::optional<std::uint64_t> group_bytes(const model::Traces& traces, const Matches& matches,
                                         const MatchedOperation& operation) {
  double sent_bytes = 0;
  const auto& members = matches.communicators[operation.communicator].members;
  for (const Part& part : parts_of(matches, operation)) {
    const model::Operation& here = operation_of(traces, part);
    if (!here.bytes) {
      return std::nullopt;
    }
    if (operation.pattern != Pattern::kAlltoAllv) {
      return *here.bytes;  // all pairs have the same size
    }
    const bool is_self = here.peer && members[part.member].rank == *here.peer;
    if (traces.names.text(here.func) == "Send" && !is_self) {
      sent_bytes += static_cast<double>(*here.bytes);
    }
  }
  const double mean_bytes = sent_bytes / static_cast<double>(members.size());
  constexpr double kMost = 9e18;
  return mean_bytes < kMost ? std::optional(static_cast<std::uint64_t>(std::llround(mean_bytes)))
                            : std::nullopt;
}

}  // namespace ringside::match
