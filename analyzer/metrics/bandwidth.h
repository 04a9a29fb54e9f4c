// SPDX-License-Identifier: Apache-2.0
//
// algbw and busbw as nccl-tests defines them (doc/PERFORMANCE.md and getBw in its src/*.cu), and
// the nominal bandwidth of monitor_collectives.py.
#ifndef RINGSIDE_ANALYZER_METRICS_BANDWIDTH_H
#define RINGSIDE_ANALYZER_METRICS_BANDWIDTH_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ringside::metrics {

/// The function under which a send and its receive are listed, as nccl-tests calls them.
inline constexpr std::string_view kSendRecv = "SendRecv";

struct Bandwidth {
  std::optional<double> algbw_gb_s;  // GB/s, 1 GB = 1e9 bytes
  std::optional<double> busbw_gb_s;
  /// The bandwidth that Google's monitor_collectives.py (lit-gpt-demo/utilities) nominally defines
  /// in the doc string of each of its calls, with the message as that script counts it. Let b be
  /// `bytes`, n the ranks and t the time:
  ///   all_reduce 2 (n - 1) / n x b / t; broadcast, reduce, send and recv b / t;
  ///   all_gather (n - 1) / n x n b / t; gather, scatter (n - 1) b / t, as the root's own part
  ///   stays; reduce_scatter (n - 1) / n x b / t, since it counts the output alone: busbw is n
  ///   times that; all_to_all n (n - 1) b / t, the sum over all ranks: n times busbw, which is one
  ///   rank's.
  /// Its T of gather and scatter is the sum over the transfers, here t: NCCL runs them in one
  /// kernel. Its T of all_to_all begins at the first send, here when all ranks were there. Nothing
  /// for AlltoAllv, where the sum over the ranks is not known.
  std::optional<double> nominal_gb_s;
};

/// nccl-tests' "size" S of a call (of AlltoAllv, which it does not have, what a rank sends to
/// others), in bytes: `bytes` is the message as one rank gives or gets it. Nothing for other
/// functions that nccl-tests does not have.
std::optional<double> test_size_bytes(std::string_view func, std::uint64_t bytes,
                                      std::uint32_t nranks);

/// algbw = S / t, busbw = algbw x factor. A figure that cannot be known is left out. Both are, for
/// functions that nccl-tests does not have and for t = 0. In a communicator of one rank busbw is,
/// and algbw if S depends on the number of ranks;
/// the nominal one is left out where busbw is.
Bandwidth bandwidth(std::string_view func, std::uint64_t bytes, std::uint32_t nranks,
                    double time_ns);

/// True where algbw itself, not only busbw, depends on the number of ranks.
bool size_depends_on_ranks(std::string_view func);

/// True where busbw differs from algbw, or depends on the number of ranks by algbw.
bool busbw_depends_on_ranks(std::string_view func);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_BANDWIDTH_H
