// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/inspector_feed.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <set>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "live/hosts/dump_file.h"
#include "live/json_members.h"
#include "plugin/assemble/message_bytes.h"
#include "ringside/trace_schema.h"

namespace ringside::live {
namespace {

constexpr std::string_view kSocket = "unix:";

// TRACE.json, TRACE.s000002.json, ...
std::string segment_path(std::string path, std::int64_t number) {
  const std::size_t end = path.rfind(".json");
  const std::size_t part = path.rfind(".s", end);
  const bool has_part =
      part < end && end < path.size() && path.find_first_not_of("0123456789", part + 2) == end;
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), ".s%06lld", static_cast<long long>(number));
  return end == path.npos
             ? path
             : path.replace(has_part ? part : end, has_part ? end - part : 0, name.data());
}

}  // namespace

/// Makes lines of Inspector of the lines of a trace.
class InspectorFeed::Lines {
 public:
  explicit Lines(std::int64_t since_ns) : since_ns_(since_ns) {}

  void add(std::string_view line, std::string& made) {
    if (line.find(R"("cat":"op")") == line.npos && line.find(R"("ringside_)") == line.npos) {
      return;
    }
    line.remove_prefix(line.starts_with('[') ? 1 : 0);
    line.remove_suffix(line.ends_with(',') ? 1 : 0);
    JsonObject event;
    JsonObject args;
    if (parser_.parse(line.data(), line.size()).get(event) == simdjson::SUCCESS &&
        take(event, "args", args)) {
      const std::string name = text_of(event, "name");
      if (name == schema::kLineTrace) {
        begin_file(args);
      } else if (name == schema::kLineCommunicator) {
        begin_communicator(args);
      } else if (name == schema::kLineEnd) {
        next_segment_ = integer_of(args, "next_segment").value_or(0);
      } else if (text_of(event, "cat") == schema::kCategoryOperation) {
        add_operation(args, made);
      }
    }
  }

  /// Of the file that is read; 0: it has not ended, or is the last.
  std::int64_t next_segment() const { return next_segment_; }
  /// As Inspector names its files. Empty before the first line.
  const std::string& file_name() const { return file_name_; }

 private:
  struct Communicator {
    std::string head;  // of a line, up to the time
    std::uint64_t ranks = 0;
    std::int64_t sends = 0;  // and receives, which Inspector counts together
  };

  void begin_file(const JsonObject& args) {
    constexpr std::int64_t kOneSecond_ns = 1'000'000'000;
    constexpr std::int64_t kMost_s = 4'000'000'000;
    const std::string pid = number(args, "pid");
    base_ns_ = std::clamp<std::int64_t>(integer_of(args, "base_time_s").value_or(0), 0, kMost_s) *
               kOneSecond_ns;
    next_segment_ = 0;
    file_name_ = text_of(args, "host") + "-pid" + pid + ".log";
    std::replace(file_name_.begin(), file_name_.end(), '/', '_');
    process_ = R"("hostname":)" + text(args, "host") + R"(,"pid":)" + pid + "}";
  }

  void begin_communicator(const JsonObject& args) {
    constexpr std::size_t kMostCommunicators = 65536;  // no process has so many
    if (communicators_.size() >= kMostCommunicators) {
      communicators_.clear();
    }
    Communicator& made = communicators_[integer_of(args, "context").value_or(0)];
    made.ranks = static_cast<std::uint64_t>(integer_of(args, "nranks").value_or(0));
    made.head =
        R"({"header":{"id":)" + text(args, "comm") + R"(,"comm_name":)" + text(args, "name") +
        R"(,"rank":)" + number(args, "rank") + R"(,"n_ranks":)" + number(args, "nranks") +
        R"(,"nnodes":)" + number(args, "nnodes") +
        R"(},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"ringside )" RINGSIDE_VERSION
        R"(","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":)";
  }

  void add_operation(const JsonObject& args, std::string& made) {
    constexpr std::int64_t kMost_ns = std::int64_t{1} << 62;
    std::string kind, func, times, state;
    std::int64_t context = 0, bytes = 0, start_ns = 0, end_ns = 0;
    const bool is_whole =
        take(args, "context", context, "kind", kind, "func", func, "bytes", bytes, "times_from",
             times, "state", state, "start_ns", start_ns, "end_ns", end_ns);
    const auto place = communicators_.find(context);
    const bool is_send = kind == "p2p";
    if (place == communicators_.end() || (!is_send && kind != "coll")) {
      return;
    }
    Communicator& communicator = place->second;
    communicator.sends += is_send ? 1 : 0;
    if (!is_whole || (times != "gpu" && times != "proxy") || state != "completed" || start_ns < 0 ||
        end_ns < start_ns || end_ns > kMost_ns || base_ns_ + end_ns < since_ns_) {
      return;
    }
    bool is_polled = false;
    take(args, "gpu_polled", is_polled);
    const auto ns = static_cast<double>(end_ns - start_ns);
    const std::uint64_t ranks = communicator.ranks;
    const double algbw_gb_s = ns > 0 ? static_cast<double>(bytes) / ns *
                                           static_cast<double>(assemble::size_factor(func, ranks))
                                     : 0;
    const auto key = [&](const char* name) { return ",\"" + kind + name + "\":"; };
    made += communicator.head + std::to_string((base_ns_ + end_ns) / 1000) + ',' + process_ +
            key("_perf") + "{\"" + kind + "\":" + text(args, "func") + key("_sn") +
            (is_send ? std::to_string(communicator.sends) + key("_peer") + number(args, "peer")
                     : number(args, "seq")) +
            key("_msg_size_bytes") + std::to_string(bytes) + key("_exec_time_us") +
            std::to_string(std::llround(ns / 1000)) + key("_timing_source") +
            (times == "proxy" ? R"("collective_cpu")"
             : is_polled      ? R"("kernel_cpu")"
                              : R"("kernel_gpu")") +
            key("_algobw_gbs") + std::to_string(algbw_gb_s) + key("_busbw_gbs") +
            std::to_string(algbw_gb_s * assemble::bus_factor(func, ranks)) + "}}\n";
  }

  // As JSON has it.
  static std::string text(const JsonObject& args, std::string_view name) {
    simdjson::dom::element element;
    return args[name].get(element) == simdjson::SUCCESS && element.is_string()
               ? simdjson::to_string(element)
               : "\"\"";
  }
  static std::string number(const JsonObject& args, std::string_view name) {
    return std::to_string(integer_of(args, name).value_or(0));
  }

  const std::int64_t since_ns_;
  simdjson::dom::parser parser_;
  std::int64_t base_ns_ = 0;
  std::int64_t next_segment_ = 0;
  std::string file_name_;
  std::string process_;
  std::map<std::int64_t, Communicator> communicators_;  // by context
};

/// The trace of a process, read as it grows, and where its lines go.
class InspectorFeed::Process {
 public:
  Process(const std::string& target, std::int64_t since_ns, uid_t owner)
      : target_(target), owner_(owner), lines_(since_ns) {}
  ~Process() {
    close_file(trace_);
    close_file(output_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// `trace`: the file that it writes now.
  void look(const std::string& trace) { newest_ = trace; }

  void go_on(std::string& trouble) {
    constexpr int kMostReads = 1024;  // the others have their turn then
    ++idle_looks_;
    for (int i = 0; i < kMostReads && flush(trouble) && read_on(trouble); ++i) {
      idle_looks_ = 0;
    }
  }

  /// Of one that is no longer there: it has been read, or nobody takes its lines.
  bool is_done() const { return idle_looks_ >= 60; }

 private:
  static void close_file(int& file) {
    if (file >= 0) {
      close(std::exchange(file, -1));
    }
  }

  // False: nothing more is there now.
  bool read_on(std::string& trouble) {
    constexpr std::size_t kLongestLine_bytes = std::size_t{1} << 20;
    std::array<char, 65536> bytes;
    const ssize_t got = trace_ < 0 ? 0 : read(trace_, bytes.data(), bytes.size());
    if (got <= 0) {
      return begin_next(trouble);
    }
    text_.append(bytes.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != text_.npos; begin = end + 1) {
      lines_.add(std::string_view(text_).substr(begin, end - begin), made_);
    }
    text_.erase(0, begin);
    if (text_.size() > kLongestLine_bytes || (begin > 0 && lines_.file_name().empty())) {
      trouble = path_ + ": it is compressed, or no trace, and is not followed";
      close_file(trace_);
    }
    return true;
  }

  bool begin_next(std::string& trouble) {
    const std::string next = path_.empty() ? newest_
                             : lines_.next_segment() > 0
                                 ? segment_path(path_, lines_.next_segment())
                                 : path_;
    // Segments that are no longer there are passed over: the process keeps the newest ones.
    for (const std::string& path : {next, next == path_ ? path_ : newest_}) {
      std::string reason;
      const int opened = path == path_ ? -1 : open_dump(path, owner_, reason);
      if (opened >= 0) {
        close_file(trace_);
        trace_ = opened;
        path_ = path;
        text_.clear();
        return true;
      }
      trouble = reason.empty() ? trouble : path + ": " + reason;
    }
    return false;
  }

  bool is_socket() const { return target_.starts_with(kSocket); }

  bool open_output() {
    if (!is_socket()) {
      constexpr mode_t kMode = 0644;
      output_ = open((target_ + '/' + lines_.file_name()).c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kMode);
      if (output_ >= 0 && lseek(output_, 0, SEEK_END) != broken_at_) {
        begin_line_again();
      }
      return output_ >= 0;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    target_.copy(address.sun_path, sizeof address.sun_path - 1, kSocket.size());
    output_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return output_ >= 0 &&
           connect(output_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  // The next connection begins with a whole line, and so does a file that is another one by now.
  void begin_line_again() { sent_ = sent_ > 0 ? made_.rfind('\n', sent_ - 1) + 1 : 0; }

  // The kernel says whether the reader of a socket has gone and left lines in its buffer, or has
  // taken all of them. How many it has left, nobody knows: at most those since it had all.
  std::string lost_in_buffer() {
    int why = 0;
    int left_bytes = 0;
    socklen_t size = sizeof why;
    if (getsockopt(output_, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == ECONNRESET) {
      return "its reader has gone, and up to " +
             report::counted(std::exchange(in_buffer_, 0), "line") + " in its buffer are lost";
    }
    in_buffer_ = ioctl(output_, SIOCOUTQ, &left_bytes) == 0 && left_bytes == 0 ? 0 : in_buffer_;
    return {};
  }

  // False: some are left, since nobody takes them now.
  bool flush(std::string& trouble) {
    if (const std::string lost = lost_in_buffer(); !lost.empty()) {
      trouble = target_ + ": " + lost;
      close_file(output_);
      begin_line_again();
      return false;
    }
    while (sent_ < made_.size()) {
      const bool is_open = output_ >= 0 || open_output();
      const std::size_t size = made_.size() - sent_;
      const ssize_t done = !is_open      ? -1
                           : is_socket() ? send(output_, &made_[sent_], size, MSG_NOSIGNAL)
                                         : write(output_, &made_[sent_], size);
      if (done >= 0) {
        const auto bytes = static_cast<std::size_t>(done);
        const std::string_view taken = std::string_view(made_).substr(sent_, bytes);
        in_buffer_ += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), '\n'));
        sent_ += bytes;
        continue;
      }
      const int error = errno;
      if (error == EAGAIN && is_open) {
        return false;
      }
      const std::string lost = lost_in_buffer();
      if (is_socket()) {
        begin_line_again();
      } else if (is_open) {
        broken_at_ = lseek(output_, 0, SEEK_END);
      }
      close_file(output_);
      trouble = is_socket() && (error == ECONNREFUSED || error == ENOENT)
                    ? "nobody listens at " + target_.substr(kSocket.size()) +
                          "; operations wait in the traces until somebody does"
                    : target_ + ": " + (lost.empty() ? std::strerror(error) : lost);
      return false;
    }
    made_.clear();
    sent_ = 0;
    return true;
  }

  const std::string& target_;
  const uid_t owner_;
  Lines lines_;
  std::string path_, newest_;
  int trace_ = -1;
  std::string text_;  // a line that has not ended
  std::string made_;
  std::size_t sent_ = 0;  // of these
  int output_ = -1;
  off_t broken_at_ = -1;       // the size of a file that could not be written on
  std::size_t in_buffer_ = 0;  // lines that the reader of a socket may not have taken
  int idle_looks_ = 0;
};

InspectorFeed::InspectorFeed(std::string target, std::int64_t since_ns)
    : target_(std::move(target)), since_ns_(since_ns) {}

InspectorFeed::~InspectorFeed() = default;

std::string InspectorFeed::check(const std::string& target) {
  struct stat about {};
  if (target.starts_with(kSocket)) {
    return target.size() - kSocket.size() < sizeof(sockaddr_un::sun_path)
               ? ""
               : target.substr(kSocket.size()) + ": longer than the path of a socket can be";
  }
  return stat(target.c_str(), &about) != 0 ? target + ": " + std::strerror(errno)
         : S_ISSOCK(about.st_mode)         ? target + " is a socket: name it unix:" + target
         : !S_ISDIR(about.st_mode)         ? target + " is no directory"
         : access(target.c_str(), W_OK | X_OK) != 0 ? target + ": " + std::strerror(errno)
                                                    : "";
}

std::string InspectorFeed::look(const std::vector<Reply>& processes) {
  std::string trouble;
  std::set<std::string_view> present;
  for (const Reply& reply : processes) {
    present.insert(reply.endpoint.path);
    if (reply.status && !reply.status->trace_path.empty()) {
      auto& process = processes_[reply.endpoint.path];
      if (process == nullptr) {
        process = std::make_unique<Process>(target_, since_ns_, reply.endpoint.uid);
      }
      process->look(reply.status->trace_path);
    }
  }
  std::erase_if(processes_, [&](const auto& named) {
    std::string of_this;
    named.second->go_on(of_this);
    if (trouble.find(of_this) == trouble.npos) {
      trouble += (trouble.empty() ? "" : "; ") + of_this;
    }
    return !present.contains(named.first) && named.second->is_done();
  });
  return trouble;
}

}  // namespace ringside::live
