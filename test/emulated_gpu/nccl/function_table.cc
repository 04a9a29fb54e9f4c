// SPDX-License-Identifier: Apache-2.0
#include "function_table.h"

#include <array>
#include <map>

#include "cuda/log.h"

namespace emugpu::nccl {
namespace {

constexpr int kOperationCount = 5;
constexpr int kTypeCount = 12;

const int* table = nullptr;

constexpr std::array kGatherAlgorithms{Algorithm::kRing, Algorithm::kCollnetDirect,
                                       Algorithm::kNvls, Algorithm::kPat};
constexpr std::array kRingOnly{Algorithm::kRing};
constexpr std::array kReduceAlgorithms{Algorithm::kTree,          Algorithm::kRing,
                                       Algorithm::kCollnetDirect, Algorithm::kCollnetChain,
                                       Algorithm::kNvls,          Algorithm::kNvlsTree};

// Walks the rows in their order, which is that of the calls below.
class TableReader {
 public:
  void add(const Function& function) {
    const int id = table[row_++];
    if (id >= 0) functions_.emplace(static_cast<unsigned>(id), function);
  }

  template <std::size_t count>
  void add_copying(Collective collective, const std::array<Algorithm, count>& algorithms) {
    for (const Algorithm algorithm : algorithms) {
      for (int protocol = 0; protocol < kProtocolCount; ++protocol) {
        add(Function{collective, algorithm, Protocol{protocol}});
      }
    }
  }

  template <std::size_t count>
  void add_reducing(Collective collective, const std::array<Algorithm, count>& algorithms) {
    for (int operation = 0; operation < kOperationCount; ++operation) {
      for (int type = 0; type < kTypeCount; ++type) {
        for (const Algorithm algorithm : algorithms) {
          for (int protocol = 0; protocol < kProtocolCount; ++protocol) {
            add(Function{collective, algorithm, Protocol{protocol}, Operation{operation},
                         ElementType{type}});
          }
        }
      }
    }
  }

  std::map<unsigned, Function> finish() {
    // Two signs that the rows were read in the right order: the table ends here, and its numbers
    // leave no gap.
    const bool gapless = functions_.size() == functions_.rbegin()->first + std::size_t{1};
    if (table[row_] != -1 || !gapless) {
      fatal("the function table of this NCCL release has an order unknown to the emulation");
    }
    return std::move(functions_);
  }

 private:
  int row_ = 0;
  std::map<unsigned, Function> functions_;
};

std::map<unsigned, Function> read_table() {
  TableReader reader;
  reader.add(Function{Collective::kPointToPoint});
  reader.add_copying(Collective::kAllGather, kGatherAlgorithms);
  reader.add_copying(Collective::kBroadcast, kRingOnly);
  reader.add_copying(Collective::kBroadcastBatch, kRingOnly);
  reader.add_reducing(Collective::kAllReduce, kReduceAlgorithms);
  reader.add_reducing(Collective::kReduce, kRingOnly);
  reader.add_reducing(Collective::kReduceScatter, kGatherAlgorithms);
  return reader.finish();
}

}  // namespace

void set_function_table(const int* row_to_id) {
  table = row_to_id;
}

const Function& function_of(unsigned id) {
  static const auto* const functions = new std::map<unsigned, Function>(read_table());
  const auto found = functions->find(id);
  if (found == functions->end()) fatal("kernel asks for the unknown device function %u", id);
  return found->second;
}

}  // namespace emugpu::nccl
