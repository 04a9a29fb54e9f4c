// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/metrics_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>
#include <string_view>

#include "plugin/export/utf8.h"

namespace ringside::exporting {
namespace {

using assemble::Communicator;

constexpr double kSecond_ns = 1e9;

std::string number(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

// Returns name="value", with the escapes that both forms require.
std::string label(std::string_view name, std::string_view value) {
  std::string text(name);
  text += "=\"";
  while (!value.empty()) {
    const std::size_t length = utf8_length(value);
    if (value.front() == '\\' || value.front() == '"') {
      text += '\\';
      text += value.front();
    } else if (value.front() == '\n') {
      text += "\\n";
    } else if (length == 0) {
      text += "\xEF\xBF\xBD";  // U+FFFD
    } else {
      text += value.substr(0, length);
    }
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text + '"';
}

// The processes of a host are scraped together. They may be of several jobs and containers, so the
// rank alone does not identify a process.
std::string process_label(const ProcessFacts& process) {
  const std::string labels =
      label("host", process.host) + "," + label("pid", std::to_string(process.pid));
  return process.launcher_rank < 0
             ? labels
             : label("global_rank", std::to_string(process.launcher_rank)) + "," + labels;
}

std::string hash_text(const Communicator& communicator) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%016" PRIx64, communicator.hash);
  return text.data();
}

enum class Kind : std::uint8_t { kCounter, kGauge, kHistogram };

class Writer {
 public:
  explicit Writer(MetricsForm form) : is_open_metrics_(form == MetricsForm::kOpenMetrics) {}

  // Begins a family of metrics. `name` of a counter is without "_total", which its samples have.
  // OpenMetrics gives the type for the name without it, Prometheus for the name with it.
  void family(std::string_view name, Kind kind, std::string_view unit, std::string_view help) {
    family_ = name;
    const bool is_counter = kind == Kind::kCounter;
    sample_ = family_ + (is_counter ? "_total" : "");
    const std::string& named = is_open_metrics_ ? family_ : sample_;
    text_ += "# HELP " + named + " " + std::string(help) + "\n";
    text_ += "# TYPE " + named + " " +
             (is_counter             ? "counter"
              : kind == Kind::kGauge ? "gauge"
                                     : "histogram") +
             "\n";
    if (is_open_metrics_ && !unit.empty()) {
      text_ += "# UNIT " + named + " " + std::string(unit) + "\n";
    }
  }

  template <typename Value>
  void sample(const std::string& labels, Value value) {
    line(sample_, labels, number(value));
  }

  // Adds a histogram. `counts` has the count of each bucket, while the text needs the count of all
  // values up to a bound. There is no sum: a sum of bandwidths would only invite a mean of means.
  template <typename Bounds, typename Counts>
  void buckets(const std::string& labels, const Bounds& bounds, double unit, const Counts& counts) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      below += counts[i];
      const std::string bound =
          i < bounds.size() ? number(static_cast<double>(bounds[i]) / unit) : "+Inf";
      line(family_ + "_bucket", labels + "," + label("le", bound), number(below));
    }
    line(family_ + "_count", labels, number(below));
  }
  void sum(const std::string& labels, double value) {
    line(family_ + "_sum", labels, number(value));
  }

  std::string take() {
    if (is_open_metrics_) {
      text_ += "# EOF\n";
    }
    return std::move(text_);
  }

 private:
  void line(const std::string& name, const std::string& labels, const std::string& value) {
    text_ += name + "{" + labels + "} " + value + "\n";
  }

  bool is_open_metrics_;
  std::string family_, sample_, text_;
};

struct InFlightSums {
  std::uint64_t operations = 0, bytes = 0;
  double oldest_s = 0;
};

// One series for each set of labels. A communicator that is made again may have the same labels.
struct Series {
  std::map<std::string, MetricSums> sums;
  std::map<std::string, InFlightSums> in_flight;
};

class Labels {
 public:
  Labels(const ProcessFacts& process, const std::vector<Communicator>& communicators)
      : process_(process_label(process)), communicators_(communicators) {}

  const std::string& process() const { return process_; }

  std::string communicator(std::uint32_t context) const {
    const bool known = context != 0 && context < communicators_.size();
    const Communicator* const of = known ? &communicators_[context] : nullptr;
    std::string text = process_ + ",";
    text += label("communicator", of == nullptr  ? "other"
                                  : of->has_hash ? hash_text(*of)
                                                 : "context " + std::to_string(context));
    text += "," + label("name", of != nullptr ? of->name : "");
    return text + "," +
           label("rank", of != nullptr && of->rank_known ? std::to_string(of->rank) : "");
  }

  std::string series(const SeriesKey& key) const {
    const std::string size =
        key.size_class < 0 ? "" : std::to_string(std::uint64_t{1} << key.size_class);
    return communicator(key.context) + "," + label("func", key.func) + "," +
           label("size_bytes", size) + "," + label("algo", key.algo) + "," +
           label("proto", key.proto);
  }

 private:
  std::string process_;
  const std::vector<Communicator>& communicators_;
};

Series by_labels(const LiveMetrics& metrics, const std::vector<Communicator>& communicators,
                 const MetricsFacts& facts, const Labels& labels) {
  Series made;
  for (const auto& [key, sums] : metrics.series()) {
    made.sums[labels.series(key)].add(sums);
  }
  for (const Communicator& communicator : communicators) {
    if (communicator.context != 0 && communicator.finalized_ns == assemble::kUnknownTime) {
      made.in_flight[labels.communicator(communicator.context)];
    }
  }
  for (const auto& [context, total] : facts.in_flight) {
    InFlightSums& sums = made.in_flight[labels.communicator(context)];
    sums.operations += total.operations;
    sums.bytes += total.bytes;
  }
  for (const assemble::InFlight& open : facts.oldest) {
    InFlightSums& sums = made.in_flight[labels.communicator(open.operation.context)];
    sums.oldest_s = std::max(
        sums.oldest_s,
        static_cast<double>(std::max<std::int64_t>(facts.now_ns - open.since_ns, 0)) / kSecond_ns);
  }
  return made;
}

void write_sums(Writer& out, const Series& series) {
  const auto family = [&](std::string_view name, std::string_view unit, std::string_view help,
                          const auto& value) {
    out.family(name, Kind::kCounter, unit, help);
    for (const auto& [labels, sums] : series.sums) {
      out.sample(labels, value(sums));
    }
  };
  family("ringside_operations", "", "Finished operations.",
         [](const MetricSums& sums) { return sums.operations; });
  family("ringside_message_bytes", "bytes", "Bytes of finished operations, as nccl-tests counts.",
         [](const MetricSums& sums) { return sums.message_bytes; });
  family("ringside_busy_seconds", "seconds",
         "Time from start to end of operations whose execution was seen, added up.",
         [](const MetricSums& sums) { return static_cast<double>(sums.busy_ns) / kSecond_ns; });
  family("ringside_bus_bytes", "bytes",
         "Bytes times the factor of busbw. By ringside_bus_seconds_total it is busbw.",
         [](const MetricSums& sums) { return sums.bus_bytes; });
  family("ringside_bus_seconds", "seconds", "Time of the operations in ringside_bus_bytes_total.",
         [](const MetricSums& sums) { return static_cast<double>(sums.bus_ns) / kSecond_ns; });
  out.family("ringside_duration_seconds", Kind::kHistogram, "seconds",
             "Operations by time from start to end.");
  for (const auto& [labels, sums] : series.sums) {
    if (sums.timed_operations != 0) {
      out.buckets(labels, kDurationBounds_ns, kSecond_ns, sums.durations);
      out.sum(labels, static_cast<double>(sums.busy_ns) / kSecond_ns);
    }
  }
  out.family("ringside_busbw_bytes_per_second", Kind::kHistogram, "bytes_per_second",
             "Operations by bus bandwidth.");
  for (const auto& [labels, sums] : series.sums) {
    if (sums.bus_ns != 0) {
      out.buckets(labels, kBusbwBounds_bytes_per_s, 1.0, sums.busbws);
    }
  }
}

void write_in_flight(Writer& out, const Series& series) {
  const auto family = [&](std::string_view name, std::string_view unit, std::string_view help,
                          const auto& value) {
    out.family(name, Kind::kGauge, unit, help);
    for (const auto& [labels, sums] : series.in_flight) {
      out.sample(labels, value(sums));
    }
  };
  family("ringside_in_flight_operations", "", "Operations that have begun and not ended.",
         [](const InFlightSums& sums) { return sums.operations; });
  family("ringside_in_flight_bytes", "bytes", "Bytes that each rank gives to these.",
         [](const InFlightSums& sums) { return sums.bytes; });
  family("ringside_oldest_in_flight_seconds", "seconds", "Age of the oldest of these.",
         [](const InFlightSums& sums) { return sums.oldest_s; });
}

void write_process(Writer& out, const MetricsFacts& facts, const Labels& labels) {
  TypeAccount all;
  for (const TypeAccount& type : facts.account.by_type) {
    all.produced += type.produced;
    all.rotated += type.rotated;
    all.sampled_out += type.sampled_out;
    all.dropped_ring_full += type.dropped_ring_full;
    all.dropped_no_ring += type.dropped_no_ring;
    all.dropped_parent += type.dropped_parent;
    all.dropped_write += type.dropped_write;
    all.dropped_memory += type.dropped_memory;
  }
  const std::string& process = labels.process();
  const auto one = [&](std::string_view name, Kind kind, std::string_view unit,
                       std::string_view help, auto value) {
    out.family(name, kind, unit, help);
    out.sample(process, value);
  };
  one("ringside_callbacks", Kind::kCounter, "", "NCCL's calls that reached the recorder.",
      all.produced);
  out.family("ringside_dropped_callbacks", Kind::kCounter, "",
             "Calls that were lost; nothing above counts them.");
  const auto dropped = [&](std::string_view reason, std::uint64_t count) {
    out.sample(process + "," + label("reason", reason), count);
  };
  dropped("memory", all.dropped_memory);
  dropped("no_ring", all.dropped_no_ring);
  dropped("parent", all.dropped_parent);
  dropped("ring_full", all.dropped_ring_full);
  dropped("write", all.dropped_write);
  one("ringside_rotated_callbacks", Kind::kCounter, "",
      "Calls whose lines were in segments that are deleted.", all.rotated);
  one("ringside_sampled_out_callbacks", Kind::kCounter, "",
      "Calls that RINGSIDE_SAMPLE leaves out of the trace.", all.sampled_out);
  one("ringside_trace_bytes", Kind::kCounter, "bytes", "Bytes written to the trace.",
      facts.trace_bytes);
  one("ringside_ring_bytes", Kind::kGauge, "bytes", "Memory of the rings of all threads.",
      facts.ring_bytes);
  one("ringside_drain_cpu_seconds", Kind::kCounter, "seconds",
      "Time that Ringside's own thread has run.", facts.drain_cpu_s);
  one("ringside_recording", Kind::kGauge, "", "1 while operations are recorded.",
      std::uint64_t{facts.recording ? 1U : 0U});
  one("ringside_written_timestamp_seconds", Kind::kGauge, "seconds", "When this text was written.",
      facts.realtime_s);
  out.family("ringside_build_info", Kind::kGauge, "",
             "Versions of Ringside and NCCL; the value is 1.");
  out.sample(process + "," + label("version", facts.process.plugin_version) + "," +
                 label("nccl_version", facts.process.nccl_version != 0
                                           ? nccl_version_text(facts.process.nccl_version)
                                           : "") +
                 "," + label("abi_version", std::to_string(facts.process.abi_version)) + "," +
                 label("job", facts.process.job) + "," +
                 label("process_id", std::to_string(facts.process.pid)),
             std::uint64_t{1});
}

}  // namespace

std::string metrics_text(MetricsForm form, const LiveMetrics& metrics,
                         const std::vector<Communicator>& communicators,
                         const MetricsFacts& facts) {
  const Labels labels(facts.process, communicators);
  const Series series = by_labels(metrics, communicators, facts, labels);
  Writer out(form);
  write_sums(out, series);
  write_in_flight(out, series);
  write_process(out, facts, labels);
  return out.take();
}

}  // namespace ringside::exporting
