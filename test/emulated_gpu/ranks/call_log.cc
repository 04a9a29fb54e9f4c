// SPDX-License-Identifier: Apache-2.0
#include "call_log.h"

#include <sstream>
#include <stdexcept>
#include <time.h>

#include "buffer.h"
#include "rank.h"

namespace ranks {

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

CallLog::CallLog(const std::string& path) {
  if (path.empty()) return;
  file_.open(path);
  if (!file_) throw std::runtime_error("cannot write " + path);
}

CallLog::Entry::Entry(CallLog& log, const Group& group, const Call& call)
    : log_(log), group_(group), call_(call), begin_(monotonic_ns()) {}

CallLog::Entry::~Entry() {
  log_.add(group_, call_, begin_, monotonic_ns());
}

void CallLog::add(const Group& group, const Call& call, std::int64_t begin, std::int64_t end) {
  if (!file_.is_open()) return;
  const std::lock_guard lock(mutex_);
  const long sequence = sequence_[{group.name, call.function}]++;
  file_ << R"({"comm":")" << group.name << R"(","rank":)" << group.rank << R"(,"nranks":)"
        << group.size << R"(,"func":")" << call.function << R"(","seq":)" << sequence
        << R"(,"count":)" << call.count << R"(,"datatype":")" << nccl_name_of(call.type)
        << R"(","bytes":)" << call.count * size_of(call.type);
  if (call.partner == Partner::kRoot) file_ << R"(,"root":)" << call.partner_rank;
  if (call.partner == Partner::kPeer) file_ << R"(,"peer":)" << call.partner_rank;
  if (call.user_tag != 0)
    file_ << R"(,"user_tag":")" << std::hex << "0x" << call.user_tag << std::dec << '"';
  // Flushed, since ranks get killed.
  file_ << R"(,"begin_ns":)" << begin << R"(,"end_ns":)" << end << "}" << std::endl;
  issued_.push_back({group.name, call.function, sequence, begin, end});
}

void CallLog::waited(const Group& group, std::int64_t begin) {
  if (!file_.is_open()) return;
  const std::lock_guard lock(mutex_);
  file_ << R"({"waited":")" << group.name << R"(","rank":)" << group.rank << R"(,"begin_ns":)"
        << begin << R"(,"end_ns":)" << monotonic_ns() << "}" << std::endl;
}

void CallLog::control(const char* what, int window, std::int64_t begin, int result) {
  if (!file_.is_open()) return;
  const std::lock_guard lock(mutex_);
  file_ << R"({"control":")" << what << R"(","window":)" << window << R"(,"result":)" << result
        << R"(,"begin_ns":)" << begin << R"(,"end_ns":)" << monotonic_ns() << "}" << std::endl;
}

std::string CallLog::calls_between(const Group& group, std::int64_t begin, std::int64_t end) {
  std::map<std::string, std::pair<long, long>> ranges;
  const std::lock_guard lock(mutex_);
  for (const Issued& issued : issued_) {
    if (issued.communicator != group.name || issued.begin < begin || issued.end > end) continue;
    const auto [range, is_new] =
        ranges.try_emplace(issued.function, issued.sequence, issued.sequence);
    if (!is_new) range->second.second = issued.sequence;
  }
  std::ostringstream text;
  for (const auto& [function, range] : ranges) {
    text << (text.tellp() > 0 ? ", " : "") << function << " " << range.first << " to "
         << range.second;
  }
  return text.str();
}

}  // namespace ranks
