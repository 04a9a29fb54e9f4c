// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/query.h"

namespace ringside::report {
namespace {

constexpr View kViews[] = {
    {"worst_rows", "kinds of operation, those first that took most of the time",
     R"(SELECT c.run, c.label AS communicator, k.function, k.bytes, k.datatype,
               k.algorithm, k.protocol, k.operations, k.busy_ns, k.busy_p99_ns,
               k.busy_ns * k.operations AS all_busy_ns, k.wait_ns, k.busbw_gb_s, k.times_from
        FROM kinds k JOIN communicators c ON c.id = k.communicator_id
        ORDER BY all_busy_ns DESC, k.id)"},
    {"slow_links", "links of the network: the slow ones first, then by time",
     R"(SELECT c.run, c.label AS communicator, m.rank, h.host, l.is_send, l.peer,
               l.channel, l.transfers, l.bytes, l.gb_s, l.step_median_ns, l.slow_factor,
               l.gpu_wait_ns + l.peer_wait_ns + l.transfer_ns + l.flush_ns AS time_ns
        FROM links l JOIN memberships m ON m.id = l.membership_id
             JOIN communicators c ON c.id = m.communicator_id
             JOIN processes p ON p.id = l.process_id JOIN hosts h ON h.id = p.host_id
        ORDER BY coalesce(l.slow_factor, 0) DESC, time_ns DESC, l.id)"},
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
     R"(SELECT o.verdict, o.differs_in, c.label AS communicator, o.function, o.number, m.rank,
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
