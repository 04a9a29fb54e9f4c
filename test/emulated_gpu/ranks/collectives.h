// SPDX-License-Identifier: Apache-2.0
//
// Single collectives: each allocates its buffers, calls NCCL, waits and verifies the result.
#pragma once

#include "buffer.h"
#include "rank.h"

namespace ranks {

enum class Placement { kOutOfPlace, kInPlace };

// Counts are per rank.
void all_reduce(Rank& rank, const Group& group, std::size_t count, ncclDataType_t type = ncclFloat,
                ncclRedOp_t operation = ncclSum, Placement placement = Placement::kOutOfPlace);
void reduce_scatter(Rank& rank, const Group& group, std::size_t count,
                    Placement placement = Placement::kOutOfPlace);
void all_gather(Rank& rank, const Group& group, std::size_t count,
                Placement placement = Placement::kOutOfPlace);
void broadcast(Rank& rank, const Group& group, std::size_t count, int root,
               Placement placement = Placement::kOutOfPlace);
void reduce(Rank& rank, const Group& group, std::size_t count, int root);
void all_to_all(Rank& rank, const Group& group, std::size_t count);
void ring_shift(Rank& rank, const Group& group, std::size_t count);

// Several operations between ncclGroupStart and ncclGroupEnd.
void grouped_all_reduces(Rank& rank, const Group& group, std::size_t count);
void grouped_broadcasts(Rank& rank, const Group& group, std::size_t count);
void grouped_mixture(Rank& rank, const Group& group, std::size_t count);

// Many calls before the first wait.
void all_reduce_burst(Rank& rank, const Group& group, std::size_t count, int calls);

// The result of a reduction over the group's contributions.
Values reduced(ncclRedOp_t operation, int size);

}  // namespace ranks
