// SPDX-License-Identifier: Apache-2.0
//
// Written for dumps of versions 2.0 to 2.10, with the fields that they have. Recordings: PyTorch
// 2.15.0's ProcessGroupNCCL and nccl2 (test/data/flight_recorder). Dumps of torchcomms are read as
// its source of 2026 writes them (comms/torchcomms/hooks/fr/FlightRecorder.cpp).
#include "analyzer/load/flight_recorder.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/load/dump_entry.h"
#include "analyzer/load/dump_groups.h"
#include "analyzer/load/dump_stacks.h"
#include "analyzer/load/dump_tensors.h"
#include "analyzer/load/parse_number.h"

namespace ringside::load {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint32_t kTellsTypes = 2;  // the version that has datatypes, or an earlier one
// A number that is so far above the one before is damaged, unless the next one is, too.
constexpr std::int64_t kMostLeap = 1000;
constexpr std::int64_t kMostFirstNumber = std::int64_t{1} << 40;

// JSON writes 0 for a time that a pickle has None for.
std::optional<std::int64_t> time_of(const PlainValue& value) {
  const auto time_ns = integer_of(value);
  return time_ns && *time_ns > 0 ? time_ns : std::nullopt;
}

class DumpReader {
 public:
  DumpReader(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
             std::uint32_t replica_ranks, std::vector<DumpEntry>& entries)
      : tree_(tree),
        root_(root),
        rank_(rank),
        dump_(dump),
        replica_ranks_(replica_ranks),
        tensors_(tree, dump.names, dump.has_tensors),
        stacks_(tree, dump.names),
        entries_(entries) {}

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
    last_of_context_.assign(contexts_.size() + 1, kNoEntry);
    entries_.reserve(tree_.list(entries).size());
    next_id_ = dump_.file.account.rotated;
    for (const PlainValue& value : tree_.list(entries)) {
      ++place_;
      add(value);
    }
    tell_lost_entries();
    dump_.file.lines = place_;
    if (dump_.has_tensors) {
      dump_.file.tensors.reserve(entries_.size());
      dump_.file.tensor_bytes.reserve(tensors_.bytes().size());
    }
    for (const DumpEntry& entry : entries_) {
      if (!entry.call.empty()) {
        dump_.file.operations.push_back(entry.operation);
        if (dump_.has_tensors) {
          add_tensors(entry);
        }
        if (entry.is_doubtful) {
          dump_.file.doubtful.push_back(entry.operation.id);
        }
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
        {entry.inputs, entry.outputs,
         seq && *seq >= 0 ? std::optional(static_cast<std::uint64_t>(*seq)) : std::nullopt});
    const auto first = tensors_.bytes().begin() + static_cast<std::ptrdiff_t>(entry.first_tensor);
    dump_.file.tensor_bytes.insert(dump_.file.tensor_bytes.end(), first,
                                   first + entry.inputs + entry.outputs);
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
      take_least(first_ns, time_of(tree_.at(value, keys_.time_created_ns)));
      take_least(first_record, integer_of(tree_.at(value, keys_.record_id)));
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
      const auto names = tree_.list(tree_.at(value, keys_.process_group));
      const std::string_view call = tree_.text(tree_.at(value, keys_.profiling_name));
      const auto record = integer_of(tree_.at(value, keys_.record_id));
      return names.size() == 2 && call.substr(0, call.find(':')) == tree_.text(names[1]) &&
             record && record == integer_of(tree_.at(value, keys_.collective_seq_id)) &&
             integer_of(tree_.at(value, keys_.p2p_seq_id)) == 0;
    });
  }

  // Numbers are made those of the group, if its calls are all there. A call that is retired has
  // ended, whatever its state says. Sends and receives do not tell their peers.
  void take_torchcomms(const PlainValue& value, DumpEntry& entry) {
    model::Operation& operation = entry.operation;
    if (tree_.at(value, keys_.retired).number != 0) {
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
    const auto names = tree_.list(tree_.at(value, keys_.process_group));
    const PlainValue id = tree_.at(value, keys_.pg_id);
    const PlainValue name = names.empty() ? PlainValue() : names[0];
    const PlainValue description = names.size() > 1 ? names[1] : PlainValue();
    // Most entries are of the same group as the one before, and share its texts.
    if (const std::array<PlainValue, 3> group = {id, name, description}; last_group_ != group) {
      last_group_ = group;
      last_context_ = find_context(integer_of(id), tree_.text(name), tree_.text(description));
    }
    return last_context_;
  }

  std::optional<std::uint32_t> find_context(std::optional<std::int64_t> number,
                                            std::string_view name, std::string_view description) {
    const auto found = contexts_.find(!name.empty() || !number ? name : std::to_string(*number));
    if (found == contexts_.end()) {
      return std::nullopt;
    }
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

  // The watchdog has seen calls, and no entry is there.
  void tell_lost_entries() {
    const auto groups = tree_.dict(tree_.at(root_, "pg_status"));
    for (std::size_t i = 0; place_ == 0 && i + 1 < groups.size(); i += 2) {
      const auto number = watched_number(tree_.at(groups[i + 1], "last_enqueued_collective"));
      if (number.value_or(0) > 0) {
        tell_loss("there are no entries, and pg_status says that number " +
                  std::to_string(*number) + " of group " + std::string(tree_.text(groups[i])) +
                  " was enqueued: the calls of this rank are not recorded");
      }
    }
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
    std::map<std::string_view, std::size_t> last;  // of a name that is there twice the last counts
    for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
      last[tree_.text(groups[i])] = i;
    }
    for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
      const std::string name(tree_.text(groups[i]));
      if (last[name] != i) {
        continue;
      }
      std::string listed(tree_.text(tree_.at(groups[i + 1], "ranks")));
      const auto told = ranks_in(listed);
      std::vector<std::uint32_t> ranks = told.value_or(std::vector<std::uint32_t>());
      const std::string_view description = tree_.text(tree_.at(groups[i + 1], "desc"));
      if (replica_ranks_ > 0 && description == "default_pg") {
        make_global(ranks, listed);
      }
      const auto own = std::find(ranks.begin(), ranks.end(), rank_);
      if ((told && own == ranks.end()) ||
          !contexts_.try_emplace(name, static_cast<std::uint32_t>(contexts_.size() + 1)).second) {
        continue;
      }
      model::Context& context = dump_.file.contexts[contexts_[name]];
      const bool is_described =
          !description.empty() && description != "undefined" && !is_torchcomms_;
      context.name = is_described ? description : std::string_view(name);
      context.comm = std::string(name).append(" ").append(listed);
      context.created_ns = dump_.file.process.start_ns;
      if (told) {
        context.rank = static_cast<std::uint32_t>(own - ranks.begin());
        context.nranks = static_cast<std::uint32_t>(ranks.size());
      }
    }
  }

  // "send 0->1" and "recv 3<-?": ranks of the group; a question mark stands for any peer.
  void take_peer(DumpEntry& entry) {
    const bool is_send = entry.call.starts_with("send ");
    const std::size_t arrow = entry.call.find(is_send ? "->" : "<-");
    if (arrow < entry.call.size()) {
      entry.operation.peer = parse_number<std::uint32_t>(entry.call.substr(arrow + 2));
    }
    entry.operation.kind = model::Kind::kPointToPoint;
    const std::uint32_t ranks = dump_.file.contexts[entry.operation.context].nranks.value_or(0);
    if (ranks > 0 && entry.operation.peer.value_or(0) >= ranks) {
      doubt(entry, "the entry is a " + std::string(entry.call) + ", and its group has " +
                       std::to_string(ranks) + " ranks");
    }
    entry.call = is_send ? "Send" : "Recv";
  }

  DumpCall& call_of(std::string_view text) {
    const auto found = calls_.find(text);
    return found != calls_.end()
               ? found->second
               : calls_.try_emplace(text, DumpCall{alike_in(text), is_all_to_all(text)})
                     .first->second;
  }

  void fill_call(const PlainValue& value, DumpEntry& entry) {
    DumpCall& call = call_of(entry.call);
    entry.first_tensor = tensors_.bytes().size();
    const DumpTensors input =
        tensors_.read(value, keys_.input_sizes, keys_.input_dtypes, entry.inputs);
    const DumpTensors output =
        tensors_.read(value, keys_.output_sizes, keys_.output_dtypes, entry.outputs);
    check(entry, input.has_sizes, "input_sizes");
    check(entry, input.has_types || minor_ < kTellsTypes, "input_dtypes");
    check(entry, output.has_sizes, "output_sizes");
    check(entry, output.has_types || minor_ < kTellsTypes, "output_dtypes");
    const DumpTensors& told = call.alike == Alike::kOutput ? output : input;
    entry.operation.datatype = tensors_.name_of(told.type);
    // Before version 2.4 the sizes of an all_to_all are not those of its tensors.
    constexpr std::uint32_t kTellsAllToAll = 4;
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (call.is_all_to_all && minor_ >= kTellsAllToAll &&
        std::max(input.count.value_or(kMost), output.count.value_or(kMost)) < kMost) {
      entry.operation.surplus =
          static_cast<std::int64_t>(*input.count) - static_cast<std::int64_t>(*output.count);
    }
    if (call.alike != Alike::kNone) {
      entry.operation.count = told.count;
      entry.operation.bytes = told.bytes;
    }
    if (call.name == model::kNoName) {
      call.name = dump_.names.id(entry.call);
    }
    entry.operation.func = call.name;
  }

  [[gnu::noinline, gnu::cold]] void tell(const std::string& trouble) {
    dump_.problems.add_line({}, place_, trouble);
  }

  // Records that are not there may be of any call.
  [[gnu::noinline, gnu::cold]] void tell_loss(const std::string& trouble) {
    tell(trouble);
    ++dump_.file.bad_lines;
  }

  [[gnu::noinline, gnu::cold]] void leave_out(const char* key) {
    tell_loss("the entry has no " + std::string(key) + " that can be read; it is left out");
  }

  void check(DumpEntry& entry, bool is_there, const char* key) {
    if (!is_there) {
      doubt(entry, "the entry has no " + std::string(key) + " that can be read");
    }
  }

  [[gnu::noinline, gnu::cold]] void doubt(DumpEntry& entry, const std::string& why) {
    tell(why + "; whether the ranks agree in its call is not known");
    entry.is_doubtful = true;
  }

  // Numbers of records follow each other. False if the entry has none behind that of the one
  // before.
  bool take_record(const PlainValue& value) {
    const auto told = integer_of(tree_.at(value, keys_.record_id));
    const auto next = static_cast<std::uint64_t>(told.value_or(-1));
    if (!told || *told < 0 || next < next_id_) {
      return false;
    }
    if (next > next_id_) {
      tell_hole(next);
    }
    return true;
  }

  [[gnu::noinline, gnu::cold]] void tell_hole(std::uint64_t next) {
    const bool is_one = next == next_id_ + 1;
    tell_loss((is_one ? "record " : "records ") + std::to_string(next_id_) +
              (is_one ? " is" : " to " + std::to_string(next - 1) + " are") +
              " missing before this entry: their calls are not recorded");
    next_id_ = next;
  }

  // The number of the group's collective. Where it is damaged, it is the one that follows that of
  // the entry before.
  void take_number(const PlainValue& value, DumpEntry& entry) {
    const std::size_t last = last_of_context_[entry.operation.context];
    const std::int64_t before = last == kNoEntry ? 0 : entries_[last].collective.value_or(0);
    entry.collective = integer_of(tree_.at(value, keys_.collective_seq_id));
    const bool may_be_first = last == kNoEntry && dump_.file.account.rotated > 0;
    if (entry.collective && *entry.collective >= 0 &&
        (*entry.collective < kMostLeap || *entry.collective - kMostLeap < before ||
         (may_be_first && *entry.collective < kMostFirstNumber) || is_torchcomms_ ||
         goes_on(entry))) {
      return;
    }
    doubt(entry, entry.collective && *entry.collective >= 0
                     ? "the collective_seq_id " + std::to_string(*entry.collective) +
                           " of the entry leaps from " + std::to_string(before)
                     : "the entry has no collective_seq_id that can be read");
    entry.collective = before + 1;
  }

  // Whether the next entry of the group has such a number, too, so that the leap is one of the
  // application's calls, which were not recorded.
  [[gnu::noinline, gnu::cold]] bool goes_on(const DumpEntry& entry) {
    const auto entries = tree_.list(tree_.at(root_, "entries"));
    for (std::size_t i = place_; i < entries.size() && !tree_.is_exhausted(); ++i) {
      if (context_of(entries[i]) == entry.operation.context) {
        const auto next = integer_of(tree_.at(entries[i], keys_.collective_seq_id));
        return next && *next >= *entry.collective && *next - *entry.collective < kMostLeap;
      }
    }
    return false;
  }

  void add(const PlainValue& value) {
    const bool has_record = take_record(value);
    const std::uint64_t id = next_id_++;
    const std::string_view name = tree_.text(tree_.at(value, keys_.profiling_name));
    const std::string_view call = name.substr(name.rfind(':') + 1);
    const std::string_view state = tree_.text(tree_.at(value, keys_.state));
    const auto created_ns = time_of(tree_.at(value, keys_.time_created_ns));
    if (call.empty() || !created_ns) {
      return leave_out(call.empty() ? "call in its profiling_name" : "time_created_ns");
    }
    if (state != "completed" && state != "started" && state != "scheduled") {
      return leave_out("state (scheduled, started or completed)");
    }
    const auto context = context_of(value);
    if (!context) {
      return tell_loss(
          "an entry of a group of which pg_config does not say that this rank is in it; it is "
          "left out");
    }
    if (!has_record) {
      tell("the entry has no record_id behind that of the entry before");
    }
    DumpEntry& entry = entries_.emplace_back();
    entry.call = call;
    model::Operation& operation = entry.operation;
    operation.id = id;
    operation.context = *context;
    operation.state = state == "completed" ? model::State::kCompleted
                      : state == "started" ? model::State::kStarted
                                           : model::State::kEnqueued;
    operation.in_flight = operation.state != model::State::kCompleted;
    operation.window = window_;
    operation.enqueue_start_ns = relative(in_order(*created_ns));
    note_moment(*created_ns);
    note_moment(time_of(tree_.at(value, keys_.time_discovered_started_ns)).value_or(0));
    note_moment(time_of(tree_.at(value, keys_.time_discovered_completed_ns)).value_or(0));
    take_number(value, entry);
    entry.point_to_point = integer_of(tree_.at(value, keys_.p2p_seq_id));
    check(entry, entry.point_to_point.has_value(), "p2p_seq_id");
    if (is_torchcomms_) {
      take_torchcomms(value, entry);
    }
    if (entry.call.starts_with("send ") || entry.call.starts_with("recv ")) {
      take_peer(entry);
    } else if (is_end_of_group(entry.call) && end_group(entry)) {
      entries_.pop_back();
      return;
    } else if (entry.collective && *entry.collective >= 0) {
      operation.seq = static_cast<std::uint64_t>(*entry.collective);
    }
    fill_call(value, entry);
    operation.called_by = stacks_.read(tree_.at(value, keys_.frames));
    entry.before = std::exchange(last_of_context_[operation.context], entries_.size() - 1);
  }

  // Calls follow each other as their records do, whatever the wall clock does: one that was set
  // back stands still until it has come to where it was.
  std::int64_t in_order(std::int64_t created_ns) {
    if (created_ns < last_created_ns_ && !is_set_back_) {
      is_set_back_ = true;
      tell(
          "the wall clock was set back before this entry: times of it and of entries behind it are "
          "not known");
    }
    last_created_ns_ = std::max(last_created_ns_, created_ns);
    return last_created_ns_;
  }

  // ProcessGroupNCCL lists the calls of a group, which stay scheduled for ever. Behind them is an
  // entry with their numbers and the state of all. Returns false if no call was listed: then that
  // entry stands for the calls.
  bool end_group(const DumpEntry& end) {
    const std::size_t last = last_of_context_[end.operation.context];
    std::size_t first = last;  // before which no call is one of the group
    while (first != kNoEntry && !entries_[first].operation.group &&
           entries_[first].collective == end.collective &&
           entries_[first].point_to_point == end.point_to_point &&
           entries_[first].operation.state != model::State::kCompleted) {
      first = entries_[first].before;
    }
    if (first == last) {
      // If the ring has lost the calls of the group, only its number tells it: no collective has
      // it.
      const bool may_be_cut_off = last == kNoEntry && dump_.file.account.rotated > 0;
      const bool repeats = last != kNoEntry && entries_[last].collective == end.collective;
      return may_be_cut_off || repeats;
    }
    ++groups_;
    for (std::size_t i = last; i != first; i = entries_[i].before) {
      model::Operation& operation = entries_[i].operation;
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
  std::int64_t last_created_ns_ = 0;
  bool is_set_back_ = false;
  DumpKeys keys_;
  std::map<std::string, std::uint32_t, std::less<>> contexts_;  // by the group's name
  std::array<PlainValue, 3> last_group_;                        // of context_of()
  std::optional<std::uint32_t> last_context_;
  DumpTensorReader tensors_;
  std::unordered_map<std::string_view, DumpCall> calls_;
  DumpStackReader stacks_;
  std::vector<DumpEntry>& entries_;
  std::vector<std::size_t> last_of_context_;  // indices of entries_
  std::uint64_t window_ = 1;
  std::uint64_t groups_ = 0;
  std::uint64_t next_id_ = 0;
  std::uint64_t place_ = 0;  // of the entry that is read, from 1
};

}  // namespace

std::string read_dump(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
                      std::uint32_t replica_ranks) {
  thread_local std::vector<DumpEntry> entries;  // its memory serves the next dump, too
  entries.clear();
  std::string trouble = DumpReader(tree, root, rank, dump, replica_ranks, entries).read();
  return tree.is_exhausted()
             ? "no Flight Recorder dump: the same lists and texts are in so many places that it "
               "would take too long to read"
             : trouble;
}

}  // namespace ringside::load
