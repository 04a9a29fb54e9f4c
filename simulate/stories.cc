// SPDX-License-Identifier: Apache-2.0
#include "simulate/stories.h"

namespace ringside::simulate {
namespace {

constexpr int kRank = 5;  // the one that has the trouble

void come_late(Options& options) {
  Fault fault;
  fault.rank = kRank;
  fault.at = 40;
  fault.until = options.iterations;
  fault.delay_ns = 8'000'000;
  options.faults.push_back(fault);
}

// The detector of hangs writes dumps after two minutes.
void stop_calling(Options& options) {
  Fault fault;
  fault.kind = FaultKind::kHang;
  fault.rank = kRank;
  fault.at = 80;
  options.faults.push_back(fault);
  options.end = End::kDump;
  options.rest_ns = 120'000'000'000;
}

// Both types have the same size, so NCCL goes on with wrong numbers.
void take_other_type(Options& options) {
  Fault fault;
  fault.kind = FaultKind::kMismatch;
  fault.rank = kRank;
  fault.at = 160;  // an AllReduce, in iteration 81
  fault.what = "datatype";
  options.faults.push_back(fault);
}

// Links are compared with links: two hosts have too few of them.
void record_links(Options& options) {
  options.hosts = 4;
  options.ranks_per_host = 2;
  options.steps = true;
}

void slow_a_link(Options& options) {
  Fault fault;
  fault.kind = FaultKind::kSlowLink;
  fault.rank = 3;
  fault.to_rank = 4;
  fault.channel = 1;
  fault.factor = 8;
  options.faults.push_back(fault);
  record_links(options);
}

}  // namespace

const std::array<Story, 5> kStories = {{
    {"late", "Rank 5 computes 8 ms longer than the others from iteration 41 on.", "stragglers",
     come_late},
    {"hang", "Rank 5 stops in iteration 81, and all others wait for it.", "hang", stop_calling},
    {"mismatch", "Rank 5 calls one AllReduce with another datatype than the others.", "match",
     take_other_type},
    {"slow-link",
     "Of the links between four hosts, the one from rank 3 to rank 4 has a channel that is slow.",
     "network", slow_a_link},
    {"clean", "Nothing is wrong.", "summary", record_links},
}};

Options job_of(const Story& story) {
  Options options;
  options.job = "demo";
  options.iterations = 120;
  options.pattern = {{Function::kAllReduce, std::uint64_t{16} << 20U},
                     {Function::kAllGather, std::uint64_t{1} << 20U}};
  options.compute_ns = 20'000'000;
  options.jitter = 0.02;
  story.change(options);
  return options;
}

}  // namespace ringside::simulate
