// SPDX-License-Identifier: Apache-2.0
//
// An all-reduce that is captured in a CUDA graph once, and replayed --iterations times.
#include "collectives.h"
#include "scenarios.h"
#include "status.h"

namespace ranks {

void run_graph(Rank& rank) {
  constexpr std::size_t kCount = 65536;
  const Group& world = rank.world();
  Buffer sent(kCount);
  Buffer received(kCount);
  sent.fill(0, kCount, [&](std::size_t position) { return contribution(world.rank, position); });
  check(cudaStreamBeginCapture(world.stream, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  rank.begin_collective();
  {
    const CallLog::Entry entry(rank.log(), world, {"AllReduce", kCount});
    check(ncclAllReduce(sent.data(), received.data(), kCount, ncclFloat, ncclSum,
                        world.communicator, world.stream),
          "ncclAllReduce");
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamEndCapture(world.stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiateWithFlags(&executable, graph, 0), "cudaGraphInstantiateWithFlags");
  for (int i = 0; i < rank.options().iterations; ++i) {
    received.fill(0, kCount, [](std::size_t) { return -1.0F; });
    check(cudaGraphLaunch(executable, world.stream), "cudaGraphLaunch");
    rank.wait(world);
    if (rank.verifies()) {
      received.expect("an all-reduce in a graph", 0, kCount, reduced(ncclSum, world.size));
    }
  }
  check(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  rank.wait(world);
}

}  // namespace ranks
