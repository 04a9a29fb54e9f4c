// SPDX-License-Identifier: Apache-2.0
//
// A trace of PyTorch's profiler (Kineto), as torch.profiler's export_chrome_trace writes it: one
// JSON object with all events, plain or compressed by gzip. It is read event by event, so that
// memory stays bounded.
#ifndef RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_H
#define RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <simdjson.h>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/kineto/kineto.h"

namespace ringside::load {

/// A kernel of NCCL on a GPU's stream.
struct NcclKernel {
  std::size_t event = 0;      // its place among the events
  std::int64_t start_ns = 0;  // since the epoch, by its host's clock
  std::int64_t end_ns = 0;
  std::string func;  // as the trace calls it ("AllReduce"); "SendRecv" for all point-to-point
  std::optional<std::uint64_t> bytes;  // the message as one rank gives or gets it
};

class KinetoFile {
 public:
  /// Takes an event, and its place among all.
  using Take = std::function<void(std::size_t place, const simdjson::dom::object& event)>;

  /// Whether an event is wanted at all, by its text: to look at it costs less than to parse it.
  using Wants = std::function<bool(std::string_view text)>;

  /// Reads the file, and gives each event to `take`. Returns why it cannot be read to its end, or
  /// is no such trace; nothing if it is one. An event's texts must not be kept: they are gone
  /// with the next one. The base of times may stand behind all events: add base_ns() afterwards.
  std::optional<std::string> read(
      const std::string& path, const Take& take,
      const Wants& wants = [](std::string_view) { return true; });

  /// The same for all kernels of NCCL, in order of time.
  std::optional<std::string> read_kernels(const std::string& path,
                                          std::vector<NcclKernel>& kernels);

  /// Says where and how the text ends too early; empty if it does not. What was complete before
  /// that was read. read() fails only if the base of times is missing, too.
  const std::string& cut() const { return cut_; }
  /// distributedInfo.rank.
  std::optional<std::int64_t> rank() const { return rank_; }
  /// The process's pid, from the metadata of its own events; nothing if there are several.
  std::optional<std::int64_t> pid() const {
    return pids_.size() == 1 ? std::optional(*pids_.begin()) : std::nullopt;
  }
  /// It is to be added to since_base_ns(); 0 in older traces, whose times count from the epoch.
  std::int64_t base_ns() const { return base_ns_; }
  /// host_name and distributedInfo.nccl_version; empty where they are not there.
  const std::string& host() const { return host_; }
  const std::string& nccl_version() const { return nccl_version_; }
  /// distributedInfo.pg_config.
  const std::vector<model::KinetoGroup>& groups() const { return groups_; }
  /// Elements of the array that are no event: damaged, or longer than an event may be.
  std::uint64_t damaged() const { return damaged_; }

  /// A time or duration of an event in nanoseconds; nothing if it is none.
  static std::optional<std::int64_t> time_ns(const simdjson::dom::element& value);
  /// When an event is, in nanoseconds since base_ns(); nothing if it has no time.
  static std::optional<std::int64_t> since_base_ns(const simdjson::dom::object& event);
  /// How long a complete event ("X") lasts; nothing if it does not tell that as a time.
  static std::optional<std::int64_t> duration_ns(const simdjson::dom::object& event);

 private:
  // The value holds until the next one is parsed. The text has simdjson's padding behind it.
  bool parse(std::string_view text, simdjson::dom::element& value);
  void take_member(std::string_view key, std::string_view text);
  void take_distributed(const simdjson::dom::object& info);

  simdjson::dom::parser parser_;
  std::int64_t base_ns_ = 0;
  std::uint64_t damaged_ = 0;
  bool has_base_ = false;
  std::string cut_;
  std::optional<std::string> trouble_;  // for which the whole file cannot be used
  std::optional<std::int64_t> rank_;
  std::set<std::int64_t> pids_;
  std::vector<model::KinetoGroup> groups_;
  std::string host_;
  std::string nccl_version_;
};

/// The category of an event as newer releases of PyTorch name it: before 1.13 "Kernel" was
/// "kernel".
std::string_view kineto_category(std::string_view category);

/// Whether a file with these first bytes may be one: it is cheap.
bool begins_as_kineto(std::string_view bytes);
/// Profiles may begin with what a tool says of them, so as many bytes are looked at.
inline constexpr std::size_t kKinetoBegin_bytes = std::size_t{32} << 10U;

/// Returns these files, and those that profilers write into directories: NAME.pt.trace.json, and
/// any other .json or .json.gz that is not named as a trace of Ringside's. They come sorted by
/// name: a file's compressed form behind it.
std::vector<std::string> kineto_paths(const std::vector<std::string>& given);

/// Why a file cannot be read more than once, as a command does: it is a pipe or the like. Nothing
/// if it can, or if it is not there.
std::optional<std::string> why_not_again(const std::string& path);

}  // namespace ringside::load

#endif  // RINGSIDE_ANALYZER_LOAD_KINETO_KINETO_H
