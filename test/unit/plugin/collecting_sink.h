// SPDX-License-Identifier: Apache-2.0
//
// A sink that keeps what it is given.
#ifndef RINGSIDE_TEST_UNIT_PLUGIN_COLLECTING_SINK_H
#define RINGSIDE_TEST_UNIT_PLUGIN_COLLECTING_SINK_H

#include <vector>

#include "plugin/assemble/sink.h"

namespace ringside::test {

class CollectingSink final : public assemble::Sink {
 public:
  std::vector<assemble::Operation> operations;
  std::vector<assemble::Operation> operations_left_out;
  std::vector<assemble::Call> calls;
  std::vector<assemble::ProxyOpRow> proxy_ops;
  std::vector<assemble::StepRow> steps;
  std::vector<assemble::KernelRow> kernels;
  std::vector<assemble::NetRow> nets;
  std::vector<assemble::ControlRow> controls;
  std::vector<assemble::Communicator> communicators;
  std::vector<assemble::Mark> marks;
  std::uint64_t starts = 0;  ///< of all tallies
  std::uint64_t joined = 0;

  void operation(const assemble::Operation& row, const assemble::Communicator&,
                 const assemble::Tally& tally) override {
    operations.push_back(row);
    add(tally);
  }
  void left_out(const assemble::Operation& row, const assemble::Communicator&) override {
    operations_left_out.push_back(row);
  }
  void call(const assemble::Call& row, const assemble::Tally& tally) override {
    calls.push_back(row);
    add(tally);
  }
  void proxy_op(const assemble::ProxyOpRow& row, const assemble::Tally& tally) override {
    proxy_ops.push_back(row);
    add(tally);
  }
  void step(const assemble::StepRow& row, const assemble::Tally& tally) override {
    steps.push_back(row);
    add(tally);
  }
  void kernel(const assemble::KernelRow& row, const assemble::Tally& tally) override {
    kernels.push_back(row);
    add(tally);
  }
  void control(const assemble::ControlRow& row, const assemble::Tally& tally) override {
    controls.push_back(row);
    add(tally);
  }
  void net(const assemble::NetRow& row, const assemble::Tally& tally) override {
    nets.push_back(row);
    add(tally);
  }
  void copy_engine(const assemble::CopyEngineRow&, const assemble::Tally& tally) override {
    add(tally);
  }
  void mark(const assemble::Mark& row) override { marks.push_back(row); }
  void thread(std::int32_t, std::string_view) override {}
  void communicator(const assemble::Communicator& row) override { communicators.push_back(row); }
  void gpu_clock(std::uint32_t, const assemble::GpuClockFit&) override {}
  void complete_until(std::int64_t) override {}

 private:
  void add(const assemble::Tally& tally) {
    starts += tally.starts;
    joined += tally.joined;
  }
};

}  // namespace ringside::test

#endif  // RINGSIDE_TEST_UNIT_PLUGIN_COLLECTING_SINK_H
