// SPDX-License-Identifier: Apache-2.0
//
// The calls of a rank to NCCL, as lines of JSON: a profiler's trace is held against them. The log
// is written where the calls are made and knows nothing of profilers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <nccl.h>
#include <string>
#include <utility>
#include <vector>

namespace ranks {

struct Group;

// CLOCK_MONOTONIC.
std::int64_t monotonic_ns();

// Kind of the number that some calls have besides a count.
enum class Partner { kNone, kRoot, kPeer };

struct Call {
  const char* function;
  std::size_t count;
  ncclDataType_t type = ncclFloat;
  Partner partner = Partner::kNone;
  int partner_rank = 0;
  std::uint64_t user_tag = 0;
};

class CallLog {
 public:
  // An empty path: nothing is logged.
  explicit CallLog(const std::string& path);

  // A call of NCCL while the object lives.
  class Entry {
   public:
    Entry(CallLog& log, const Group& group, const Call& call);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    CallLog& log_;
    const Group& group_;
    const Call call_;
    const std::int64_t begin_;
  };

  // Everything called on the group before `begin` has ended by now.
  void waited(const Group& group, std::int64_t begin);

  // A call of the profiler.
  void control(const char* what, int window, std::int64_t begin, int result);

  // Sequence numbers of each function's first and last call on the group called after one time and
  // returned before the other, as text; for people.
  std::string calls_between(const Group& group, std::int64_t begin, std::int64_t end);

 private:
  struct Issued {
    std::string communicator;
    std::string function;
    long sequence;
    std::int64_t begin;
    std::int64_t end;
  };

  void add(const Group& group, const Call& call, std::int64_t begin, std::int64_t end);

  std::mutex mutex_;
  std::ofstream file_;
  std::map<std::pair<std::string, std::string>, long> sequence_;
  std::vector<Issued> issued_;
};

}  // namespace ranks
