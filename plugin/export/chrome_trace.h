// SPDX-License-Identifier: Apache-2.0
//
// Writes finished events as Chrome trace lines (docs/trace-format.md). Used by the drain thread.
#ifndef RINGSIDE_PLUGIN_EXPORT_CHROME_TRACE_H
#define RINGSIDE_PLUGIN_EXPORT_CHROME_TRACE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/assemble/sink.h"
#include "plugin/export/account.h"
#include "plugin/export/json_text.h"
#include "plugin/export/line_sink.h"
#include "plugin/export/process_facts.h"
#include "plugin/record/clock.h"

namespace ringside::exporting {

/// How a trace file ends.
struct TraceEnd {
  std::uint32_t next_segment = 0;  ///< the number of the one that goes on; 0: none does
  bool recovered = false;          ///< not by the process itself
  /// Of a process that lives: from its last sign of life to the moment at which its rings were
  /// read.
  std::optional<std::int64_t> silent_ns = std::nullopt;
  /// What the application marked and the trace has not, since the process began. A trace that the
  /// process has closed says nothing of none, so that of one that was recovered nothing means that
  /// it is not known.
  std::optional<std::uint64_t> marks_lost = std::nullopt, ranges_lost = std::nullopt;
};

class ChromeTrace final : public assemble::Sink {
 public:
  explicit ChromeTrace(LineSink& file) : file_(file) {}

  /// The first line, and Chrome's own lines that name the process.
  void begin(const ProcessFacts& facts, bool dump);
  /// Instead of begin: the file holds the beginning of this trace already.
  void resume(int pid, std::uint64_t run_id);
  /// The last line and the closing bracket.
  void end(std::int64_t ts_ns, std::uint64_t operations, const TraceEnd& how = {});
  /// The first line with its newline, behind which is what a dump copies.
  const std::string& first_line() const { return first_line_; }

  void clock(const record::ClockReading& reading, std::int64_t ts_ns);
  /// With `repeated` it was said in the segment before, and its mark is not set again.
  void window(std::uint32_t number, std::int64_t start_ns, std::int64_t end_ns,
              const std::vector<std::string_view>& events, bool repeated = false);
  void account(const Account& account, std::int64_t ts_ns, bool final);
  /// What happened to the process as a whole.
  void mark_process(std::int64_t ts_ns, std::string_view text);

  void operation(const assemble::Operation& operation, const assemble::Communicator& communicator,
                 const assemble::Tally& tally) override;
  void call(const assemble::Call& call, const assemble::Tally& tally) override;
  void proxy_op(const assemble::ProxyOpRow& row, const assemble::Tally& tally) override;
  void step(const assemble::StepRow& row, const assemble::Tally& tally) override;
  void kernel(const assemble::KernelRow& row, const assemble::Tally& tally) override;
  void control(const assemble::ControlRow& row, const assemble::Tally& tally) override;
  void net(const assemble::NetRow& row, const assemble::Tally& tally) override;
  void copy_engine(const assemble::CopyEngineRow& row, const assemble::Tally& tally) override;
  void mark(const assemble::Mark& mark) override;
  void thread(std::int32_t tid, std::string_view name) override;
  void communicator(const assemble::Communicator& communicator) override;
  void gpu_clock(std::uint32_t context, const assemble::GpuClockFit& fit) override;
  void complete_until(std::int64_t ts_ns) override;

 private:
  struct Labels {
    std::string communicator;  ///< row of its operations
    std::string prefix;        ///< "rank 2 " where the process has several ranks
    int rank = 0;
    bool has_hash = false;
    std::uint64_t hash = 0;
    std::string own;  ///< communicator's name without the rank
    std::int64_t last_busbw_end_ns = 0;
    std::uint64_t bytes_in_flight = 0;
    bool is_closed = false;
    /// Of bytes in flight, the earliest on top.
    struct Change {
      std::int64_t ts_ns;
      std::int64_t bytes;
      bool operator>(const Change& other) const { return ts_ns > other.ts_ns; }
    };
    std::priority_queue<Change, std::vector<Change>, std::greater<>> changes;
  };
  Labels& labels(std::uint32_t context);
  void relabel(Labels& of) const;
  void note_rank(Labels& of, const assemble::Communicator& communicator);

  JsonText& metadata(std::string_view name, std::string_view before = {});
  void name_row(std::uint32_t context, std::string_view what, int channel);
  JsonText& begin_slice(std::string_view category, std::string_view name, std::int32_t tid,
                        std::int64_t start_ns, std::int64_t end_ns);
  JsonText& begin_async(char phase, std::string_view category, std::string_view name,
                        std::uint64_t id, std::int32_t tid, std::int64_t ts_ns);
  void instant(const assemble::Mark& mark);
  void range(const assemble::Mark& mark);
  void end_line(const assemble::Tally& tally);
  void end_row(std::string_view category, std::string_view name, const assemble::Row& row,
               const assemble::Tally& tally);
  void operation_args(const assemble::Operation& operation,
                      const assemble::Communicator& communicator);
  void counter(std::string_view name, std::string_view unit, std::int64_t ts_ns, double value);
  void bandwidth_counter(const assemble::Operation& operation,
                         const assemble::Communicator& communicator);
  void write_changes(Labels& of, std::int64_t until_ns);

  LineSink& file_;
  JsonText line_;
  std::string row_name_;
  std::vector<Labels> labels_;
  struct OneRank {
    int rank = 0;
    std::size_t contexts = 0;
  };
  /// By hash, the rank that all contexts of a communicator have until several_ranks_.
  std::unordered_map<std::uint64_t, OneRank> ranks_;
  std::set<std::uint32_t> changing_;  ///< contexts with changes of bytes in flight
  std::uint64_t run_id_ = 0;
  std::string first_line_;
  int pid_ = 0;
  bool several_ranks_ = false;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_CHROME_TRACE_H
