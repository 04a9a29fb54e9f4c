// SPDX-License-Identifier: Apache-2.0
//
// Written for dumps of versions 2.0 to 2.10, with the fields that they have. Recordings: PyTorch
// 2.15.0's ProcessGroupNCCL and nccl2 (test/data/flight_recorder). Dumps of torchcomms are read as
// its source of 2026 writes them (comms/torchcomms/hooks/fr/FlightRecorder.cpp).
#include "analyzer/load/flight_recorder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace ringside::load {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::string_view kDecimalDigits = "0123456789";

template <typename Integer>
std::optional<Integer> parse_number(std::string_view digits) {
  Integer number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc() && rest == end && !digits.empty() ? std::optional(number)
                                                                : std::nullopt;
}

// All numbers in a text such as "[0, 1]"; none if one of them is too large.
std::vector<std::uint32_t> numbers_in(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t at = text.find_first_of(kDecimalDigits); at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(kDecimalDigits, at), text.size());
    const auto number = parse_number<std::uint32_t>(text.substr(at, end - at));
    if (!number) {
      return {};
    }
    numbers.push_back(*number);
    at = text.find_first_of(kDecimalDigits, end);
  }
  return numbers;
}

// The number behind the minus sign of "fr_rank_-1" is no rank; "fr-1" has none.
bool ends_with_minus(std::string_view before_digits) {
  return before_digits.ends_with('-') &&
         (before_digits.size() == 1 ||
          std::string_view("_-.").find(before_digits.end()[-2]) != std::string_view::npos);
}

// JSON writes 0 for a time that a pickle has None for.
std::optional<std::int64_t> time_of(const PlainValue& value) {
  const auto time_ns = integer_of(value);
  return time_ns && *time_ns > 0 ? time_ns : std::nullopt;
}

std::uint64_t bytes_of_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 17> kBytes = {
      {{"Float", 4},
       {"Double", 8},
       {"Half", 2},
       {"BFloat16", 2},
       {"Byte", 1},
       {"Char", 1},
       {"Short", 2},
       {"Int", 4},
       {"Long", 8},
       {"Bool", 1},
       {"UInt16", 2},
       {"UInt32", 4},
       {"UInt64", 8},
       {"ComplexHalf", 4},
       {"ComplexFloat", 8},
       {"ComplexDouble", 16},
       {"Float8_e4m3fn", 1}}};
  const auto found = std::find_if(kBytes.begin(), kBytes.end(),
                                  [&](const auto& one) { return one.first == type; });
  return found != kBytes.end() ? found->second : type.starts_with("Float8_") ? 1 : 0;
}

// The tensors that one side of a call has.
struct Tensors {
  std::optional<std::uint64_t> count;  // of elements, in all
  std::optional<std::uint64_t> bytes;
  std::string_view type;  // empty if it has none, or several
};

// The tensors that have the same size on all ranks that make the same call.
enum class Alike : std::uint8_t { kNone, kInput, kOutput };

// The sizes of other functions may differ from rank to rank: those of all_to_all do, and a root has
// other tensors than the rest. Ranks may give all_gather tensors of different sizes, and each gets
// the same size from it.
Alike alike_in(std::string_view func) {
  constexpr std::array<std::pair<std::string_view, Alike>, 19> kAlike = {
      {{"all_reduce", Alike::kInput},
       {"all_reduce_barrier", Alike::kInput},
       {"allreduce_coalesced", Alike::kInput},
       {"broadcast", Alike::kInput},
       {"_broadcast_oop", Alike::kOutput},
       {"reduce", Alike::kInput},
       {"_reduce_oop", Alike::kInput},
       {"gather", Alike::kInput},
       {"scatter", Alike::kOutput},
       {"_all_gather_base", Alike::kOutput},
       {"all_gather", Alike::kOutput},
       {"all_gather_single", Alike::kOutput},
       {"all_gather_into_tensor_coalesced", Alike::kOutput},
       {"_reduce_scatter_base", Alike::kInput},
       {"reduce_scatter", Alike::kInput},
       {"reduce_scatter_single", Alike::kInput},
       {"reduce_scatter_tensor_coalesced", Alike::kInput},
       {"Send", Alike::kInput},
       {"Recv", Alike::kOutput}}};
  const auto found = std::find_if(kAlike.begin(), kAlike.end(),
                                  [&](const auto& one) { return one.first == func; });
  return found == kAlike.end() ? Alike::kNone : found->second;
}

// Each rank may give and take other sizes, but what all give is what all take.
bool is_all_to_all(std::string_view call) {
  return call == "all_to_all" || call == "all_to_all_single" || call == "all_to_all_v_single";
}

// From version 2.7 on also the end of collectives that are called together.
bool is_end_of_group(std::string_view call) {
  return call == "coalesced" || call == "ALLGATHER_coalesced" || call == "REDUCE_SCATTER_coalesced";
}

// An entry of the dump.
struct DumpEntry {
  std::string_view call;  // as all_reduce; without what stands before the last colon
  model::Operation operation;
  std::optional<std::int64_t> collective;  // numbers of its group
  std::optional<std::int64_t> point_to_point;
  std::vector<std::uint64_t> input_bytes;  // of each tensor
  std::vector<std::uint64_t> output_bytes;
};

class DumpReader {
 public:
  DumpReader(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
             std::uint32_t replica_ranks)
      : tree_(tree), root_(root), rank_(rank), dump_(dump), replica_ranks_(replica_ranks) {}

  std::string read() {
    const PlainValue entries = tree_.at(root_, "entries");
    if (entries.kind != PlainValue::Kind::kList) {
      return "no Flight Recorder dump: it has no list of entries";
    }
    if (std::string trouble = check_version(); !trouble.empty()) {
      return trouble;
    }
    find_begin(entries);
    is_torchcomms_ = is_of_torchcomms(entries);
    fill_process();
    find_groups();
    std::uint64_t place = 0;
    for (const PlainValue& value : tree_.list(entries)) {
      const char* const trouble = add(value);
      if (*trouble != '\0') {
        dump_.problems.add_line({}, place + 1, trouble);
        ++dump_.file.bad_lines;
      }
      ++place;
    }
    dump_.file.lines = place;
    for (const DumpEntry& entry : entries_) {
      if (!entry.call.empty()) {
        dump_.file.operations.push_back(entry.operation);
        add_tensors(entry);
        ++dump_.file.contexts[entry.operation.context].operations;
      }
    }
    dump_.file.operations_written = dump_.file.operations.size();
    return {};
  }

 private:
  void add_tensors(const DumpEntry& entry) {
    const bool is_p2p = entry.operation.kind == model::Kind::kPointToPoint;
    const auto seq = is_p2p ? entry.point_to_point : entry.collective;
    dump_.file.tensors.push_back(
        {static_cast<std::uint32_t>(entry.input_bytes.size()),
         static_cast<std::uint32_t>(entry.output_bytes.size()),
         seq && *seq >= 0 ? std::optional(static_cast<std::uint64_t>(*seq)) : std::nullopt});
    for (const auto* const sizes : {&entry.input_bytes, &entry.output_bytes}) {
      dump_.file.tensor_bytes.insert(dump_.file.tensor_bytes.end(), sizes->begin(), sizes->end());
    }
  }

  std::string check_version() {
    const std::string_view text = tree_.text(tree_.at(root_, "version"));
    const std::size_t dot = text.find('.');
    const auto major = parse_number<std::uint32_t>(text.substr(0, dot));
    const auto minor = dot < text.size() ? parse_number<std::uint32_t>(text.substr(dot + 1))
                                         : std::optional<std::uint32_t>();
    if (!major || !minor) {
      return "no Flight Recorder dump: its version is not told";
    }
    minor_ = *minor;
    return *major == 2
               ? ""
               : "version " + std::string(text) +
                     " of the Flight Recorder's dumps; versions 2.0 and newer of 2 are read";
  }

  // The buffer of the recorder is a ring: where its first entry is not number 0, the ones before
  // are lost.
  void find_begin(const PlainValue& entries) {
    std::optional<std::int64_t> first_ns;
    std::optional<std::int64_t> first_record;
    const auto take_least = [](auto& least, const auto& value) {
      if (value && (!least || *value < *least)) {
        least = value;
      }
    };
    for (const PlainValue& value : tree_.list(entries)) {
      take_least(first_ns, time_of(tree_.at(value, "time_created_ns")));
      take_least(first_record, integer_of(tree_.at(value, "record_id")));
    }
    begin_ns_ = first_ns.value_or(0);
    base_s_ = begin_ns_ / kNsPerSecond;
    dump_.file.account.rotated =
        static_cast<std::uint64_t>(std::max<std::int64_t>(first_record.value_or(0), 0));
  }

  // torchcomms counts all calls of a process together, from 0 as its records, and describes a group
  // by its backend. PyTorch counts from 1, each group for itself.
  bool is_of_torchcomms(const PlainValue& entries) const {
    const auto all = tree_.list(entries);
    return !all.empty() && std::all_of(all.begin(), all.end(), [&](const PlainValue& value) {
      const auto names = tree_.list(tree_.at(value, "process_group"));
      const std::string_view call = tree_.text(tree_.at(value, "profiling_name"));
      const auto record = integer_of(tree_.at(value, "record_id"));
      return names.size() == 2 && call.substr(0, call.find(':')) == tree_.text(names[1]) &&
             record && record == integer_of(tree_.at(value, "collective_seq_id")) &&
             integer_of(tree_.at(value, "p2p_seq_id")) == 0;
    });
  }

  // Numbers are made those of the group, if its calls are all there. A call that is retired has
  // ended, whatever its state says. Sends and receives do not tell their peers.
  void take_torchcomms(const PlainValue& value, DumpEntry& entry) {
    model::Operation& operation = entry.operation;
    if (tree_.at(value, "retired").number != 0) {
      operation.state = model::State::kCompleted;
      operation.in_flight = false;
    }
    entry.collective = std::nullopt;
    if (entry.call == "send" || entry.call == "recv" || entry.call == "batch_op_issue") {
      operation.kind = model::Kind::kPointToPoint;
      entry.call = entry.call == "send" ? "Send" : entry.call == "recv" ? "Recv" : entry.call;
    } else if (dump_.file.account.rotated == 0) {
      entry.collective = calls_of_context_[operation.context]++;
    }
  }

  std::int64_t relative(std::int64_t time_ns) const { return time_ns - base_s_ * kNsPerSecond; }

  void fill_process() {
    model::TraceFile& file = dump_.file;
    model::Process& process = file.process;
    process.run_id = "Flight Recorder, rank " + std::to_string(rank_);
    process.dump = true;
    process.boot_id = process.run_id;  // its clock is not known, so it counts as one of its own
    process.launcher_rank = rank_;
    process.base_time_s = base_s_;
    process.start_ns = relative(begin_ns_);
    process.tells_begin = false;
    process.tells_moment = false;
    // Window number 1 means that recording began with it, so that no call came before.
    window_ = file.account.rotated == 0 ? 1 : 2;
    file.windows[window_].start_ns = process.start_ns;
    file.last_ns = process.start_ns;
    file.closed = true;
  }

  // Returns nothing if the dump does not say that this rank is in the group. Its rank there and the
  // number of ranks are then not known, and no verdict could be right.
  std::optional<std::uint32_t> context_of(const PlainValue& value) {
    const PlainValue group = tree_.at(value, "process_group");
    const auto names = tree_.list(group);
    const auto number = integer_of(tree_.at(value, "pg_id"));
    const std::string name(!names.empty() ? tree_.text(names[0])
                           : number       ? std::to_string(*number)
                                          : std::string());
    const auto found = contexts_.find(name);
    if (found == contexts_.end()) {
      return std::nullopt;
    }
    const std::string_view description =
        names.size() > 1 ? tree_.text(names[1]) : std::string_view();
    model::Context& context = dump_.file.contexts[found->second];
    if (!description.empty() && description != "undefined" && !is_torchcomms_) {
      context.name = description;
    }
    if (number && !context.last_enqueued) {
      const PlainValue status = tree_.at(tree_.at(root_, "pg_status"), std::to_string(*number));
      context.last_enqueued = watched_number(tree_.at(status, "last_enqueued_collective"));
      context.last_started = watched_number(tree_.at(status, "last_started_collective"));
      context.last_completed = watched_number(tree_.at(status, "last_completed_collective"));
    }
    return found->second;
  }

  // JSON has these as texts; -1 is none.
  std::optional<std::int64_t> watched_number(const PlainValue& value) const {
    const auto number = value.kind == PlainValue::Kind::kText
                            ? parse_number<std::int64_t>(tree_.text(value))
                            : integer_of(value);
    return number && *number >= 0 ? number : std::nullopt;
  }

  // From ranks within a replica group of torchft.
  void make_global(std::vector<std::uint32_t>& ranks, std::string& listed) const {
    const auto first = static_cast<std::uint32_t>(rank_ - rank_ % replica_ranks_);
    listed.clear();
    for (std::uint32_t& rank : ranks) {
      rank += first;
      listed += listed.empty() ? "[" : ", ";
      listed += std::to_string(rank);
    }
    listed += ']';
  }

  // All groups of this rank, also those that it has never called. Names of groups are the same on
  // all their ranks, and so are the lists of these.
  void find_groups() {
    const auto groups = tree_.dict(tree_.at(root_, "pg_config"));
    for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
      const std::string name(tree_.text(groups[i]));
      std::string listed(tree_.text(tree_.at(groups[i + 1], "ranks")));
      std::vector<std::uint32_t> ranks = numbers_in(listed);
      const std::string_view description = tree_.text(tree_.at(groups[i + 1], "desc"));
      if (replica_ranks_ > 0 && description == "default_pg") {
        make_global(ranks, listed);
      }
      const auto own = std::find(ranks.begin(), ranks.end(), rank_);
      if (own == ranks.end() ||
          !contexts_.try_emplace(name, static_cast<std::uint32_t>(contexts_.size() + 1)).second) {
        continue;
      }
      model::Context& context = dump_.file.contexts[contexts_[name]];
      const bool is_described =
          !description.empty() && description != "undefined" && !is_torchcomms_;
      context.name = is_described ? description : std::string_view(name);
      context.comm = std::string(name).append(" ").append(listed);
      context.created_ns = dump_.file.process.start_ns;
      context.rank = static_cast<std::uint32_t>(own - ranks.begin());
      context.nranks = static_cast<std::uint32_t>(ranks.size());
    }
  }

  Tensors tensors_of(const PlainValue& value, const char* sizes_key, const char* types_key,
                     std::vector<std::uint64_t>& each_bytes) const {
    const auto sizes = tree_.list(tree_.at(value, sizes_key));
    const auto types = tree_.list(tree_.at(value, types_key));
    Tensors tensors;
    if (sizes.empty()) {
      return tensors;
    }
    tensors.count = 0;
    tensors.bytes = 0;
    tensors.type = types.empty() ? std::string_view() : tree_.text(types[0]);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string_view type =
          types.empty() ? std::string_view() : tree_.text(types[std::min(i, types.size() - 1)]);
      tensors.type = type == tensors.type ? type : std::string_view();
      each_bytes.push_back(add_tensor(sizes[i], bytes_of_type(type), tensors));
    }
    return tensors;
  }

  // Nothing is told of a size that is damaged, or of a type that is not known. Returns the bytes of
  // the tensor, then more than any message has.
  std::uint64_t add_tensor(const PlainValue& sizes, std::uint64_t bytes_of_element,
                           Tensors& tensors) const {
    std::uint64_t count = 1;
    bool is_known = sizes.kind == PlainValue::Kind::kList;
    for (const PlainValue& size : tree_.list(sizes)) {
      const auto number = integer_of(size);
      is_known = is_known && number && *number >= 0 &&
                 !__builtin_mul_overflow(count, static_cast<std::uint64_t>(*number), &count);
    }
    const auto add = [](std::optional<std::uint64_t>& sum, std::uint64_t more, bool is_told) {
      constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
      sum = is_told && sum && more < kMost && *sum < kMost ? std::optional(*sum + more)
                                                           : std::nullopt;
    };
    std::uint64_t bytes = 0;
    const bool has_bytes = is_known && bytes_of_element > 0 &&
                           !__builtin_mul_overflow(count, bytes_of_element, &bytes);
    add(tensors.count, count, is_known);
    add(tensors.bytes, bytes, has_bytes);
    return has_bytes ? bytes : std::numeric_limits<std::uint64_t>::max();
  }

  // "send 0->1" and "recv 3<-?": ranks of the group; a question mark stands for any peer.
  static void take_peer(DumpEntry& entry) {
    const bool is_send = entry.call.starts_with("send ");
    const std::size_t arrow = entry.call.find(is_send ? "->" : "<-");
    if (arrow < entry.call.size()) {
      entry.operation.peer = parse_number<std::uint32_t>(entry.call.substr(arrow + 2));
    }
    entry.operation.kind = model::Kind::kPointToPoint;
    entry.call = is_send ? "Send" : "Recv";
  }

  void fill_tensors(const PlainValue& value, DumpEntry& entry) {
    const Tensors input = tensors_of(value, "input_sizes", "input_dtypes", entry.input_bytes);
    const Tensors output = tensors_of(value, "output_sizes", "output_dtypes", entry.output_bytes);
    const Alike alike = alike_in(entry.call);
    const Tensors& told = alike == Alike::kOutput ? output : input;
    entry.operation.datatype = dump_.names.id(told.type);
    // Before version 2.4 the sizes of an all_to_all are not those of its tensors.
    constexpr std::uint32_t kTellsAllToAll = 4;
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (is_all_to_all(entry.call) && minor_ >= kTellsAllToAll &&
        std::max(input.count.value_or(kMost), output.count.value_or(kMost)) < kMost) {
      entry.operation.surplus =
          static_cast<std::int64_t>(*input.count) - static_cast<std::int64_t>(*output.count);
    }
    if (alike != Alike::kNone) {
      entry.operation.count = told.count;
      entry.operation.bytes = told.bytes;
    }
  }

  // The stack as call_site.h has it. Entries of a pickle share the containers of their frames, so
  // that few stacks are made into text.
  model::NameId stack_of(const PlainValue& entry) {
    std::vector<std::int64_t> frames;
    for (const PlainValue& frame : tree_.list(tree_.at(entry, "frames"))) {
      if (frame.kind == PlainValue::Kind::kDict) {
        frames.push_back(frame.number);
      }
    }
    const auto [known, is_new] = stacks_.try_emplace(std::move(frames), model::kNoName);
    if (is_new) {
      std::string text;
      for (const PlainValue& frame : tree_.list(tree_.at(entry, "frames"))) {
        if (frame.kind != PlainValue::Kind::kDict) {
          continue;
        }
        const std::string_view function = tree_.text(tree_.at(frame, "name"));
        const std::string_view file = tree_.text(tree_.at(frame, "filename"));
        const auto line = integer_of(tree_.at(frame, "line"));
        text += text.empty() ? "" : "\n";
        text.append(file).append(":").append(line ? std::to_string(*line) : "?");
        text.append(" in ").append(function);
      }
      known->second = dump_.names.id(text);
    }
    return known->second;
  }

  // Returns why it is left out; empty if it is not.
  const char* add(const PlainValue& value) {
    const std::string_view name = tree_.text(tree_.at(value, "profiling_name"));
    const std::string_view state = tree_.text(tree_.at(value, "state"));
    const auto created_ns = time_of(tree_.at(value, "time_created_ns"));
    if (name.empty() || !created_ns) {
      return "an entry without profiling_name or time_created_ns; it is left out";
    }
    DumpEntry entry;
    entry.call = name.substr(name.rfind(':') + 1);
    model::Operation& operation = entry.operation;
    if (state == "completed") {
      operation.state = model::State::kCompleted;
    } else if (state == "started") {
      operation.state = model::State::kStarted;
    } else if (state != "scheduled") {
      return "an entry with another state than scheduled, started and completed; it is left out";
    }
    operation.id = static_cast<std::uint64_t>(
        integer_of(tree_.at(value, "record_id")).value_or(static_cast<std::int64_t>(next_id_)));
    next_id_ = operation.id + 1;
    const auto context = context_of(value);
    if (!context) {
      return "an entry of a group of which pg_config does not say that this rank is in it; it is "
             "left out";
    }
    operation.context = *context;
    operation.in_flight = operation.state != model::State::kCompleted;
    operation.window = window_;
    operation.enqueue_start_ns = relative(*created_ns);
    note_moment(*created_ns);
    note_moment(time_of(tree_.at(value, "time_discovered_started_ns")).value_or(0));
    note_moment(time_of(tree_.at(value, "time_discovered_completed_ns")).value_or(0));
    entry.collective = integer_of(tree_.at(value, "collective_seq_id"));
    entry.point_to_point = integer_of(tree_.at(value, "p2p_seq_id"));
    if (is_torchcomms_) {
      take_torchcomms(value, entry);
    }
    if (entry.call.starts_with("send ") || entry.call.starts_with("recv ")) {
      take_peer(entry);
    } else if (is_end_of_group(entry.call) && end_group(entry)) {
      return "";
    } else if (entry.collective && *entry.collective >= 0) {
      operation.seq = static_cast<std::uint64_t>(*entry.collective);
    }
    fill_tensors(value, entry);
    operation.func = dump_.names.id(entry.call);
    operation.called_by = stack_of(value);
    last_of_context_[operation.context].push_back(entries_.size());
    entries_.push_back(std::move(entry));
    return "";
  }

  // ProcessGroupNCCL lists the calls of a group, which stay scheduled for ever. Behind them is an
  // entry with their numbers and the state of all. Returns false if no call was listed: then that
  // entry stands for the calls.
  bool end_group(const DumpEntry& end) {
    std::vector<std::size_t>& before = last_of_context_[end.operation.context];
    std::size_t first = before.size();
    while (first > 0 && !entries_[before[first - 1]].operation.group &&
           entries_[before[first - 1]].collective == end.collective &&
           entries_[before[first - 1]].point_to_point == end.point_to_point &&
           entries_[before[first - 1]].operation.state != model::State::kCompleted) {
      --first;
    }
    if (first == before.size()) {
      // If the ring has lost the calls of the group, only its number tells it: no collective has
      // it.
      const bool may_be_cut_off = before.empty() && dump_.file.account.rotated > 0;
      const bool repeats = !before.empty() && entries_[before.back()].collective == end.collective;
      return may_be_cut_off || repeats;
    }
    ++groups_;
    for (std::size_t i = first; i < before.size(); ++i) {
      model::Operation& operation = entries_[before[i]].operation;
      operation.state = end.operation.state;
      operation.in_flight = end.operation.in_flight;
      operation.group = groups_;
    }
    return true;
  }

  void note_moment(std::int64_t time_ns) {
    auto& last_ns = dump_.file.last_ns;
    last_ns = std::max(last_ns.value_or(0), relative(std::max(time_ns, begin_ns_)));
  }

  const PlainTree& tree_;
  const PlainValue& root_;
  const std::int64_t rank_;
  Dump& dump_;
  const std::uint32_t replica_ranks_;  // DumpChoice has it
  std::uint32_t minor_ = 0;            // of the version
  bool is_torchcomms_ = false;
  std::map<std::uint32_t, std::int64_t> calls_of_context_;  // collectives, of torchcomms only
  std::int64_t begin_ns_ = 0;
  std::int64_t base_s_ = 0;
  std::map<std::string, std::uint32_t> contexts_;              // by the group's name
  std::map<std::vector<std::int64_t>, model::NameId> stacks_;  // by the containers of the frames
  std::vector<DumpEntry> entries_;
  std::map<std::uint32_t, std::vector<std::size_t>> last_of_context_;  // indices of entries_
  std::uint64_t window_ = 1;
  std::uint64_t groups_ = 0;
  std::uint64_t next_id_ = 0;
};

}  // namespace

std::optional<std::int64_t> rank_of_dump(std::string_view path, std::string_view prefix) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".json", ".pickle", ".pkl"}) {
    if (name.ends_with(ending)) {
      name.remove_suffix(ending.size());
    }
  }
  const std::size_t digits =
      prefix.empty() ? name.find_last_not_of(kDecimalDigits) + 1 : prefix.size();
  if (!name.starts_with(prefix) || (prefix.empty() && ends_with_minus(name.substr(0, digits)))) {
    return std::nullopt;
  }
  const auto rank = parse_number<std::int64_t>(name.substr(digits));
  return rank && *rank >= 0 ? rank : std::nullopt;
}

std::string read_dump(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
                      std::uint32_t replica_ranks) {
  std::string trouble = DumpReader(tree, root, rank, dump, replica_ranks).read();
  return tree.is_exhausted()
             ? "no Flight Recorder dump: the same lists and texts are in so many places that it "
               "would take too long to read"
             : trouble;
}

}  // namespace ringside::load
