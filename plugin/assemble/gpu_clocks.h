// SPDX-License-Identifier: Apache-2.0
//
// The clocks of the process's GPUs, and the stamps of kernels put on the time line with them.
// Communicators on the same GPU share its clock. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_GPU_CLOCKS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_GPU_CLOCKS_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugin/assemble/communicators.h"
#include "plugin/assemble/gpu_clock.h"
#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class GpuClocks {
 public:
  explicit GpuClocks(const Communicators& communicators) : communicators_(communicators) {}

  /// From now on it is known on which GPU the communicator of this context runs.
  void learn_gpu(std::uint32_t context) {
    if (context < clock_of_.size()) {
      clock_of_[context] = nullptr;
    }
  }
  /// What has been learnt before of the clock that a communicator's stamps are of.
  void seed(std::uint32_t context, const GpuClockFit& fit) { clock(context).seed(fit); }
  /// A stamp, and the time at which a callback brought it. 0 is no stamp.
  void add(std::uint32_t context, std::uint64_t gpu_ns, std::int64_t host_ns) {
    if (gpu_ns != 0) {
      clock(context).add(gpu_ns, host_ns);
    }
  }

  /// Sets start and end of a kernel from its stamps, or, if those cannot be true, from its
  /// callbacks, and says why. It cannot have started before `earliest_ns`.
  void place(KernelRow& row, std::int64_t earliest_ns);

  struct ChangedFit {
    std::uint32_t context;
    GpuClockFit fit;
  };
  /// The fits on which kernels that were placed since the last call rest, and that differ by more
  /// than a microsecond from the one returned before. Their lines belong before those of the
  /// kernels.
  std::vector<ChangedFit> take_changed_fits() { return std::exchange(changed_, {}); }

 private:
  GpuClock& clock(std::uint32_t context);

  const Communicators& communicators_;
  std::map<std::string, GpuClock> clocks_;          // by GPU
  std::vector<GpuClock*> clock_of_;                 // by context; NULL: not looked up yet
  std::map<std::uint32_t, GpuClockFit> last_fits_;  // by context, the last that changed
  std::vector<ChangedFit> changed_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_GPU_CLOCKS_H
