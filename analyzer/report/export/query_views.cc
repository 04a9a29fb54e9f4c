// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/query.h"

namespace ringside::report {
namespace {

constexpr View kViews[] = {
    {"worst_rows", "kinds of operation, those first that took most of the time",
     R"(SELECT c.name AS communicator, o.function, o.bytes, count(*) AS operations,
               CAST(avg(o.busy_ns) AS INTEGER) AS mean_busy_ns, max(o.busy_ns) AS most_busy_ns,
               sum(o.busy_ns) AS all_busy_ns, sum(o.waited_ns) AS waited_ns
        FROM operations o JOIN communicators c ON c.id = o.communicator_id
        GROUP BY o.communicator_id, o.function, o.bytes ORDER BY all_busy_ns DESC)"},
    {"waiting_by_line", "lines of the program, by what ranks waited in the operations they called",
     R"(SELECT o.called_by, o.function, count(*) AS operations, sum(o.waited_ns) AS waited_ns,
               100.0 * sum(o.waited_ns) / (SELECT sum(waited_ns) FROM operations) AS percent
        FROM operations o GROUP BY o.called_by, o.function ORDER BY waited_ns DESC)"},
    {"slow_links", "sends from rank to rank and channel, the slowest first",
     R"(SELECT c.name AS communicator, m.rank AS from_rank, s.peer AS to_rank, s.channel, h.host,
               count(*) AS steps, sum(s.bytes) AS bytes, sum(s.transfer_ns) AS transfer_ns,
               1.0 * sum(s.bytes) / sum(s.transfer_ns) AS gb_s
        FROM steps s JOIN calls k ON k.id = s.call_id
             JOIN memberships m ON m.id = k.membership_id
             JOIN communicators c ON c.id = m.communicator_id
             JOIN processes p ON p.id = m.process_id JOIN hosts h ON h.id = p.host_id
        WHERE s.is_send AND s.transfer_ns > 0
        GROUP BY m.communicator_id, m.rank, s.peer, s.channel ORDER BY gb_s)"},
    {"rank_times", "ranks, by their own time against that of the others",
     R"(SELECT p.run, r.global_rank, h.host, p.pid, r.operations, r.own_ns, r.own_ratio,
               r.waited_ns, r.cost_percent
        FROM ranks r JOIN processes p ON p.id = r.process_id JOIN hosts h ON h.id = p.host_id
        ORDER BY r.own_ratio IS NULL, r.own_ratio DESC)"},
    {"last_ranks", "ranks, by how often they were certainly the last to come",
     R"(SELECT m.global_rank, h.host, count(*) AS operations,
               CAST(avg(o.margin_least_ns) AS INTEGER) AS mean_margin_least_ns
        FROM operations o JOIN memberships m ON m.id = o.last_membership_id
             JOIN processes p ON p.id = m.process_id JOIN hosts h ON h.id = p.host_id
        WHERE o.last_is_decided GROUP BY p.id, m.global_rank ORDER BY operations DESC)"},
    {"mismatches", "calls of operations that do not match, rank by rank",
     R"(SELECT o.verdict, o.differs_in, c.name AS communicator, o.function, o.number, m.rank,
               k.function AS called, k.bytes, k.datatype, k.state, k.called_by
        FROM operations o JOIN communicators c ON c.id = o.communicator_id
             JOIN calls k ON k.operation_id = o.id JOIN memberships m ON m.id = k.membership_id
        WHERE o.verdict NOT IN ('matched', 'not recorded') ORDER BY o.id, m.rank)"},
};

}  // namespace

std::span<const View> query_views() {
  return kViews;
}

}  // namespace ringside::report
