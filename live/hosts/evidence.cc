// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/evidence.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "live/hosts/running_command.h"
#include "live/ras_client.h"
#include "live/watch/moment.h"

namespace ringside::live {
namespace {

constexpr std::size_t kMostEvidenceLines = 20;
constexpr std::int64_t kEvidenceSecondNs = 1'000'000'000;
constexpr std::int64_t kEvidenceHourNs = 3600 * kEvidenceSecondNs;
constexpr std::array<std::string_view, 2> kTroubles = {"NVRM: Xid",
                                                       "Out of memory: Killed process"};

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kEvidenceSecondNs + now.tv_nsec;
}

// All records of the kernel's log. `reason` is why it cannot be read.
std::string read_kmsg(std::string& reason) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  const int file = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    reason = std::string("/dev/kmsg: ") + std::strerror(errno);
    return {};
  }
  std::string records;
  std::array<char, 8192> record;  // the kernel's bound of one
  while (records.size() < kMostBytes) {
    const ssize_t got = read(file, record.data(), record.size());
    if (got > 0) {
      records.append(record.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EPIPE) {  // EPIPE: records were overwritten meanwhile
      reason = got == 0 || errno == EAGAIN ? "" : std::string("/dev/kmsg: ") + std::strerror(errno);
      break;
    }
  }
  close(file);
  return records;
}

// The journal, which members of some groups may read where the kernel's own log is closed to them.
Evidence kernel_by_journal(std::chrono::milliseconds timeout, const std::string& why) {
  std::vector<HostCommand> commands(1);
  commands[0].words = {"journalctl", "--dmesg", "--quiet", "--no-pager", "--since=-1h"};
  commands[0].words.insert(commands[0].words.end(), {"--lines=20", "--output=short-iso-precise"});
  commands[0].words.emplace_back("--grep=NVRM: Xid|Out of memory: Killed process");
  run_all(commands, 1, timeout);
  constexpr std::string_view kNothing = "ended with status 1";  // of --grep, where nothing fits
  Evidence evidence{"kernel", commands[0].output, ""};
  if (!commands[0].error.empty() && commands[0].error != kNothing) {
    evidence.reason = why + "; journalctl " + commands[0].error;
  }
  return evidence;
}

Evidence of_kernel(std::chrono::milliseconds timeout) {
  std::string reason;
  const std::string records = read_kmsg(reason);
  if (!reason.empty()) {
    return kernel_by_journal(timeout, reason);
  }
  const std::int64_t now_ns = clock_ns(CLOCK_REALTIME);
  return {"kernel",
          kernel_troubles(records, now_ns - clock_ns(CLOCK_BOOTTIME), now_ns - kEvidenceHourNs),
          ""};
}

Evidence of_ras(std::chrono::milliseconds timeout) {
  constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  const char* const set = std::getenv("NCCL_RAS_ADDR");  // NOLINT(concurrency-mt-unsafe)
  const std::string address = set != nullptr && *set != '\0' ? set : "localhost:28028";
  RasAnswer answer = ask_ras(address, timeout);
  if (answer.text.size() > kMostBytes) {
    answer = {"", "its answer is larger than 8 MiB: `ringside ras` there reads it"};
  }
  return {"ras", std::move(answer.text),
          answer.error.empty() ? "" : address + ": " + std::move(answer.error)};
}

// Dumps where PyTorch writes them by default, of the last hour.
Evidence of_flight_recorder() {
  namespace fs = std::filesystem;
  std::vector<std::pair<fs::file_time_type, std::string>> dumps;
  std::error_code error;
  const auto since = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator entry("/tmp", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const fs::file_time_type written = entry->last_write_time(gone);
    if (!gone && written >= since &&
        entry->path().filename().string().starts_with("nccl_trace_rank_")) {
      dumps.emplace_back(written, entry->path().string());
    }
  }
  std::sort(dumps.rbegin(), dumps.rend());
  Evidence evidence{"flight_recorder", "", error ? "/tmp: " + error.message() : ""};
  for (std::size_t i = 0; i < dumps.size() && i < kMostEvidenceLines; ++i) {
    evidence.text += dumps[i].second + '\n';
  }
  return evidence;
}

}  // namespace

std::string kernel_troubles(std::string_view kmsg, std::int64_t boot_ns, std::int64_t since_ns) {
  std::deque<std::string> lines;
  while (!kmsg.empty()) {
    const std::string_view line = kmsg.substr(0, kmsg.find('\n'));
    kmsg.remove_prefix(std::min(line.size() + 1, kmsg.size()));
    // "priority,number,microseconds since boot,flags;text"; lines that begin with a blank belong to
    // the one before.
    const std::size_t text = line.find(';');
    const bool is_trouble = text != std::string_view::npos &&
                            std::any_of(kTroubles.begin(), kTroubles.end(), [&](auto trouble) {
                              return line.find(trouble, text) != std::string_view::npos;
                            });
    const std::size_t second = is_trouble ? line.find(',', line.find(',') + 1) : text;
    if (!is_trouble || second >= text) {
      continue;
    }
    std::int64_t since_boot_us = 0;
    std::from_chars(line.data() + second + 1, line.data() + text, since_boot_us);
    const std::int64_t at_ns = boot_ns + since_boot_us * 1000;
    if (at_ns < since_ns) {
      continue;
    }
    lines.push_back(moment_text(at_ns) + ' ' + std::string(line.substr(text + 1)) + '\n');
    if (lines.size() > kMostEvidenceLines) {
      lines.pop_front();
    }
  }
  std::string made;
  for (const std::string& line : lines) {
    made += line;
  }
  return made;
}

std::vector<Evidence> evidence_here(std::chrono::milliseconds timeout) {
  return {of_kernel(timeout), of_ras(timeout), of_flight_recorder()};
}

}  // namespace ringside::live
