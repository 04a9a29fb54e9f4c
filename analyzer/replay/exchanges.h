// SPDX-License-Identifier: Apache-2.0
//
// How long messages took whose kernels had other partners, too: all kernels of such a message may
// have waited for those.
#ifndef RINGSIDE_ANALYZER_REPLAY_EXCHANGES_H
#define RINGSIDE_ANALYZER_REPLAY_EXCHANGES_H

#include "analyzer/replay/job.h"

namespace ringside::replay {

/// Transfers that kernels connect are one exchange. Its last rank waits for nobody, so one of its
/// messages at least shows how much slower it is than the fastest of the job. A larger message
/// takes no less time than a smaller one, and is no slower for each byte. So each Transfer::time_ns
/// becomes at most
///
///   fastest(m) x the least of time(k) / fastest(k) over the messages k of its exchange
///   fastest(m) = the least of time(l) of all l that are larger, and of time(s) x bytes(m) /
///   bytes(s)
///
/// over the messages l and s of the job that run within one host, or between hosts, as m does.
void compare_exchanges(Job& job);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_EXCHANGES_H
