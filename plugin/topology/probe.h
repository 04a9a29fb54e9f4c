// SPDX-License-Identifier: Apache-2.0
//
// Reads the machine's topology on a thread of its own, since NVML waits for the driver and may
// never return. Nobody waits for that thread without a limit: a reading that hangs is left alone.
#ifndef RINGSIDE_PLUGIN_TOPOLOGY_PROBE_H
#define RINGSIDE_PLUGIN_TOPOLOGY_PROBE_H

#include <atomic>
#include <chrono>
#include <optional>
#include <queue>
#include <string>
#include <utility>

#include "plugin/threads/mutex.h"
#include "plugin/topology/machine.h"
#include "plugin/topology/nvml.h"

namespace ringside::topology {

/// Reads the machine on the calling thread. `nvml` is opened if it is not (`is_open`). `stop` ends
/// the reading between two of its queries. `when_open` is called once NVML is open.
Machine read_machine(
    const std::string& sysfs_root, Nvml& nvml, bool& is_open, const std::atomic<bool>& stop,
    void (*when_open)() = [] {});

class Probe {
 public:
  /// The exit of the process waits so long for the last reading, and once more as long until a
  /// reading that it has stopped has left NVML.
  static constexpr std::chrono::milliseconds kPatienceAtExit{50};

  explicit Probe(std::string sysfs_root) : sysfs_root_(std::move(sysfs_root)) {}

  /// Starts the thread, which reads at once. False if there cannot be one. The object must never be
  /// destroyed afterwards. Called once.
  bool start();
  /// Has the machine read once more, soon, or behind the reading that is under way.
  void ask();
  /// The oldest reading that has ended and that nobody has taken.
  std::optional<Machine> take();
  /// How long the reading that is under way has lasted; nothing if none is.
  std::optional<std::chrono::nanoseconds> reads_for();

 private:
  static void* thread_main(void* self) noexcept;
  static void at_exit();
  void run();
  void read_last();

  const std::string sysfs_root_;
  Nvml nvml_;                  // the probe's thread's
  bool nvml_is_open_ = false;  // likewise
  std::atomic<bool> stop_{false};

  threads::Mutex mutex_;
  threads::Condition wake_;  ///< a reading is wanted
  threads::Condition done_;  ///< a reading has ended
  bool is_wanted_ RINGSIDE_GUARDED_BY(mutex_) = true;
  bool is_reading_ RINGSIDE_GUARDED_BY(mutex_) = false;
  bool has_ended_ RINGSIDE_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point began_ RINGSIDE_GUARDED_BY(mutex_);
  std::queue<Machine> read_ RINGSIDE_GUARDED_BY(mutex_);  ///< what nobody has taken yet
};

}  // namespace ringside::topology

#endif  // RINGSIDE_PLUGIN_TOPOLOGY_PROBE_H
