// SPDX-License-Identifier: Apache-2.0
//
// Traces of PyTorch's profiler beside traces of the same processes: which operations each call of
// torch.distributed (record_param_comms) made, by what proof, and where it came from.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_JOIN_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_JOIN_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/kineto/gpu_time.h"
#include "analyzer/match/kineto/kineto_kernels.h"
#include "analyzer/model/kineto/kineto.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// Why a call is that of these operations. Function and sizes of all of them agree in any case, and
/// so does the process group.
enum class PairProof : std::uint8_t {
  kFromStart,  // counted from the group's first call on, by the order of calls
  kOnlyPlace,  // the calls that the profiler saw fit in one place of all the group's calls only
  kClock,      // the call was under way when the first of these was called, on the same thread; or
               // follows such a one in the order of calls
};
inline constexpr std::size_t kPairProofs = 3;

/// The calls of one rank in one process group.
struct KinetoGroupJoin {
  std::string name;
  std::string description;
  std::uint64_t calls = 0;  // that the profiler saw, of those that call NCCL
  std::array<std::uint64_t, kPairProofs> pairs{};
  std::uint64_t unknown = 0;     // calls whose name is not known
  std::uint64_t operations = 0;  // of the pairs
  /// Pairs with one operation, and how many of them have it within the call by both clocks.
  std::uint64_t compared = 0;
  std::uint64_t within = 0;
  /// By how much the clock of Ringside's trace may be ahead of the profiler's: all compared pairs
  /// allow what is between these. The first is above the second if no such offset is.
  std::optional<std::int64_t> least_offset_ns, most_offset_ns;
};

/// An operation that a call of torch.distributed made.
struct FramedOperation {
  std::size_t comm = 0;       // of KinetoTrace::comms
  std::size_t operation = 0;  // of TraceFile::operations
};

/// From the first start to the last end of the CPU's operators and calls in a profile, by its
/// clock: what they launched may run while the next profile has begun. Without any, of the GPU's
/// work.
struct ProfiledTime {
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;

  bool operator==(const ProfiledTime&) const = default;
};

/// Nothing if a trace has neither operators nor calls of CUDA nor work of a GPU.
std::optional<ProfiledTime> profiled_time(const model::KinetoTrace& trace);

struct KinetoFileJoin {
  std::string path;
  std::uint32_t file = 0;  // index into Traces::files
  std::optional<ProfiledTime> time;
  std::uint64_t events = 0;   // of the profile
  std::uint64_t damaged = 0;  // of these
  std::string cut;            // KinetoTrace::cut
  std::vector<KinetoGroupJoin> groups;
  std::vector<FramedOperation> framed;  // of all groups, in each in the order of calls
  bool is_alone = false;  // the file was made of the profile (profile_trace.h), and has no groups
  KinetoKernels kernels;
  GpuTime gpu;
};

/// The file of the process that was profiled: of its rank and its pid, as far as the profiler tells
/// them. Nothing if there is none, or there are several runs. Of several files of one run, as a
/// trace and its dumps, it is the one that `joins` have already; else the one whose operations
/// cover most of the profile's time; else the better one (is_better_file).
std::optional<std::uint32_t> profiled_file(const model::KinetoTrace& trace,
                                           const model::Traces& traces,
                                           const std::vector<KinetoFileJoin>& joins);

/// Why a profile cannot be of the process that this file is of, although rank and pid agree: its
/// times are not those of the process, or its job is smaller than a communicator there. Empty if
/// nothing says so.
std::string why_of_another_job(const model::KinetoTrace& trace, const model::TraceFile& file);

/// The join of a profile of the same process and the same time; nothing if there is none. A process
/// has one profiler at a time, so that one of the two is a copy.
const KinetoFileJoin* find_same_time(const model::KinetoTrace& trace, std::uint32_t file,
                                     const std::vector<KinetoFileJoin>& joins);

/// Joins the calls of a trace of PyTorch's profiler with the operations of a file, and gives these
/// the operators around the call (innermost first, a line each), the process group and `Seq`, where
/// they have none yet. Steps of the profiler become marks. The group is that which the
/// communicator's name ends with. If no communicator of the file has a name, it is the only one
/// with as many ranks and this rank's place among them.
KinetoFileJoin join_kineto(const model::KinetoTrace& trace, std::uint32_t file,
                           model::Traces& traces);

/// The same where the last file of `traces` was made of the profile, and these are its operations.
KinetoFileJoin join_own_kineto(const model::KinetoTrace& trace, std::vector<FramedOperation> framed,
                               model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_JOIN_H
