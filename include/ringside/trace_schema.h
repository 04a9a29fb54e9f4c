// SPDX-License-Identifier: Apache-2.0
//
// Names and version of the trace format, shared by the plugin that writes it and the analyzer that
// reads it. docs/trace-format.md defines them and must change together with this file.
#ifndef RINGSIDE_TRACE_SCHEMA_H
#define RINGSIDE_TRACE_SCHEMA_H

#include <cstdint>

namespace ringside::schema {

/// Version of the format, in the first line of every trace. It is raised if a reader of the older
/// version would misread the newer one. New keys do not raise it.
inline constexpr int kFormatVersion = 1;

/// Trace times count from CLOCK_REALTIME at load, floored to a multiple of this. Kineto uses the
/// same base.
inline constexpr std::int64_t kBaseTimeUnit_s = 7'889'238;

// Names of our metadata lines (ph "M").
inline constexpr char kLineTrace[] = "ringside_trace";
inline constexpr char kLineCommunicator[] = "ringside_communicator";
inline constexpr char kLineClock[] = "ringside_clock";
inline constexpr char kLineGpuClock[] = "ringside_gpu_clock";
inline constexpr char kLineWindow[] = "ringside_window";
inline constexpr char kLineMark[] = "ringside_mark";
inline constexpr char kLineAccount[] = "ringside_account";
inline constexpr char kLineTopology[] = "ringside_topology";
inline constexpr char kLineGpu[] = "ringside_gpu";
inline constexpr char kLinePort[] = "ringside_port";
inline constexpr char kLineEnd[] = "ringside_end";

// Metadata lines of merged files only: the first line, one for each host, one for each process of
// another profiler's trace, and the last line.
inline constexpr char kLineMerged[] = "ringside_merged";
inline constexpr char kLineMergedHost[] = "ringside_merged_host";
inline constexpr char kLineMergedForeign[] = "ringside_merged_foreign";
inline constexpr char kLineMergedEnd[] = "ringside_merged_end";

/// The account's types that are not NCCL's: the application's marks, and the calls around its
/// ranges.
inline constexpr char kTypeMark[] = "Mark";
inline constexpr char kTypeRange[] = "Range";

/// The account's key for callbacks in segments that were deleted to bound the size.
inline constexpr char kReasonRotated[] = "rotated";

// Categories ("cat") of the event lines.
inline constexpr char kCategoryApi[] = "api";
inline constexpr char kCategoryOperation[] = "op";
inline constexpr char kCategoryProxy[] = "proxy";
inline constexpr char kCategoryStep[] = "step";
inline constexpr char kCategoryGpu[] = "gpu";
inline constexpr char kCategoryControl[] = "ctrl";
inline constexpr char kCategoryNet[] = "net";
inline constexpr char kCategoryCopyEngine[] = "ce";
inline constexpr char kCategoryPhase[] = "phase";
inline constexpr char kCategoryMark[] = "mark";

}  // namespace ringside::schema

#endif  // RINGSIDE_TRACE_SCHEMA_H
