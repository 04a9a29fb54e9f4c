// SPDX-License-Identifier: Apache-2.0
#include "collectives.h"

#include <algorithm>
#include <cmath>

#include "status.h"
#include "tagged.h"

namespace ranks {
namespace {

Values of_rank(int rank) {
  return [rank](std::size_t position) { return contribution(rank, position); };
}

// Averages are computed in the element's own type.
double tolerance_of(ncclDataType_t type, ncclRedOp_t operation) {
  if (operation != ncclAvg) return 0;
  switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
      return 0.05;
    case ncclFloat32:
    case ncclFloat64:
      return 1e-5;
    default:
      return 0;
  }
}

bool is_integer(ncclDataType_t type) {
  return type <= ncclUint64;
}

int next(const Group& group) {
  return (group.rank + 1) % group.size;
}
int previous(const Group& group) {
  return (group.rank + group.size - 1) % group.size;
}

void verify(const Rank& rank, const Buffer& buffer, const char* what, std::size_t begin,
            std::size_t count, const Values& values, double tolerance = 0) {
  if (rank.verifies()) buffer.expect(what, begin, count, values, tolerance);
}

void start_group() {
  check(ncclGroupStart(), "ncclGroupStart");
}
void end_group() {
  check(ncclGroupEnd(), "ncclGroupEnd");
}

void call_all_reduce(Rank& rank, const Group& group, const Buffer& input, const Buffer& output,
                     std::size_t count, ncclDataType_t type = ncclFloat,
                     ncclRedOp_t operation = ncclSum) {
  rank.begin_collective();
  const std::size_t asked = rank.all_reduce_count(count);
  const std::uint64_t tag = rank.options().user_tag;
  const CallLog::Entry entry(rank.log(), group, {"AllReduce", asked, type, Partner::kNone, 0, tag});
  const ncclResult_t result =
      tag == 0 ? ncclAllReduce(input.data(), output.data(), asked, type, operation,
                               group.communicator, group.stream)
               : all_reduce_with_tag(input.data(), output.data(), asked, type, operation,
                                     group.communicator, group.stream, tag);
  check(result, "ncclAllReduce");
}

void call_shift(Rank& rank, const Group& group, const Buffer& input, const Buffer& output,
                std::size_t count) {
  rank.begin_collective();
  start_group();
  const CallLog::Entry send(rank.log(), group,
                            {"Send", count, ncclFloat, Partner::kPeer, next(group)});
  const CallLog::Entry receive(rank.log(), group,
                               {"Recv", count, ncclFloat, Partner::kPeer, previous(group)});
  check(ncclSend(input.data(), count, ncclFloat, next(group), group.communicator, group.stream),
        "ncclSend");
  check(
      ncclRecv(output.data(), count, ncclFloat, previous(group), group.communicator, group.stream),
      "ncclRecv");
  end_group();
}

}  // namespace

Values reduced(ncclRedOp_t operation, int size) {
  return [operation, size](std::size_t position) {
    double result = contribution(0, position);
    for (int rank = 1; rank < size; ++rank) {
      const double value = contribution(rank, position);
      switch (operation) {
        case ncclMin:
          result = std::min(result, value);
          break;
        case ncclMax:
          result = std::max(result, value);
          break;
        case ncclProd:
          result *= value;
          break;
        default:
          result += value;
          break;
      }
    }
    return operation == ncclAvg ? result / size : result;
  };
}

void all_reduce(Rank& rank, const Group& group, std::size_t count, ncclDataType_t type,
                ncclRedOp_t operation, Placement placement) {
  Buffer input(count, type);
  Buffer separate(count, type);
  Buffer& output = placement == Placement::kInPlace ? input : separate;
  input.fill(0, count, of_rank(group.rank));
  call_all_reduce(rank, group, input, output, count, type, operation);
  rank.wait(group);
  const Values exact = reduced(operation, group.size);
  const Values expected = [&](std::size_t position) {
    return is_integer(type) ? std::trunc(exact(position)) : exact(position);
  };
  verify(rank, output, "all-reduce", 0, count, expected, tolerance_of(type, operation));
}

void reduce_scatter(Rank& rank, const Group& group, std::size_t count, Placement placement) {
  const auto size = static_cast<std::size_t>(group.size);
  const auto own = static_cast<std::size_t>(group.rank) * count;
  Buffer input(count * size);
  Buffer separate(count);
  const bool in_place = placement == Placement::kInPlace;
  for (std::size_t i = 0; i < size; ++i) input.fill(i * count, count, of_rank(group.rank));
  void* const output = in_place ? input.at(own) : separate.data();
  rank.begin_collective();
  const CallLog::Entry entry(rank.log(), group, {"ReduceScatter", count});
  check(ncclReduceScatter(input.data(), output, count, ncclFloat, ncclSum, group.communicator,
                          group.stream),
        "ncclReduceScatter");
  rank.wait(group);
  verify(rank, in_place ? input : separate, "reduce-scatter", in_place ? own : 0, count,
         reduced(ncclSum, group.size));
}

void all_gather(Rank& rank, const Group& group, std::size_t count, Placement placement) {
  const auto size = static_cast<std::size_t>(group.size);
  const auto own = static_cast<std::size_t>(group.rank) * count;
  Buffer separate(count);
  Buffer output(count * size);
  const bool in_place = placement == Placement::kInPlace;
  (in_place ? output : separate).fill(in_place ? own : 0, count, of_rank(group.rank));
  const void* const input = in_place ? output.at(own) : separate.data();
  rank.begin_collective();
  const CallLog::Entry entry(rank.log(), group, {"AllGather", count});
  check(ncclAllGather(input, output.data(), count, ncclFloat, group.communicator, group.stream),
        "ncclAllGather");
  rank.wait(group);
  for (int i = 0; i < group.size; ++i) {
    verify(rank, output, "all-gather", static_cast<std::size_t>(i) * count, count, of_rank(i));
  }
}

void broadcast(Rank& rank, const Group& group, std::size_t count, int root, Placement placement) {
  Buffer input(count);
  Buffer separate(count);
  Buffer& output = placement == Placement::kInPlace ? input : separate;
  input.fill(0, count, of_rank(group.rank));
  rank.begin_collective();
  const CallLog::Entry entry(rank.log(), group,
                             {"Broadcast", count, ncclFloat, Partner::kRoot, root});
  check(ncclBroadcast(input.data(), output.data(), count, ncclFloat, root, group.communicator,
                      group.stream),
        "ncclBroadcast");
  rank.wait(group);
  verify(rank, output, "broadcast", 0, count, of_rank(root));
}

void reduce(Rank& rank, const Group& group, std::size_t count, int root) {
  Buffer input(count);
  Buffer output(count);
  input.fill(0, count, of_rank(group.rank));
  rank.begin_collective();
  const CallLog::Entry entry(rank.log(), group, {"Reduce", count, ncclFloat, Partner::kRoot, root});
  check(ncclReduce(input.data(), output.data(), count, ncclFloat, ncclSum, root, group.communicator,
                   group.stream),
        "ncclReduce");
  rank.wait(group);
  if (group.rank == root) verify(rank, output, "reduce", 0, count, reduced(ncclSum, group.size));
}

void all_to_all(Rank& rank, const Group& group, std::size_t count) {
  const auto size = static_cast<std::size_t>(group.size);
  Buffer input(count * size);
  Buffer output(count * size);
  // The block for each peer differs, so that a mix-up would show.
  for (int i = 0; i < group.size; ++i) {
    input.fill(static_cast<std::size_t>(i) * count, count, of_rank(group.rank + 3 * i));
  }
  rank.begin_collective();
  start_group();
  for (int peer = 0; peer < group.size; ++peer) {
    const auto block = static_cast<std::size_t>(peer) * count;
    const CallLog::Entry send(rank.log(), group, {"Send", count, ncclFloat, Partner::kPeer, peer});
    const CallLog::Entry receive(rank.log(), group,
                                 {"Recv", count, ncclFloat, Partner::kPeer, peer});
    check(ncclSend(input.at(block), count, ncclFloat, peer, group.communicator, group.stream),
          "ncclSend");
    check(ncclRecv(output.at(block), count, ncclFloat, peer, group.communicator, group.stream),
          "ncclRecv");
  }
  end_group();
  rank.wait(group);
  for (int i = 0; i < group.size; ++i) {
    verify(rank, output, "all-to-all", static_cast<std::size_t>(i) * count, count,
           of_rank(i + 3 * group.rank));
  }
}

void ring_shift(Rank& rank, const Group& group, std::size_t count) {
  Buffer input(count);
  Buffer output(count);
  input.fill(0, count, of_rank(group.rank));
  call_shift(rank, group, input, output, count);
  rank.wait(group);
  verify(rank, output, "ring shift", 0, count, of_rank(previous(group)));
}

void grouped_all_reduces(Rank& rank, const Group& group, std::size_t count) {
  Buffer input(count);
  Buffer sum(count);
  Buffer maximum(count);
  input.fill(0, count, of_rank(group.rank));
  start_group();
  call_all_reduce(rank, group, input, sum, count);
  call_all_reduce(rank, group, input, maximum, count, ncclFloat, ncclMax);
  end_group();
  rank.wait(group);
  verify(rank, sum, "grouped sum", 0, count, reduced(ncclSum, group.size));
  verify(rank, maximum, "grouped maximum", 0, count, reduced(ncclMax, group.size));
}

void grouped_broadcasts(Rank& rank, const Group& group, std::size_t count) {
  const auto size = static_cast<std::size_t>(group.size);
  Buffer buffer(count * size);
  buffer.fill(static_cast<std::size_t>(group.rank) * count, count, of_rank(group.rank));
  start_group();
  for (int root = 0; root < group.size; ++root) {
    char* const block = buffer.at(static_cast<std::size_t>(root) * count);
    rank.begin_collective();
    const CallLog::Entry entry(rank.log(), group,
                               {"Broadcast", count, ncclFloat, Partner::kRoot, root});
    check(ncclBroadcast(block, block, count, ncclFloat, root, group.communicator, group.stream),
          "ncclBroadcast");
  }
  end_group();
  rank.wait(group);
  for (int root = 0; root < group.size; ++root) {
    verify(rank, buffer, "grouped broadcast", static_cast<std::size_t>(root) * count, count,
           of_rank(root));
  }
}

void grouped_mixture(Rank& rank, const Group& group, std::size_t count) {
  Buffer input(count);
  Buffer sum(count);
  Buffer shifted(count);
  Buffer gathered(count * static_cast<std::size_t>(group.size));
  input.fill(0, count, of_rank(group.rank));
  start_group();
  call_all_reduce(rank, group, input, sum, count);
  call_shift(rank, group, input, shifted, count);
  rank.begin_collective();
  const CallLog::Entry entry(rank.log(), group, {"AllGather", count});
  check(ncclAllGather(input.data(), gathered.data(), count, ncclFloat, group.communicator,
                      group.stream),
        "ncclAllGather");
  end_group();
  rank.wait(group);
  verify(rank, sum, "mixture's all-reduce", 0, count, reduced(ncclSum, group.size));
  verify(rank, shifted, "mixture's shift", 0, count, of_rank(previous(group)));
  for (int i = 0; i < group.size; ++i) {
    verify(rank, gathered, "mixture's all-gather", static_cast<std::size_t>(i) * count, count,
           of_rank(i));
  }
}

void all_reduce_burst(Rank& rank, const Group& group, std::size_t count, int calls) {
  Buffer input(count);
  Buffer output(count);
  input.fill(0, count, of_rank(group.rank));
  for (int i = 0; i < calls; ++i) call_all_reduce(rank, group, input, output, count);
  rank.wait(group);
  verify(rank, output, "burst", 0, count, reduced(ncclSum, group.size));
}

}  // namespace ranks
