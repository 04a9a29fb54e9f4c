// SPDX-License-Identifier: Apache-2.0
//
// How long messages took whose kernels had other partners, too: all kernels of such a message may
// have waited for those.
#ifndef RINGSIDE_ANALYZER_REPLAY_EXCHANGES_H
#define RINGSIDE_ANALYZER_REPLAY_EXCHANGES_H

#include "analyzer/replay/job.h"

namespace ringside::replay {

/// Transfers that kernels connect are one exchange. Its last rank waits for nobody, so its messages
/// show their times, and what those of others can take at most. A larger message takes no less time
/// than a smaller one, and is no slower for each byte. So each Transfer::time_ns becomes
///
///   time(m) = min(time(m), time(l) of l that are larger, time(s) * bytes(m) / bytes(s))
///
/// over the messages l and s of its exchange that run within one host, or between hosts, as it
/// does.
void compare_exchanges(Job& job);

}  // namespace ringside::replay

#endif  // RINGSIDE_ANALYZER_REPLAY_EXCHANGES_H
