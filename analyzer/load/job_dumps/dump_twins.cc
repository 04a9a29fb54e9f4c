// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/job_dumps/dump_twins.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace ringside::load {
namespace {

// Calls visit(i, j) for the operations of both that have one record.
template <typename Visit>
void for_common_records(const model::TraceFile& a, const model::TraceFile& b, Visit visit) {
  for (std::size_t i = 0, j = 0; i < a.operations.size() && j < b.operations.size();) {
    const auto [of_a, of_b] = std::pair(a.operations.id(i), b.operations.id(j));
    if (of_a == of_b) {
      visit(i, j);
    }
    i += of_a <= of_b ? 1 : 0;
    j += of_b <= of_a ? 1 : 0;
  }
}

std::int64_t created_ns(const model::TraceFile& file, std::size_t index) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  return file.process.base_time_s * kNsPerSecond + file.operations.call_ns(index);
}

std::string_view comm_of(const model::TraceFile& file, const model::Operation& operation) {
  return *file.contexts.at(operation.context).comm;
}

// Two ranks of a large job may well make one call in the same nanosecond.
bool have_the_same_times(const model::TraceFile& a, const model::TraceFile& b) {
  std::size_t common = 0;
  std::size_t alike = 0;
  for_common_records(a, b, [&](std::size_t i, std::size_t j) {
    ++common;
    alike += created_ns(a, i) == created_ns(b, j) &&
                     comm_of(a, a.operations[i]) == comm_of(b, b.operations[j])
                 ? 1
                 : 0;
  });
  return alike >= 2 && 2 * alike > common;
}

bool is_doubtful(const model::TraceFile& file, std::uint64_t record) {
  return std::binary_search(file.doubtful.begin(), file.doubtful.end(), record);
}

// Its list of ranks may be damaged, which is told and mended later.
std::string_view name_of(std::string_view comm) {
  return comm.substr(0, comm.find(' '));
}

bool is_another_call(const model::TraceFile& a, std::size_t i, const model::TraceFile& b,
                     std::size_t j) {
  const model::Operation one = a.operations[i];
  const model::Operation other = b.operations[j];
  const auto terms_of = [](const model::Operation& of) {
    return std::tie(of.datatype, of.count, of.bytes, of.surplus);
  };
  return name_of(comm_of(a, one)) != name_of(comm_of(b, other)) ||
         std::tie(one.kind, one.func, one.peer) != std::tie(other.kind, other.func, other.peer) ||
         (!is_doubtful(a, one.id) && !is_doubtful(b, one.id) && terms_of(one) != terms_of(other));
}

// The first record of which dumps of one process tell different calls. Rings that have lost their
// begin may be of several processes, which have no call at the same time.
std::optional<std::uint64_t> contradiction_of(const model::TraceFile& a,
                                              const model::TraceFile& b) {
  bool is_one_process = false;
  std::optional<std::uint64_t> record;
  for_common_records(a, b, [&](std::size_t i, std::size_t j) {
    is_one_process = is_one_process || created_ns(a, i) == created_ns(b, j);
    if (!record && is_another_call(a, i, b, j)) {
      record = a.operations.id(i);
    }
  });
  return is_one_process ? record : std::nullopt;
}

// Why both cannot be right; empty if they can.
std::string conflict_of(const model::TraceFile& a, const model::TraceFile& b) {
  if (a.process.launcher_rank != b.process.launcher_rank) {
    return have_the_same_times(a, b)
               ? "its calls have the times of those in " + b.path + ", which has another rank"
               : "";
  }
  const auto record = contradiction_of(a, b);
  return record ? "its record " + std::to_string(*record) + " is another call than in " + b.path +
                      ", which is of the same process"
                : "";
}

}  // namespace

void leave_out_dump_twins(model::Traces& traces, model::Problems& problems) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> by_begin;
  std::map<std::int64_t, std::vector<std::size_t>> by_rank;
  for (std::size_t i = 0; i < traces.files.size(); ++i) {
    const model::Process& process = traces.files[i].process;
    if (!process.tells_begin && process.launcher_rank && !traces.files[i].operations.empty()) {
      by_begin[{process.base_time_s, process.start_ns}].push_back(i);
      by_rank[*process.launcher_rank].push_back(i);
    }
  }
  std::map<std::size_t, std::string> left_out;  // by file: why
  const auto compare = [&](const std::vector<std::size_t>& files) {
    for (const std::size_t i : files) {
      for (const std::size_t j : files) {
        const model::TraceFile& file = traces.files[i];
        const model::TraceFile& other = traces.files[j];
        const bool is_the_right_one = file.bad_lines == 0 && other.bad_lines > 0;
        if (i == j || is_the_right_one || left_out.contains(i)) {
          continue;
        }
        if (std::string why = conflict_of(file, other); !why.empty()) {
          left_out[i] = why + (other.bad_lines == 0 && file.bad_lines > 0
                                   ? " and is not damaged"
                                   : ": nothing shows which of them is right");
        }
      }
    }
  };
  for (const auto& [begin, files] : by_begin) {
    compare(files);
  }
  for (const auto& [rank, files] : by_rank) {
    compare(files);
  }
  for (const auto& [i, why] : left_out) {
    problems.add_file(traces.files[i].path, why);
  }
  std::size_t place = 0;
  std::erase_if(traces.files, [&](const auto&) { return left_out.contains(place++); });
}

}  // namespace ringside::load
