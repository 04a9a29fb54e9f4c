// SPDX-License-Identifier: Apache-2.0
//
// The work that a block can be asked to do. Each coroutine keeps copies of what it is given.
#pragma once

#include <vector>

#include "abi.h"
#include "function_table.h"
#include "primitives.h"

namespace emugpu::nccl {

Task run_collective(Block& block, const Function& function, CollectiveWork work);

// All transfers of one batch, side by side.
Task run_point_to_point(Block& block, std::vector<PointToPointWork> works);

// All broadcasts of one batch, a chunk of each in turn, around the ring.
Task run_broadcasts(Block& block, const Function& function, std::vector<BroadcastWork> works);

}  // namespace emugpu::nccl
