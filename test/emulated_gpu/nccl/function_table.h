// SPDX-License-Identifier: Apache-2.0
//
// The meaning of NCCL's device function numbers, by which a kernel's work batch names its work.
#pragma once

#include "abi.h"

namespace emugpu::nccl {

enum class Collective {
  kPointToPoint,
  kAllGather,
  kBroadcast,
  kBroadcastBatch,
  kAllReduce,
  kReduce,
  kReduceScatter,
};

// Numbered as NCCL's algorithms, operations and data types are.
enum class Algorithm { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat };
enum class Operation { kSum, kProduct, kMinimumOrMaximum, kScaledSum, kSumThenDivide };
enum class ElementType {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
  kBfloat16,
  kFloat8E4m3,
  kFloat8E5m2,
};

struct Function {
  Collective collective = Collective::kPointToPoint;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = kSimple;
  // Copying collectives are defined on bytes.
  Operation operation = Operation::kSum;
  ElementType type = ElementType::kUint8;
};

// NCCL's host code numbers every (collective, operation, type, algorithm, protocol) with a row, and
// this table gives each row's function number: -1 where there is no such function, and once more
// after the last row. Once, before the first kernel.
void set_function_table(const int* row_to_id);

// Returns the function of this number. If several types share one function (a sum of int32 is that
// of uint32), it has any of them: the others behave alike.
const Function& function_of(unsigned id);

}  // namespace emugpu::nccl
