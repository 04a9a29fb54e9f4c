// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/export_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "analyzer/match/group_patterns.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/model/call_site.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

// A number that the columns cannot hold is left out.
template <std::integral Number>
ExportValue value_of(Number number) {
  return std::in_range<std::int64_t>(number) ? ExportValue(static_cast<std::int64_t>(number))
                                             : ExportValue();
}

ExportValue value_of(bool flag) {
  return std::int64_t{flag ? 1 : 0};
}

ExportValue value_of(double number) {
  return number;
}

ExportValue value_of(std::string_view text) {
  return text;
}

template <typename Value>
ExportValue value_of(const std::optional<Value>& value) {
  return value ? value_of(*value) : ExportValue();
}

ExportValue value_of(const ExportValue& value) {
  return value;
}

template <typename Value>
ExportValue value_if(bool condition, const Value& value) {
  return condition ? value_of(value) : ExportValue();
}

bool is_known(const align::HostOffset& host) {
  return host.is_reference || host.is_bounded;
}

// If ranks disagree on the size, there is no one size.
std::optional<std::uint64_t> bytes_of(const OperationRow& row) {
  if (match::disagrees(row.judgement)) {
    return std::nullopt;
  }
  return row.operation.way == match::Way::kGroup
             ? match::group_bytes(row.facts.traces(), row.facts.matches(), row.operation)
             : row.first.bytes;
}

ExportValue busy_of(const OperationRow& row, std::int64_t facts::Interval::*which) {
  return value_if(row.has_ends && row.known.busy, row.known.busy ? (*row.known.busy).*which : 0);
}

ExportValue common_ns(const CallRow& row, const std::optional<std::int64_t>& time_ns) {
  return time_ns ? value_of(row.facts.alignment().to_common_ns(row.file, *time_ns)) : ExportValue();
}

// All times of an operation are put on the common clock together, as its facts have them.
std::optional<std::int64_t> start_of(const CallRow& row) {
  if (!row.call.start_ns) {
    return std::nullopt;
  }
  return row.rank != nullptr ? add_saturating(row.rank->arrival_ns, row.rank->open_ns)
                             : row.facts.alignment().to_common_ns(row.file, *row.call.start_ns);
}

// A duration is that of the rank's own clock.
ExportValue end_of(const CallRow& row) {
  const model::Operation& call = row.call;
  return call.start_ns && call.end_ns
             ? value_of(add_saturating(start_of(row).value_or(0),
                                       subtract_saturating(*call.end_ns, *call.start_ns)))
             : common_ns(row, call.end_ns);
}

std::string_view text_of_name(const CallRow& row, model::NameId id) {
  return row.facts.traces().names.text(id);
}

ExportValue waiting_of(const CallRow& row, std::int64_t facts::Interval::*which) {
  return row.rank != nullptr ? value_of(row.rank->wait.*which) : ExportValue();
}

// Behind "FILE:LINE" of a frame is " in FUNCTION".
std::string_view place_in(std::string_view frame) {
  return frame.substr(0, frame.rfind(" in "));
}

std::optional<std::int64_t> line_in(std::string_view frame) {
  const std::string_view place = place_in(frame);
  std::int64_t line = 0;
  const char* const end = place.data() + place.size();
  const auto read = std::from_chars(place.data() + place.rfind(':') + 1, end, line);
  return read.ec == std::errc() && read.ptr == end ? std::optional(line) : std::nullopt;
}

// A dump tells no host; what stands for one are clocks that are not known to be one.
std::string_view host_name(std::string_view host) {
  return host.starts_with(" (") ? std::string_view() : host;
}

constexpr std::array<std::string_view, 5> kWays = {"sequence", "order", "aligned", "pair", "group"};
// By facts::Basis.
constexpr std::array<std::string_view, 4> kBases = {"", "call", "some", "execution"};

// `value`: a function of a row, without state. Texts are views of what the row refers to.
template <typename Row>
struct ColumnOf : ExportColumn {
  template <typename Value>
  constexpr ColumnOf(const char* column, const char* sql, Value /*value*/)
      : ExportColumn{column, sql},
        is_required(std::string_view(sql).find("NOT NULL") != std::string_view::npos),
        value([](const Row& row) { return value_of(Value()(row)); }) {}

  bool is_required;  // an empty text is a text, not NULL
  ExportValue (*value)(const Row& row);
};

constexpr ColumnOf<MetaRow> kMeta[] = {
    {"key", "TEXT PRIMARY KEY", [](auto& row) { return row.key; }},
    {"value", "TEXT NOT NULL", [](auto& row) { return row.value; }}};

constexpr ColumnOf<HostRow> kHosts[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row_id(row.index); }},
    {"host", "TEXT NOT NULL", [](auto& row) { return host_name(row.host.host); }},
    {"files", "INTEGER NOT NULL", [](auto& row) { return row.host.files; }},
    {"is_reference", "INTEGER NOT NULL", [](auto& row) { return row.host.is_reference; }},
    {"is_bounded", "INTEGER NOT NULL", [](auto& row) { return row.host.is_bounded; }},
    {"offset_ns", "INTEGER",
     [](auto& row) { return value_if(is_known(row.host), row.host.offset_ns); }},
    {"drift_ppb", "REAL",
     [](auto& row) { return value_if(is_known(row.host), row.host.drift_ppb); }},
    {"uncertainty_ns", "INTEGER",
     [](auto& row) { return value_if(is_known(row.host), row.host.uncertainty_ns); }},
    {"most_uncertainty_ns", "INTEGER",
     [](auto& row) { return value_if(is_known(row.host), row.host.most_uncertainty_ns); }},
    {"set_by", "TEXT", [](auto& row) { return std::string_view(row.host.set_by); }}};

constexpr ColumnOf<ProcessRow> kProcesses[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row_id(row.file); }},
    {"host_id", "INTEGER NOT NULL REFERENCES hosts(id)",
     [](auto& row) { return row_id(row.facts.alignment().host_of(row.file)); }},
    {"run", "INTEGER NOT NULL",
     [](auto& row) { return row_id(row.facts.matches().runs.of_file[row.file]); }},
    {"path", "TEXT NOT NULL", [](auto& row) { return std::string_view(row.trace().path); }},
    {"run_id", "TEXT", [](auto& row) { return std::string_view(row.process().run_id); }},
    {"job", "TEXT", [](auto& row) { return std::string_view(row.process().job); }},
    {"pid", "INTEGER",
     [](auto& row) { return value_if(!row.process().host.empty(), row.process().pid); }},
    {"launcher_rank", "INTEGER", [](auto& row) { return row.process().launcher_rank; }},
    {"nccl_version", "TEXT",
     [](auto& row) { return std::string_view(row.process().nccl_version); }},
    {"abi", "INTEGER",
     [](auto& row) { return value_if(row.process().tells_begin, row.process().abi); }},
    {"start_ns", "INTEGER NOT NULL",
     [](auto& row) {
       return row.facts.alignment().to_common_ns(row.file, row.process().start_ns);
     }},
    {"is_closed", "INTEGER NOT NULL", [](auto& row) { return row.trace().closed; }},
    {"is_dump", "INTEGER NOT NULL", [](auto& row) { return row.process().dump; }},
    {"is_recovered", "INTEGER NOT NULL", [](auto& row) { return row.trace().recovered; }},
    {"bad_lines", "INTEGER NOT NULL", [](auto& row) { return row.trace().bad_lines; }}};

constexpr ColumnOf<CommunicatorRow> kCommunicators[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row_id(row.index); }},
    {"run", "INTEGER NOT NULL", [](auto& row) { return row_id(row.communicator.run); }},
    {"name", "TEXT", [](auto& row) { return std::string_view(row.communicator.name); }},
    {"hash", "TEXT", [](auto& row) { return std::string_view(row.communicator.hash); }},
    {"label", "TEXT NOT NULL", [](auto& row) { return std::string_view(row.label); }},
    {"nranks", "INTEGER NOT NULL", [](auto& row) { return row.communicator.nranks; }},
    {"nranks_inferred", "INTEGER NOT NULL",
     [](auto& row) { return row.communicator.nranks_inferred; }},
    {"inside_id", "INTEGER REFERENCES communicators(id)",
     [](auto& row) { return value_if(row.inside.has_value(), row_id(row.inside.value_or(0))); }},
    {"calls_not_aligned", "INTEGER NOT NULL",
     [](auto& row) { return row.communicator.unaligned_calls; }}};

constexpr ColumnOf<MembershipRow> kMemberships[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"communicator_id", "INTEGER NOT NULL REFERENCES communicators(id)",
     [](auto& row) { return row_id(row.communicator); }},
    {"rank", "INTEGER", [](auto& row) { return row.member.rank; }},
    {"process_id", "INTEGER NOT NULL REFERENCES processes(id)",
     [](auto& row) { return row_id(row.member.file); }},
    {"context", "INTEGER NOT NULL", [](auto& row) { return row.member.context; }},
    {"global_rank", "INTEGER", [](auto& row) { return row.global_rank; }},
    {"is_complete", "INTEGER NOT NULL", [](auto& row) { return row.member.is_complete; }},
    {"watchdog_enqueued", "INTEGER", [](auto& row) { return row.context.last_enqueued; }},
    {"watchdog_started", "INTEGER", [](auto& row) { return row.context.last_started; }},
    {"watchdog_completed", "INTEGER", [](auto& row) { return row.context.last_completed; }}};

constexpr ColumnOf<OperationRow> kOperations[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row_id(row.index); }},
    {"communicator_id", "INTEGER NOT NULL REFERENCES communicators(id)",
     [](auto& row) { return row_id(row.operation.communicator); }},
    {"function", "TEXT NOT NULL",
     [](auto& row) { return metrics::function_of(row.facts.traces(), row.operation); }},
    {"number", "INTEGER", [](auto& row) { return row.operation.number; }},
    {"occurrence", "INTEGER NOT NULL", [](auto& row) { return row.operation.occurrence; }},
    {"way", "TEXT NOT NULL",
     [](auto& row) { return kWays[static_cast<std::size_t>(row.operation.way)]; }},
    {"verdict", "TEXT NOT NULL",
     [](auto& row) { return std::string_view(match::verdict_name(row.judgement.verdict)); }},
    {"differs_in", "TEXT",
     [](auto& row) { return std::string_view(match::difference_name(row.judgement.difference)); }},
    {"bytes", "INTEGER", [](auto& row) { return bytes_of(row); }},
    {"datatype", "TEXT",
     [](auto& row) {
       const auto datatype = row.facts.traces().names.text(row.first.datatype);
       return value_if(!match::disagrees(row.judgement), std::string_view(datatype));
     }},
    {"called_by", "TEXT",
     [](auto& row) {
       return model::call_site(row.facts.traces().names.text(match::name_of_first(
           row.facts.traces(), row.facts.matches(), row.operation, &model::Operation::called_by)));
     }},
    {"source", "INTEGER",
     [](auto& row) {
       return value_if(row.operation.way == match::Way::kPair, row.operation.source);
     }},
    {"destination", "INTEGER",
     [](auto& row) {
       return value_if(row.operation.way == match::Way::kPair, row.operation.destination);
     }},
    {"ranks", "INTEGER NOT NULL",
     [](auto& row) { return match::ranks_expected(row.facts.matches(), row.operation); }},
    {"ranks_seen", "INTEGER NOT NULL",
     [](auto& row) { return match::ranks_seen(row.facts.matches(), row.operation); }},
    {"times_are_of", "TEXT",
     [](auto& row) {
       return value_if(row.has_times, kBases[static_cast<std::size_t>(row.known.basis)]);
     }},
    {"first_start_ns", "INTEGER",
     [](auto& row) { return value_if(row.has_times, row.known.first_arrival_ns); }},
    {"last_start_ns", "INTEGER",
     [](auto& row) { return value_if(row.has_times, row.known.last_arrival_ns); }},
    {"last_end_ns", "INTEGER",
     [](auto& row) { return value_if(row.has_ends, row.known.last_end_ns); }},
    {"busy_ns", "INTEGER",
     [](auto& row) { return value_if(row.has_ends && row.known.busy, row.known.best_busy_ns); }},
    {"busy_least_ns", "INTEGER",
     [](auto& row) { return busy_of(row, &facts::Interval::least_ns); }},
    {"busy_most_ns", "INTEGER", [](auto& row) { return busy_of(row, &facts::Interval::most_ns); }},
    {"waited_ns", "INTEGER", [](auto& row) { return value_if(row.has_ends, row.waited_ns); }},
    {"waited_least_ns", "INTEGER",
     [](auto& row) { return value_if(row.has_ends, row.waited.least_ns); }},
    {"waited_most_ns", "INTEGER",
     [](auto& row) { return value_if(row.has_ends, row.waited.most_ns); }},
    {"last_membership_id", "INTEGER REFERENCES memberships(id)",
     [](auto& row) { return row.last_membership_id; }},
    {"last_is_decided", "INTEGER", [](auto& row) { return row.last_is_decided; }},
    {"margin_least_ns", "INTEGER",
     [](auto& row) {
       return value_if(row.margin.has_value(), row.margin.value_or(facts::Interval{}).least_ns);
     }},
    {"margin_most_ns", "INTEGER", [](auto& row) {
       return value_if(row.margin.has_value(), row.margin.value_or(facts::Interval{}).most_ns);
     }}};

constexpr ColumnOf<FrameRow> kFrames[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"stack_id", "INTEGER NOT NULL", [](auto& row) { return row.stack_id; }},
    {"number", "INTEGER NOT NULL", [](auto& row) { return row.number; }},
    {"file", "TEXT NOT NULL",
     [](auto& row) { return place_in(row.frame).substr(0, place_in(row.frame).rfind(':')); }},
    {"line", "INTEGER", [](auto& row) { return line_in(row.frame); }},
    {"function", "TEXT", [](auto& row) {
       constexpr std::size_t kWord = std::string_view(" in ").size();
       return row.frame.substr(std::min(place_in(row.frame).size() + kWord, row.frame.size()));
     }}};

constexpr ColumnOf<CallRow> kCalls[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"operation_id", "INTEGER NOT NULL REFERENCES operations(id)",
     [](auto& row) { return row_id(row.operation); }},
    {"membership_id", "INTEGER NOT NULL REFERENCES memberships(id)",
     [](auto& row) { return row.membership_id; }},
    {"op", "INTEGER NOT NULL", [](auto& row) { return row.call.id; }},
    {"function", "TEXT NOT NULL", [](auto& row) { return text_of_name(row, row.call.func); }},
    {"seq", "INTEGER", [](auto& row) { return row.call.seq; }},
    {"count", "INTEGER", [](auto& row) { return row.call.count; }},
    {"datatype", "TEXT", [](auto& row) { return text_of_name(row, row.call.datatype); }},
    {"bytes", "INTEGER", [](auto& row) { return row.call.bytes; }},
    {"root", "INTEGER", [](auto& row) { return row.call.root; }},
    {"peer", "INTEGER", [](auto& row) { return row.call.peer; }},
    {"enqueue_start_ns", "INTEGER",
     [](auto& row) { return common_ns(row, row.call.enqueue_start_ns); }},
    {"enqueue_end_ns", "INTEGER",
     [](auto& row) { return common_ns(row, row.call.enqueue_end_ns); }},
    {"start_ns", "INTEGER",
     [](auto& row) {
       const auto start_ns = start_of(row);
       return start_ns ? value_of(*start_ns) : ExportValue();
     }},
    {"end_ns", "INTEGER", [](auto& row) { return end_of(row); }},
    {"waited_ns", "INTEGER",
     [](auto& row) {
       return row.rank != nullptr ? value_of(row.rank->best_wait_ns) : ExportValue();
     }},
    {"waited_least_ns", "INTEGER",
     [](auto& row) { return waiting_of(row, &facts::Interval::least_ns); }},
    {"waited_most_ns", "INTEGER",
     [](auto& row) { return waiting_of(row, &facts::Interval::most_ns); }},
    {"state", "TEXT NOT NULL",
     [](auto& row) { return std::string_view(state_name(row.call.state)); }},
    {"in_flight", "INTEGER NOT NULL", [](auto& row) { return row.call.in_flight; }},
    {"times_from", "TEXT NOT NULL",
     [](auto& row) { return std::string_view(times_from_name(row.call.times_from)); }},
    {"algo", "TEXT", [](auto& row) { return text_of_name(row, row.call.algo); }},
    {"proto", "TEXT", [](auto& row) { return text_of_name(row, row.call.proto); }},
    {"channels", "INTEGER",
     [](auto& row) { return value_if(row.call.channels != 0, row.call.channels); }},
    {"graph", "INTEGER NOT NULL", [](auto& row) { return row.call.graph; }},
    {"window", "INTEGER NOT NULL", [](auto& row) { return row.call.window; }},
    {"called_by", "TEXT",
     [](auto& row) { return model::calling_frame(text_of_name(row, row.call.called_by)); }},
    {"stack_id", "INTEGER", [](auto& row) { return row.stack_id; }},
    {"process_group", "TEXT", [](auto& row) { return text_of_name(row, row.call.process_group); }},
    {"torch_seq", "INTEGER", [](auto& row) { return row.call.torch_seq; }},
    {"user_tag", "TEXT", [](auto& row) { return text_of_name(row, row.call.user_tag); }}};

constexpr ColumnOf<StepRow> kSteps[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"process_id", "INTEGER NOT NULL REFERENCES processes(id)",
     [](auto& row) { return row_id(row.file); }},
    {"call_id", "INTEGER REFERENCES calls(id)", [](auto& row) { return row.call_id; }},
    {"peer", "INTEGER", [](auto& row) { return row.step.peer; }},
    {"channel", "INTEGER NOT NULL", [](auto& row) { return row.step.channel; }},
    {"is_send", "INTEGER NOT NULL", [](auto& row) { return row.step.is_send; }},
    {"in_flight", "INTEGER NOT NULL", [](auto& row) { return row.step.in_flight; }},
    {"start_ns", "INTEGER NOT NULL",
     [](auto& row) { return row.alignment.to_common_ns(row.file, row.step.start_ns); }},
    {"end_ns", "INTEGER",
     [](auto& row) {
       return row.step.end_ns ? value_of(row.alignment.to_common_ns(row.file, *row.step.end_ns))
                              : ExportValue();
     }},
    {"bytes", "INTEGER NOT NULL", [](auto& row) { return row.step.bytes; }},
    {"gpu_wait_ns", "INTEGER NOT NULL", [](auto& row) { return row.step.gpu_wait_ns; }},
    {"peer_wait_ns", "INTEGER NOT NULL", [](auto& row) { return row.step.peer_wait_ns; }},
    {"transfer_ns", "INTEGER NOT NULL", [](auto& row) { return row.step.transfer_ns; }},
    {"flush_ns", "INTEGER NOT NULL", [](auto& row) { return row.step.flush_ns; }}};

ExportValue cost_of(const RankRow& row, double replay::Cost::*which) {
  const std::optional<replay::Slow>& slow = row.replay.slow().ranks[row.rank];
  return slow ? value_of(100 * (slow->cost.*which)) : ExportValue();
}

constexpr ColumnOf<RankRow> kRanks[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"process_id", "INTEGER NOT NULL REFERENCES processes(id)",
     [](auto& row) { return row_id(row.job_rank().file); }},
    {"global_rank", "INTEGER", [](auto& row) { return rank_number(row.job_rank().label); }},
    {"operations", "INTEGER NOT NULL", [](auto& row) { return row.job_rank().kernel_count; }},
    {"wall_ns", "INTEGER NOT NULL", [](auto& row) { return row.replay.job().wall_ns; }},
    {"own_ns", "INTEGER NOT NULL", [](auto& row) { return row.figures().own_ns; }},
    {"own_ratio", "REAL", [](auto& row) { return row.figures().own_ratio; }},
    {"waited_ns", "INTEGER NOT NULL", [](auto& row) { return row.figures().waited_ns; }},
    {"cost_percent", "REAL", [](auto& row) { return cost_of(row, &replay::Cost::best); }},
    {"cost_least_percent", "REAL", [](auto& row) { return cost_of(row, &replay::Cost::least); }},
    {"cost_most_percent", "REAL", [](auto& row) { return cost_of(row, &replay::Cost::most); }}};

using metrics::Figure;
using metrics::Row;

// A figure of the times of a kind, and of its bandwidths.
template <auto kTimes, auto kWhich = &metrics::Spread::median, auto kBound = &Figure::best>
constexpr auto kTime = [](auto& kind) {
  const std::optional<metrics::Spread>& times = kind.row.*kTimes;
  return times ? value_of((*times).*kWhich.*kBound) : ExportValue();
};
template <auto kBandwidth>
constexpr auto kBest = [](auto& kind) {
  const std::optional<Figure>& figure = kind.row.*kBandwidth;
  return figure ? value_of(figure->best) : ExportValue();
};

constexpr ColumnOf<KindRow> kKinds[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& kind) { return kind.id; }},
    {"communicator_id", "INTEGER NOT NULL REFERENCES communicators(id)",
     [](auto& kind) { return row_id(kind.communicator); }},
    {"function", "TEXT NOT NULL", [](auto& kind) { return std::string_view(kind.row.function); }},
    {"bytes", "INTEGER", [](auto& kind) { return kind.row.bytes; }},
    {"datatype", "TEXT", [](auto& kind) { return std::string_view(kind.row.datatype); }},
    {"algorithm", "TEXT", [](auto& kind) { return std::string_view(kind.row.algorithm); }},
    {"protocol", "TEXT", [](auto& kind) { return std::string_view(kind.row.protocol); }},
    {"times_from", "TEXT NOT NULL",
     [](auto& kind) { return std::string_view(times_from_name(kind.row.times_from)); }},
    {"is_grouped", "INTEGER NOT NULL", [](auto& kind) { return kind.row.is_grouped; }},
    {"operations", "INTEGER NOT NULL", [](auto& kind) { return kind.row.count; }},
    {"busy_ns", "REAL", kTime<&Row::busy>},
    {"busy_least_ns", "REAL",
     [](auto& kind) {
       const auto& least = kTime<&Row::busy, &metrics::Spread::median, &Figure::least>;
       return kind.row.is_least_open() ? ExportValue() : least(kind);
     }},
    {"busy_most_ns", "REAL", kTime<&Row::busy, &metrics::Spread::median, &Figure::most>},
    {"busy_p99_ns", "REAL", kTime<&Row::busy, &metrics::Spread::p99>},
    {"wall_ns", "REAL", kTime<&Row::wall>},
    {"wait_ns", "REAL", kTime<&Row::wait>},
    {"waited_ns", "INTEGER NOT NULL", [](auto& kind) { return kind.row.waited_ns; }},
    {"algbw_gb_s", "REAL", kBest<&Row::algbw_gb_s>},
    {"busbw_gb_s", "REAL", kBest<&Row::busbw_gb_s>}};

constexpr ColumnOf<LinkRow> kLinks[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"membership_id", "INTEGER NOT NULL REFERENCES memberships(id)",
     [](auto& row) { return row.membership_id; }},
    {"process_id", "INTEGER NOT NULL REFERENCES processes(id)",
     [](auto& row) { return row_id(row.link.file); }},
    {"peer", "INTEGER", [](auto& row) { return row.link.peer; }},
    {"channel", "INTEGER NOT NULL", [](auto& row) { return row.link.channel; }},
    {"is_send", "INTEGER NOT NULL", [](auto& row) { return row.link.is_send; }},
    {"transfers", "INTEGER NOT NULL", [](auto& row) { return row.link.transfers; }},
    {"bytes", "INTEGER", [](auto& row) { return value_if(row.link.bytes > 0, row.link.bytes); }},
    {"gb_s", "REAL", [](auto& row) { return row.link.throughput.gb_s(); }},
    {"least_gb_s", "REAL", [](auto& row) { return row.link.throughput.least_gb_s(); }},
    {"most_gb_s", "REAL", [](auto& row) { return row.link.throughput.most_gb_s(); }},
    {"step_median_ns", "REAL", [](auto& row) { return row.link.step_median_ns; }},
    {"gpu_wait_ns", "REAL NOT NULL", [](auto& row) { return row.link.gpu_wait_ns; }},
    {"peer_wait_ns", "REAL NOT NULL", [](auto& row) { return row.link.peer_wait_ns; }},
    {"transfer_ns", "REAL NOT NULL", [](auto& row) { return row.link.transfer_ns; }},
    {"flush_ns", "REAL NOT NULL", [](auto& row) { return row.link.flush_ns; }},
    {"slow_factor", "REAL",
     [](auto& row) { return row.link.slow ? value_of(row.link.slow->factor) : ExportValue(); }}};

constexpr ColumnOf<FindingRow> kFindings[] = {
    {"id", "INTEGER PRIMARY KEY", [](auto& row) { return row.id; }},
    {"severity", "TEXT NOT NULL", [](auto& row) { return severity_name(row.finding.severity); }},
    {"kind", "TEXT NOT NULL", [](auto& row) { return std::string_view(row.finding.kind); }},
    {"text", "TEXT NOT NULL", [](auto& row) { return std::string_view(row.finding.text); }}};

constexpr const char* kMembershipIndices[] = {"communicator_id, rank", "process_id"};
constexpr const char* kOperationIndices[] = {"communicator_id, function, bytes", "verdict",
                                             "last_membership_id"};
constexpr const char* kFrameIndices[] = {"stack_id, number"};
constexpr const char* kCallIndices[] = {"operation_id", "membership_id"};
constexpr const char* kStepIndices[] = {"call_id", "process_id"};

template <typename Row, std::size_t kCount>
ExportTable table(const char* name, const ColumnOf<Row> (&columns)[kCount],
                  std::span<const char* const> indexed = {}) {
  return {name, {std::begin(columns), std::end(columns)}, indexed};
}

// In the order of ExportTableId.
constexpr std::tuple kColumns{
    std::span{kMeta},          std::span{kHosts},       std::span{kProcesses},
    std::span{kCommunicators}, std::span{kMemberships}, std::span{kOperations},
    std::span{kFrames},        std::span{kCalls},       std::span{kSteps},
    std::span{kRanks},         std::span{kKinds},       std::span{kLinks},
    std::span{kFindings}};

}  // namespace

const std::array<ExportTable, kExportTableCount>& export_tables() {
  static const std::array<ExportTable, kExportTableCount> tables = {
      table("meta", kMeta),
      table("hosts", kHosts),
      table("processes", kProcesses),
      table("communicators", kCommunicators),
      table("memberships", kMemberships, kMembershipIndices),
      table("operations", kOperations, kOperationIndices),
      table("frames", kFrames, kFrameIndices),
      table("calls", kCalls, kCallIndices),
      table("steps", kSteps, kStepIndices),
      table("ranks", kRanks),
      table("kinds", kKinds),
      table("links", kLinks),
      table("findings", kFindings)};
  return tables;
}

template <typename Row>
void add_row(ExportSink& sink, const Row& row) {
  const auto& columns = std::get<static_cast<std::size_t>(Row::kTable)>(kColumns);
  std::array<ExportValue, std::decay_t<decltype(columns)>::extent> values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = columns[i].value(row);
    const auto* const text = std::get_if<std::string_view>(&values[i]);
    if (text != nullptr && text->empty() && !columns[i].is_required) {
      values[i] = {};
    }
  }
  sink.add(Row::kTable, values);
}

template void add_row(ExportSink& sink, const MetaRow& row);
template void add_row(ExportSink& sink, const HostRow& row);
template void add_row(ExportSink& sink, const ProcessRow& row);
template void add_row(ExportSink& sink, const CommunicatorRow& row);
template void add_row(ExportSink& sink, const MembershipRow& row);
template void add_row(ExportSink& sink, const OperationRow& row);
template void add_row(ExportSink& sink, const FrameRow& row);
template void add_row(ExportSink& sink, const CallRow& row);
template void add_row(ExportSink& sink, const StepRow& row);
template void add_row(ExportSink& sink, const RankRow& row);
template void add_row(ExportSink& sink, const KindRow& row);
template void add_row(ExportSink& sink, const LinkRow& row);
template void add_row(ExportSink& sink, const FindingRow& row);

}  // namespace ringside::report
