// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/hang/known_defects.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace ringside::report {
namespace {

using Version = std::array<unsigned, 3>;

// The table asks this of a stuck operation.
struct Symptom {
  std::uint32_t ranks = 0;
  bool is_all_to_all = false;
  bool has_arm = false;  // the GPUs are those of boards with NVIDIA's Arm processors
};

struct Defect {
  Version mended;  // the first release without it
  std::string_view what;
  bool (*fits)(const Symptom& symptom);
};

// By NCCL's release notes, each of the release that mends it. They call no number of ranks large.
constexpr std::uint32_t kLargeJob = 64;
constexpr Defect kDefects[] = {
    {{2, 26, 5},
     "all-to-all patterns of more than 80 ranks can hang on hosts that share NVLinks",
     [](const Symptom& one) { return one.is_all_to_all && one.ranks > 80; }},
    {{2, 28, 9},
     "large jobs can hang, since the main and the proxy thread order operations differently",
     [](const Symptom& one) { return one.ranks >= kLargeJob; }},
    {{2, 29, 3},
     "builds by gcc 9 and older can hang on Arm processors",
     [](const Symptom& one) { return one.has_arm; }},
};

bool is_all_to_all(const model::Traces& traces, const match::MatchedOperation& operation) {
  return operation.pattern == match::Pattern::kAlltoAll ||
         operation.pattern == match::Pattern::kAlltoAllv ||
         traces.names.text(operation.func) == "AlltoAll";
}

bool has_arm(const model::TraceFile& file) {
  constexpr std::string_view kBoards[] = {"GH200", "GB200", "GB300", "GB10"};
  return std::any_of(file.machines.begin(), file.machines.end(), [&](const auto& reading) {
    return std::any_of(
        reading.second.gpus.begin(), reading.second.gpus.end(), [&](const topology::Gpu& gpu) {
          return std::any_of(std::begin(kBoards), std::end(kBoards), [&](std::string_view board) {
            return gpu.name.find(board) != gpu.name.npos;
          });
        });
  });
}

}  // namespace

std::vector<std::string> known_defects(const model::Traces& traces, const metrics::Hang& hang,
                                       const metrics::StuckOperation& stuck) {
  const match::MatchedOperation& operation = hang.matched(stuck);
  const model::TraceFile& file = traces.files[stuck.since_file];
  const std::string& release = file.process.nccl_version;
  Version version{};
  if (!stuck.blockers.empty() || hang.has_unknown_rank(stuck) ||
      stuck.differs != match::Difference::kNone ||
      std::sscanf(release.c_str(), "%u.%u.%u", &version[0], &version[1], &version[2]) != 3) {
    return {};
  }
  const Symptom symptom{match::ranks_expected(hang.matches, operation),
                        is_all_to_all(traces, operation), has_arm(file)};
  std::vector<std::string> found;
  for (const Defect& defect : kDefects) {
    if (version < defect.mended && defect.fits(symptom)) {
      std::string mended = std::to_string(defect.mended[0]);
      for (const unsigned part : {defect.mended[1], defect.mended[2]}) {
        mended.append(1, '.').append(std::to_string(part));
      }
      found.push_back("NCCL " + release + " has a defect that looks like this: ");
      found.back().append(defect.what).append(". NCCL ").append(mended);
      found.back().append(" mends it (its release notes)");
    }
  }
  return found;
}

}  // namespace ringside::report
