// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/sync_points.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/align/recorded_from_start.h"

namespace ringside::align {
namespace {

// More do not make the clocks better known, and each costs memory.
constexpr std::uint64_t kMostRecords = 2'000'000;
constexpr double kMost_ns = 1e18;

// What one rank had to do with a point.
struct Record {
  std::uint32_t communicator = 0;
  PointKind kind = PointKind::kAllReduce;
  bool ends = false;  // of a pair: the receive
  std::uint32_t file = 0;
  std::uint64_t number = 0;   // sequence number; of a pair: its place in the order
  std::uint64_t between = 0;  // source and destination of a pair or step
  std::uint64_t piece = 0;    // channel and place of a step
  std::optional<std::uint64_t> bytes;
  double start_ns = kNoStart;
  double end_ns = kNoEnd;

  auto series() const { return std::tie(communicator, kind, between, ends, file); }
  auto point() const { return std::tie(communicator, kind, between, number, piece); }
};

std::optional<PointKind> synchronising(std::string_view func) {
  if (func == "AllReduce") return PointKind::kAllReduce;
  if (func == "AllGather") return PointKind::kAllGather;
  if (func == "ReduceScatter") return PointKind::kReduceScatter;
  if (func == "AlltoAll") return PointKind::kAlltoAll;
  return std::nullopt;
}

// From 2.26 on NCCL counts operations whether or not they are profiled.
bool counts_always(const model::Process& process) {
  const std::string& version = process.nccl_version;
  const char* const end = version.data() + version.size();
  int major = 0;
  int minor = 0;
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.' ||
      std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) {
    return false;
  }
  return major > 2 || (major == 2 && minor >= 26);
}

bool is_whole(const model::TraceFile& file) {
  return file.account.dropped.empty() && file.account.sampled_out == 0 &&
         file.account.rotated == 0 && file.bad_lines == 0 && file.segments_missing == 0 &&
         file.process.segment == 1;
}

bool numbers_can_be_trusted(const model::TraceFile& file, std::uint32_t context) {
  return counts_always(file.process) ||
         (file.windows.size() == 1 && is_whole(file) && is_recorded_from_start(file, context));
}

class Collector {
 public:
  Collector(const model::Traces& traces, const HostClocks& clocks)
      : traces_(traces), clocks_(clocks) {
    std::uint64_t operations = 0;
    std::uint64_t steps = 0;
    for (const model::TraceFile& file : traces.files) {
      operations += file.operations.size();
      steps += file.steps.size();
    }
    operation_stride_ = operations / kMostRecords + 1;
    step_stride_ = steps / kMostRecords + 1;
    zero_ns_ = traces.files.empty()
                   ? 0
                   : clocks.since_epoch_ns.front() +
                         std::clamp<std::int64_t>(traces.files.front().process.start_ns, 0,
                                                  std::int64_t{1} << 60);
  }

  SyncPoints collect() {
    for (std::uint32_t i = 0; i < traces_.files.size(); ++i) {
      add_file(i);
    }
    number_pairs();
    SyncPoints made;
    made.zero_ns = zero_ns_;
    made.untrusted = untrusted_;
    make_points(made);
    return made;
  }

 private:
  struct ContextFacts {
    std::uint32_t communicator = 0;
    bool trusted = false;
    std::optional<std::uint32_t> rank;
    double gpu_slack_ns = kMost_ns;  // how late its GPU's stamps can be
  };

  double relative(std::uint32_t file, std::int64_t time_ns) const {
    return static_cast<double>(clocks_.since_epoch_ns[file] - zero_ns_) +
           std::clamp(static_cast<double>(time_ns), -kMost_ns, kMost_ns);
  }

  static bool has_gpu_times(const model::Operation& operation) {
    return operation.times_from == model::TimesFrom::kGpu && !operation.gpu_polled &&
           operation.gpu_rejected == 0 && operation.start_ns.has_value();
  }

  void add_file(std::uint32_t index) {
    const model::TraceFile& file = traces_.files[index];
    std::map<std::uint32_t, ContextFacts> contexts;
    std::uint32_t order = 0;
    for (const auto& [number, context] : file.contexts) {
      const std::string name = context.comm ? *context.comm : "number " + std::to_string(order++);
      ContextFacts& facts = contexts[number];
      facts.communicator =
          communicators_.try_emplace(name, static_cast<std::uint32_t>(communicators_.size()))
              .first->second;
      facts.trusted = number != 0 && numbers_can_be_trusted(file, number);
      facts.rank = context.rank;
    }
    for (const model::Operation& operation : file.operations) {
      if (has_gpu_times(operation) && operation.enqueue_start_ns) {
        double& slack_ns = contexts[operation.context].gpu_slack_ns;
        const double early_ns = static_cast<double>(*operation.start_ns) -
                                static_cast<double>(*operation.enqueue_start_ns);
        slack_ns = std::min(slack_ns, std::max(early_ns, 0.0));
      }
    }
    const bool whole = is_whole(file);
    for (const model::Operation& operation : file.operations) {
      add_operation(index, operation, contexts[operation.context], whole);
    }
    add_steps(index, contexts);
  }

  void add_times(const model::Operation& operation, const ContextFacts& facts,
                 Record& record) const {
    if (operation.enqueue_start_ns) {
      record.start_ns = relative(record.file, *operation.enqueue_start_ns);
    }
    if (has_gpu_times(operation)) {
      record.start_ns = std::max(record.start_ns,
                                 relative(record.file, *operation.start_ns) - facts.gpu_slack_ns);
    }
    if (operation.state == model::State::kCompleted && operation.end_ns) {
      record.end_ns = relative(record.file, *operation.end_ns);
    }
  }

  void add_operation(std::uint32_t index, const model::Operation& operation,
                     const ContextFacts& facts, bool whole) {
    const std::string_view func = traces_.names.text(operation.func);
    Record record;
    record.communicator = facts.communicator;
    record.file = index;
    record.bytes = operation.bytes;
    if (const bool receives = func == "Recv"; receives || func == "Send") {
      if (!whole || !facts.rank || !operation.peer || operation.graph) {
        return;
      }
      record.kind = PointKind::kPair;
      record.ends = receives;
      const std::uint64_t here = *facts.rank;
      const std::uint64_t there = *operation.peer;
      record.between = receives ? there << 32 | here : here << 32 | there;
      add_times(operation, facts, record);
      records_.push_back(record);
      return;
    }
    const auto kind = synchronising(func);
    if (!kind || !operation.seq || *operation.seq % operation_stride_ != 0) {
      return;
    }
    if (!facts.trusted || operation.graph) {
      ++untrusted_;
      return;
    }
    record.kind = *kind;
    record.number = *operation.seq;
    add_times(operation, facts, record);
    records_.push_back(record);
  }

  // Steps of collectives: those of one operation, channel and peer come in order.
  void add_steps(std::uint32_t index, const std::map<std::uint32_t, ContextFacts>& contexts) {
    const model::TraceFile& file = traces_.files[index];
    if (file.steps.empty()) {
      return;
    }
    std::unordered_map<std::uint64_t, std::size_t> by_id;
    for (std::size_t i = 0; i < file.operations.size(); ++i) {
      by_id.emplace(file.operations.id(i), i);
    }
    std::vector<std::pair<Record, std::uint64_t>> found;
    for (const model::Step& step : file.steps) {
      const auto found_at = by_id.find(step.operation);
      const auto context = contexts.find(step.context);
      if (found_at == by_id.end() || context == contexts.end() || !step.peer ||
          !context->second.trusted || !context->second.rank || (!step.is_send && !step.end_ns)) {
        continue;
      }
      const model::Operation operation = file.operations[found_at->second];
      if (operation.graph || !operation.seq || *operation.seq % step_stride_ != 0) {
        continue;
      }
      Record record;
      record.communicator = context->second.communicator;
      record.kind = PointKind::kStep;
      record.ends = !step.is_send;
      record.file = index;
      record.number = *operation.seq << 8 | (operation.func & 0xFF);
      const std::uint64_t here = *context->second.rank;
      record.between =
          step.is_send ? here << 32 | *step.peer : std::uint64_t{*step.peer} << 32 | here;
      record.piece = std::uint64_t{step.channel} << 32;
      if (step.is_send) {
        record.start_ns = relative(index, step.start_ns);
      } else {
        record.end_ns = relative(index, *step.end_ns);
      }
      found.emplace_back(record, found.size());
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return std::tuple_cat(a.first.point(), std::tie(a.first.ends, a.second)) <
             std::tuple_cat(b.first.point(), std::tie(b.first.ends, b.second));
    });
    for (std::size_t i = 0; i < found.size(); ++i) {
      Record record = found[i].first;
      const bool same = i > 0 && found[i - 1].first.point() == record.point() &&
                        found[i - 1].first.ends == record.ends;
      place_ = same ? place_ + 1 : 0;
      record.piece |= place_;
      records_.push_back(record);
    }
  }

  // The k-th send goes to the k-th receive, unless one side has more of them than the other.
  void number_pairs() {
    std::stable_sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::tuple_cat(a.series(), std::tie(a.start_ns)) <
             std::tuple_cat(b.series(), std::tie(b.start_ns));
    });
    std::map<std::tuple<std::uint32_t, std::uint64_t>, std::array<std::uint64_t, 2>> counts;
    for (Record& record : records_) {
      if (record.kind == PointKind::kPair) {
        record.number = counts[{record.communicator, record.between}][record.ends ? 1 : 0]++;
      }
    }
    std::erase_if(records_, [&](const Record& record) {
      if (record.kind != PointKind::kPair) {
        return false;
      }
      const auto& of = counts[{record.communicator, record.between}];
      return of[0] != of[1];
    });
  }

  void make_points(SyncPoints& made) {
    std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::tuple_cat(a.point(), std::tie(a.file)) <
             std::tuple_cat(b.point(), std::tie(b.file));
    });
    for (std::size_t begin = 0; begin < records_.size();) {
      std::size_t end = begin + 1;
      while (end < records_.size() && records_[end].point() == records_[begin].point()) {
        ++end;
      }
      add_point(begin, end, made);
      begin = end;
    }
  }

  // Several hosts must take part, no rank twice, and they must agree in what it is.
  void add_point(std::size_t begin, std::size_t end, SyncPoints& made) {
    const bool is_pair = records_[begin].kind >= PointKind::kPair;
    std::map<std::uint32_t, Touch> by_host;
    for (std::size_t i = begin; i < end; ++i) {
      const Record& record = records_[i];
      if (record.bytes != records_[begin].bytes || (is_pair && end - begin != 2) ||
          (i > begin && record.file == records_[i - 1].file && !is_pair)) {
        return;
      }
      const std::uint32_t host = clocks_.host_of_file[record.file];
      Touch& touch = by_host[host];
      touch.host = host;
      touch.kind = record.kind;
      if (!is_pair || !record.ends) {
        touch.start_ns = std::max(touch.start_ns, record.start_ns);
      }
      if (!is_pair || record.ends) {
        touch.end_ns = std::min(touch.end_ns, record.end_ns);
      }
    }
    if (by_host.size() < 2) {
      return;
    }
    for (auto& [host, touch] : by_host) {
      touch.point = made.points;
      made.touches.push_back(touch);
    }
    ++made.points;
  }

  const model::Traces& traces_;
  const HostClocks& clocks_;
  std::map<std::string, std::uint32_t> communicators_;
  std::vector<Record> records_;
  std::int64_t zero_ns_ = 0;
  std::uint64_t operation_stride_ = 1;
  std::uint64_t step_stride_ = 1;
  std::uint64_t place_ = 0;
  std::uint64_t untrusted_ = 0;
};

}  // namespace

const char* point_kind_name(PointKind kind) {
  constexpr std::array<const char*, kPointKinds> kNames = {
      "AllReduce", "AllGather", "ReduceScatter", "AlltoAll", "Send/Recv", "network steps"};
  return kNames[static_cast<std::size_t>(kind)];
}

SyncPoints find_sync_points(const model::Traces& traces, const HostClocks& clocks) {
  return Collector(traces, clocks).collect();
}

}  // namespace ringside::align
