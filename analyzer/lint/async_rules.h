// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_ASYNC_RULES_H
#define RINGSIDE_ANALYZER_LINT_ASYNC_RULES_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"
#include "analyzer/model/name_table.h"

namespace ringside::lint {

/// Checks the async slices: b and e of one (pid, cat, id) are a sequence of nested pairs.
class AsyncRules {
 public:
  void take(const Event& event);
  void finish(bool is_closed, Findings& findings);

 private:
  struct Edge {
    std::int64_t ts_ns = 0;
    std::uint64_t line = 0;
    model::NameId name = model::kNoName;
    bool is_begin = false;
    bool in_flight = false;
  };
  using Track = std::vector<Edge>;

  void check(Track& track, bool is_closed, Findings& findings) const;
  void match_end(const Edge& end, std::vector<Edge>& open, std::vector<Edge>& early,
                 Findings& findings) const;
  std::string quoted(model::NameId name) const {
    return '"' + std::string(names_.text(name)) + '"';
  }

  model::NameTable names_;
  std::map<std::tuple<std::int64_t, model::NameId, model::NameId>, Track> tracks_;
};

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_ASYNC_RULES_H
