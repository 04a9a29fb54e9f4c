// SPDX-License-Identifier: Apache-2.0
//
// The output of nccl-tests (all_reduce_perf and so on), as it is printed or as -J writes it: sizes,
// times and bandwidths. A printed text may hold several tests, and lines of others between them.
#ifndef RINGSIDE_ANALYZER_LOAD_IMPORTS_NCCL_TESTS_H
#define RINGSIDE_ANALYZER_LOAD_IMPORTS_NCCL_TESTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::load {

/// One result: what a size has reached, out of place or in place.
struct NcclTestResult {
  std::string function;          // as Ringside names it: "AllReduce", "SendRecv ring"
  std::uint32_t ranks = 0;       // of a communicator
  std::uint64_t size_bytes = 0;  // nccl-tests' size, not the message of one rank
  double busbw_gb_s = 0;

  bool operator==(const NcclTestResult&) const = default;
};

struct NcclTests {
  std::vector<NcclTestResult> results;  // in the order of the text
  std::vector<std::string> notes;       // what was left out, and why: sentences
};

/// Whether the text has a test of nccl-tests: its line of parameters ("nThread 1 nGpus 8
/// minBytes"), that of its columns, or bandwidths in JSON; or one of rccl-tests in JSON or CSV.
bool has_nccl_tests(std::string_view text);

/// `path`: may name the test ("all_reduce_perf.txt") where the text does not.
NcclTests read_nccl_tests(std::string_view text, std::string_view path);

/// The whole text of a file that has tests, decompressed if it is by gzip; nothing if the file
/// cannot be read, is a trace, is greater than 64 MiB, or has none.
std::optional<std::string> text_of_nccl_tests(const std::string& path);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_IMPORTS_NCCL_TESTS_H
