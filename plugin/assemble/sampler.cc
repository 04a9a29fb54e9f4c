// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/sampler.h"

namespace ringside::assemble {
namespace {

// Up to this version of the interface, NCCL counts operations only while they are recorded.
constexpr int kLastWithOwnCount = 3;

}  // namespace

void Sampler::open(Communicator& communicator) {
  communicator.coll_unsampled =
      sampling_.coll_of > 1 && communicator.abi_version <= kLastWithOwnCount;
  communicator.p2p_unsampled = sampling_.p2p_of > 1 && !records_p2p_;
  if (sampling_.p2p_of > 1 && records_p2p_) {
    lanes_[communicator.context] = {kForEver, {}};
  }
}

std::vector<std::uint32_t> Sampler::stop_counting(std::int64_t ts_ns) {
  std::vector<std::uint32_t> stopped;
  records_p2p_ = false;
  for (auto& [context, lanes] : lanes_) {
    if (lanes.until_ns == kForEver) {
      stopped.push_back(context);
      lanes.until_ns = ts_ns;
    }
  }
  return stopped;
}

bool Sampler::chooses(const Communicator& communicator, std::int64_t ts_ns, Operation& operation) {
  const bool is_kept = keeps_time(sampling_, base_ns_ + operation.enqueue_start_ns) &&
                       (!operation.has_bytes || operation.bytes >= sampling_.min_bytes);
  if (operation.kind != OperationKind::kP2p) {
    if (sampling_.coll_of <= 1 || communicator.coll_unsampled) {
      return is_kept;
    }
    operation.sample_of = sampling_.coll_of;
    return is_kept && keeps_number(operation.func, operation.seq, sampling_.coll_of);
  }
  const auto lanes = lanes_.find(operation.context);
  if (lanes == lanes_.end() || ts_ns >= lanes->second.until_ns) {
    return is_kept;
  }
  operation.has_seq = true;
  operation.seq = lanes->second.next[{operation.root_or_peer, operation.func == "Recv"}]++;
  operation.sample_of = sampling_.p2p_of;
  return is_kept && keeps_number(kSampledPair, operation.seq, sampling_.p2p_of);
}

}  // namespace ringside::assemble
