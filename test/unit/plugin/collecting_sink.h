// SPDX-License-Identifier: Apache-2.0
//
// A sink that keeps what it is given.
#ifndef RINGSIDE_TEST_UNIT_PLUGIN_COLLECTING_SINK_H
#define RINGSIDE_TEST_UNIT_PLUGIN_COLLECTING_SINK_H

#include <functional>
#include <vector>

#include "plugin/assemble/sink.h"

namespace ringside::test {

class CollectingSink final : public assemble::Sink {
 public:
  std::vector<assemble::Operation> operations;
  std::vector<assemble::Operation> operations_sampled_out;
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
  std::function<void(const assemble::Tally&)> on_row = [](const assemble::Tally&) {};

  void row(const assemble::Row& row, const assemble::Tally& tally) override {
    on_row(tally);
    std::visit(assemble::Overloaded{
                   [&](const assemble::OperationRow& of) { operations.push_back(*of.operation); },
                   [&](const assemble::Call* call) { calls.push_back(*call); },
                   [&](const assemble::ProxyOpRow* proxy) { proxy_ops.push_back(*proxy); },
                   [&](const assemble::StepRow* step) { steps.push_back(*step); },
                   [&](const assemble::KernelRow* kernel) { kernels.push_back(*kernel); },
                   [&](const assemble::ControlRow* control) { controls.push_back(*control); },
                   [&](const assemble::NetRow* net) { nets.push_back(*net); },
                   [&](const assemble::Mark* mark) { marks.push_back(*mark); },
                   [](const assemble::CopyEngineRow*) {}},
               row);
    starts += tally.starts;
    joined += tally.joined;
  }
  void sampled_out(const assemble::Row& row) override {
    if (const auto* const of = std::get_if<assemble::OperationRow>(&row)) {
      operations_sampled_out.push_back(*of->operation);
    }
  }
  void range_begins(const assemble::Mark& range) override { marks.push_back(range); }
  void thread(std::int32_t, std::string_view) override {}
  void communicator(const assemble::Communicator& row) override { communicators.push_back(row); }
  void gpu_clock(std::uint32_t, const assemble::GpuClockFit&) override {}
};

}  // namespace ringside::test

#endif  // RINGSIDE_TEST_UNIT_PLUGIN_COLLECTING_SINK_H
