// SPDX-License-Identifier: Apache-2.0
//
// The clocks of the process's GPUs. They map the stamps of kernel channels to the trace's time
// line. Communicators on the same GPU share its clock. Used by one thread.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_GPU_CLOCKS_H
#define RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_GPU_CLOCKS_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plugin/assemble/clocks/gpu_clock.h"
#include "plugin/assemble/communicators.h"
#include "plugin/assemble/rows.h"

namespace ringside::assemble {

class GpuClocks {
 public:
  explicit GpuClocks(const Communicators& communicators) : communicators_(communicators) {}

  /// The GPU of this context's communicator is known from now on.
  void learn_gpu(std::uint32_t context) {
    if (context < clock_of_.size()) {
      clock_of_[context] = nullptr;
    }
  }
  /// Sets an earlier fit for the GPU clock of this context's communicator.
  void seed(std::uint32_t context, const GpuClockFit& fit) { clock(context).seed(fit); }
  /// Adds a stamp (0: none) and the time at which its callback came.
  void add(std::uint32_t context, std::uint64_t gpu_ns, std::int64_t host_ns) {
    if (gpu_ns != 0) {
      clock(context).add(gpu_ns, host_ns);
    }
  }

  /// Sets the start and end of a kernel channel from its stamps. If these cannot be true, sets them
  /// from its callbacks, and `rejected` to the reason. A start before `earliest_ns` cannot be true.
  void place(KernelRow& row, std::int64_t earliest_ns);

  struct ChangedFit {
    std::uint32_t context;
    GpuClockFit fit;
  };
  /// The fits that kernels placed since the last call rest on, if they differ by more than a
  /// microsecond from the fit returned before. Their lines must precede those of the kernels.
  std::vector<ChangedFit> take_changed_fits() { return std::exchange(changed_, {}); }
  /// The last of these fits by context.
  const std::map<std::uint32_t, GpuClockFit>& last_fits() const { return last_fits_; }

 private:
  GpuClock& clock(std::uint32_t context);

  const Communicators& communicators_;
  std::map<std::string, GpuClock> clocks_;          // by GPU
  std::vector<GpuClock*> clock_of_;                 // by context; NULL: not looked up yet
  std::map<std::uint32_t, GpuClockFit> last_fits_;  // by context, the last one that changed
  std::vector<ChangedFit> changed_;
};

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_CLOCKS_GPU_CLOCKS_H
