// SPDX-License-Identifier: Apache-2.0
//
// Written for dumps of versions 2.0 to 2.10, with the fields that they have. Recordings: PyTorch
// 2.15.0's ProcessGroupNCCL and nccl2 (test/data/flight_recorder). Dumps of torchcomms are read as
// its source of 2026 writes them (comms/torchcomms/hooks/fr/FlightRecorder.cpp).
#include "analyzer/load/dump/flight_recorder.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/load/dump/dump_begin.h"
#include "analyzer/load/dump/dump_copies.h"
#include "analyzer/load/dump/dump_entries.h"
#include "analyzer/load/dump/dump_entry.h"
#include "analyzer/load/dump/dump_entry_group.h"
#include "analyzer/load/dump/dump_form.h"
#include "analyzer/load/dump/dump_numbers.h"
#include "analyzer/load/dump/dump_order.h"
#include "analyzer/load/dump/dump_stacks.h"
#include "analyzer/load/dump/dump_tensors.h"

namespace ringside::load {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint32_t kTellsAllCalls = 7;  // also collectives that are made together
constexpr std::uint32_t kTellsTypes = 2;     // the version that has datatypes, or an earlier one

/// What damage to a part of the dump means for the calls that it tells.
enum class Harm : std::uint8_t {
  kNone,   // they are known all the same
  kDoubt,  // a call was made, and nobody knows whether the ranks agree in it
  kOther,  // the same, and another call may have been made here, which is not recorded
  kLoss,   // they are not recorded, and may have been any
};

class DumpReader {
 public:
  DumpReader(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
             std::uint32_t replica_ranks, DumpEntries& entries)
      : tree_(tree),
        root_(root),
        rank_(rank),
        dump_(dump),
        replica_ranks_(replica_ranks),
        groups_(tree, root, dump.file),
        tensors_(tree, dump.names, dump.has_tensors),
        stacks_(tree, dump.names),
        entries_(entries) {}

  std::string read() {
    const PlainValue entries = tree_.at(root_, "entries");
    if (entries.kind != PlainValue::Kind::kList) {
      return "no Flight Recorder dump: it has no list of entries";
    }
    if (std::string trouble = read_version(tree_.text(tree_.at(root_, "version")), minor_);
        !trouble.empty()) {
      return trouble;
    }
    find_begin(tree_.list(entries));
    is_torchcomms_ = is_of_torchcomms(tree_, tree_.list(entries), keys_);
    fill_process();
    for (std::string& trouble : groups_.read(rank_, !is_torchcomms_, replica_ranks_)) {
      damaged(Harm::kNone, std::move(trouble));
    }
    const PlainValue::Kind status = tree_.at(root_, "pg_status").kind;
    if (!tree_.list(entries).empty() && status != PlainValue::Kind::kDict &&
        status != PlainValue::Kind::kNone) {
      damaged(Harm::kNone, "pg_status is no dict");
    }
    entries_.begin(dump_.file.contexts.size(), tree_.list(entries).size());
    numbers_.resize(dump_.file.contexts.size() + 1);
    const auto first = static_cast<std::int64_t>(dump_.file.account.rotated);
    records_ = RecordNumbers(first);
    order_ =
        EntryOrder(first + static_cast<std::int64_t>(tree_.list(entries).size()), numbers_.size());
    for (const PlainValue& value : tree_.list(entries)) {
      ++place_;
      add(value);
    }
    tell_lost_entries();
    tell_lost_order();
    tell_other_rank();
    for (std::string& lost : groups_.lost_ends(tree_.list(entries))) {
      damaged(Harm::kLoss, std::move(lost));
    }
    groups_.watch_rest();
    for (const auto& [number, context] : dump_.file.contexts) {
      entries_.begin_watched(number, context);
    }
    // Only now: a number behind one that is damaged is no less certain for it.
    dump_.file.bad_lines += others_;
    dump_.file.lines = place_;
    if (dump_.has_tensors) {
      dump_.file.tensors.reserve(entries_.all().size());
      dump_.file.tensor_bytes.reserve(tensors_.bytes().size());
    }
    for (const DumpEntry& entry : entries_.all()) {
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

  void find_begin(std::span<const PlainValue> entries) {
    const DumpBegin begin = begin_of(tree_, entries, keys_);
    if (!begin.do_times_ascend) {
      copies_.find(tree_, entries, keys_);
    }
    begin_ns_ = begin.begin_ns;
    base_s_ = begin_ns_ / kNsPerSecond;
    dump_.file.account.rotated = begin.lost;
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
    } else if (dump_.file.account.rotated == 0 && dump_.file.bad_lines == 0) {
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
    // In older versions a batch of sends and receives counted as a collective of the ranks in it.
    process.has_common_numbers = minor_ >= kTellsAllCalls && !is_torchcomms_;
    // Window number 1 means that recording began with it, so that no call came before.
    window_ = file.account.rotated == 0 ? 1 : 2;
    file.windows[window_].start_ns = process.start_ns;
    file.last_ns = process.start_ns;
    file.closed = true;
  }

  // Without entries, only the watchdog tells whether this rank has called anything.
  void tell_lost_entries() {
    if (place_ > 0) {
      return;
    }
    const auto groups = tree_.dict(tree_.at(root_, "pg_status"));
    // A group that the watchdog does not have may have been called.
    bool is_stated = !groups.empty() && groups.size() / 2 >= dump_.file.contexts.size();
    for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
      is_stated =
          is_stated && watched_number(tree_, tree_.at(groups[i + 1], "last_enqueued_collective"));
    }
    if (!is_stated) {
      damaged(Harm::kLoss,
              "there are no entries, and no pg_status of all groups that can be read: whether this "
              "rank has called anything is not known");
    }
  }

  void tell_lost_order() {
    if (order_.is_lost()) {
      const std::uint64_t misplaced = order_.misplaced();
      const std::string why =
          misplaced == 0
              ? "a call finished before it was made"
              : "the numbers of the entries contradict each other in " + std::to_string(misplaced) +
                    (misplaced > 1          ? " places"
                     : order_.is_set_back() ? " place, and their times go back"
                                            : " place, and a call finished before it was made");
      entries_.clear();
      damaged(Harm::kLoss, why +
                               ": in which order this rank made its calls is not known, and they "
                               "are left out");
    } else if (order_.has_gaps() && minor_ >= kTellsAllCalls && dump_.file.bad_lines == 0) {
      damaged(Harm::kLoss, "numbers of calls are missing in a group: calls are not recorded");
    }
  }

  // One of these may be damaged.
  void tell_other_rank() {
    const std::uint64_t groups = groups_.without_rank();
    const std::uint64_t calls = own_calls_ == 0 ? calls_of_others_ : 0;
    if (groups >= 2 || calls >= 2) {
      entries_.clear();
      dump_.problems = model::Problems(SIZE_MAX);  // what was told comes from that
      damaged(Harm::kLoss, (groups >= 2 ? std::to_string(groups) + " groups"
                                        : std::to_string(calls) + " sends and receives") +
                               " are not of the rank that the file's name has: it may be a dump of "
                               "another rank, and nothing of it is taken");
    }
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
    // A function whose tensors are alike on all ranks has some.
    check(input.has_sizes && (call.alike != Alike::kInput || entry.inputs > 0), "input_sizes");
    check(input.has_types || minor_ < kTellsTypes, "input_dtypes");
    check(output.has_sizes && (call.alike != Alike::kOutput || entry.outputs > 0), "output_sizes");
    check(output.has_types || minor_ < kTellsTypes, "output_dtypes");
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

  // The one place where damage is told and counted, by file and entry.
  [[gnu::noinline, gnu::cold]] void damaged(Harm harm, std::string why) {
    if (harm == Harm::kDoubt) {
      why += "; whether the ranks agree in its call is not known";
    } else if (harm == Harm::kOther) {
      why += "; another call may have been here";
      ++others_;
    }
    dump_.problems.add_line({}, place_, why);
    if (harm == Harm::kLoss) {
      ++dump_.file.bad_lines;
      last_loss_ = static_cast<std::uint64_t>(std::max<std::int64_t>(records_.last(), 0));
    }
    harm_ = std::max(harm_, harm);
  }

  void check(bool is_there, const char* key) {
    if (!is_there) {
      damaged(Harm::kDoubt, "the entry has no " + std::string(key) + " that can be read");
    }
  }

  std::optional<OddRecord> take_record(const PlainValue& value) {
    return records_.take(record_of(tree_, value, keys_), [&] {
      const auto entries = tree_.list(tree_.at(root_, "entries"));
      return place_ < entries.size() ? record_of(tree_, entries[place_], keys_) : std::nullopt;
    });
  }

  [[gnu::noinline, gnu::cold]] void tell_odd(const OddRecord& odd) {
    const std::string first = std::to_string(odd.first);
    switch (odd.kind) {
      case OddRecord::Kind::kRepeated:
        order_.note_misplaced(odd.first);
        damaged(Harm::kLoss,
                "the entry has the record_id " + first + " of one before it; it is left out");
        entries_.doubt_record(static_cast<std::uint64_t>(odd.first));
        break;
      case OddRecord::Kind::kBehindHole:
        damaged(Harm::kLoss, (odd.first == odd.last ? "record " + first + " is"
                                                    : "records " + first + " to " +
                                                          std::to_string(odd.last) + " are") +
                                 " missing before this entry: their calls are not recorded");
        break;
      case OddRecord::Kind::kMisnumbered:
        damaged(Harm::kLoss, "the record_id does not follow: another call may have been here");
    }
  }

  // Takes the numbers of an entry that count calls. Returns what it does to that of collectives.
  Counts take_numbers(const PlainValue& value, const NamedCall& call, DumpEntry& entry) {
    entry.point_to_point = integer_of(tree_.at(value, keys_.p2p_seq_id));
    check(entry.point_to_point.value_or(-1) >= 0, "p2p_seq_id");
    entry.op_id = integer_of(tree_.at(value, keys_.op_id));
    const auto told = integer_of(tree_.at(value, keys_.collective_seq_id));
    const bool is_end = is_end_of_group(call.name) && !is_torchcomms_;
    const auto end =
        is_end ? entries_.meaning_of(entry, told, last_loss_)
               : DumpEntries::EndMeaning{call.has_ranks ? Counts::kNot : Counts::kOn, false};
    if (end.is_contradictory) {
      entry.op_id = end.op_id;
      damaged(
          Harm::kOther,
          "the collective_seq_id of the entry, behind calls that were made together, contradicts "
          "its op_id");
    }
    const std::uint32_t context = entry.operation.context;
    const bool may_repeat = is_torchcomms_ || is_end_of_group(entry.call);
    if (const char* const key = order_.key_that_does_not_follow(
            context, {entry.point_to_point, entry.op_id, may_repeat},
            [&] { return next_numbers(context); })) {
      damaged(Harm::kOther,
              "the " + std::string(key) +
                  " of the entry does not follow that of the one before in its group");
    }
    if (is_torchcomms_) {
      take_torchcomms(value, entry);
      return end.counts;
    }
    const bool is_behind_loss =
        dump_.file.bad_lines > 0 || (entry.before == kNoEntry && dump_.file.account.rotated > 0);
    const auto number = numbers_[context].take(told, end.counts, is_behind_loss,
                                               [&] { return next_number(context); });
    entry.collective = number.value;
    order_.take_collective(context, number.value);
    if (number.is_damaged) {
      order_.note_misplaced(told);
    } else if (number.is_leap && entry.before == kNoEntry) {
      order_.note_gap();
    }
    if (number.is_damaged && !end.is_contradictory) {
      damaged(Harm::kOther, told && *told >= 0 ? "the collective_seq_id " + std::to_string(*told) +
                                                     " of the entry does not follow those of its "
                                                     "group"
                                               : "the entry has no collective_seq_id that can be "
                                                 "read");
    }
    return end.counts;
  }

  // The next entry of the group.
  [[gnu::noinline, gnu::cold]] PlainValue next_of(std::uint32_t context) {
    const auto entries = tree_.list(tree_.at(root_, "entries"));
    if (of_context_.empty()) {
      of_context_.resize(numbers_.size());
      for (std::size_t i = 0; i < entries.size() && !tree_.is_exhausted(); ++i) {
        if (const auto of = groups_.of(entries[i]).context) {
          of_context_[*of].push_back(i);
        }
      }
    }
    const std::vector<std::size_t>& own = of_context_[context];
    for (auto i = std::lower_bound(own.begin(), own.end(), place_);
         i != own.end() && !tree_.is_exhausted(); ++i) {
      const auto record = records_.last() + static_cast<std::int64_t>(*i + 1 - place_);
      if (!copies_.trouble_of(*i + 1, record_of(tree_, entries[*i], keys_) == record)) {
        return entries[*i];
      }
    }
    return {};
  }

  std::optional<std::int64_t> next_number(std::uint32_t context) {
    return integer_of(tree_.at(next_of(context), keys_.collective_seq_id));
  }

  EntryOrder::Numbers next_numbers(std::uint32_t context) {
    const PlainValue next = is_torchcomms_ ? PlainValue() : next_of(context);
    const auto call = named_call(tree_.text(tree_.at(next, keys_.profiling_name)));
    return {integer_of(tree_.at(next, keys_.p2p_seq_id)), integer_of(tree_.at(next, keys_.op_id)),
            !call || is_end_of_group(call->name)};
  }

  // Without these an entry tells nothing. Returns nothing, and says why.
  struct Known {
    NamedCall call;
    std::int64_t created_ns = 0;
    std::uint32_t context = 0;
    model::State state = model::State::kEnqueued;
  };

  std::optional<Known> read_known(const PlainValue& value) {
    const auto call = named_call(tree_.text(tree_.at(value, keys_.profiling_name)));
    const std::string_view state = tree_.text(tree_.at(value, keys_.state));
    const auto created_ns = time_of(tree_.at(value, keys_.time_created_ns));
    const EntryGroup& group = groups_.of(value);
    std::string trouble;
    if (!call || !created_ns) {
      trouble = std::string("the entry has no ") +
                (call ? "time_created_ns" : "call in its profiling_name") + " that can be read";
    } else if (state != "completed" && state != "started" && state != "scheduled") {
      trouble = "the entry has no state (scheduled, started or completed) that can be read";
    } else if (!group.context) {
      trouble = group.trouble;
    } else if (tree_.at(value, keys_.is_p2p).number == 1 && !call->has_ranks &&
               !is_end_of_group(call->name) && !is_torchcomms_) {
      trouble = "the entry is_p2p, and its profiling_name is no send or receive";
    } else if (call->has_ranks) {
      const model::Context& context = dump_.file.contexts[*group.context];
      trouble = contradiction_of(*call, context);
      own_calls_ += context.rank == call->own ? 1 : 0;
      calls_of_others_ += context.rank.value_or(call->own) != call->own ? 1 : 0;
    }
    if (!trouble.empty()) {
      damaged(Harm::kLoss, trouble + "; it is left out");
      return std::nullopt;
    }
    if (!group.trouble.empty()) {  // the other group may lack it
      damaged(Harm::kLoss, group.trouble);
    }
    return Known{*call, *created_ns, *group.context,
                 state == "completed" ? model::State::kCompleted
                 : state == "started" ? model::State::kStarted
                                      : model::State::kEnqueued};
  }

  void add(const PlainValue& value) {
    const auto odd = take_record(value);
    const bool is_repeated = odd && odd->kind == OddRecord::Kind::kRepeated;
    const bool is_misnumbered = odd && odd->kind == OddRecord::Kind::kMisnumbered;
    const auto copy = is_repeated ? std::nullopt : copies_.trouble_of(place_, !odd);
    const auto known = is_repeated || copy ? std::nullopt : read_known(value);
    if (is_misnumbered && !copy) {
      order_.note_misplaced(record_of(tree_, value, keys_));
    }
    if (copy) {
      damaged(Harm::kLoss, *copy);
    }
    if (odd && (known || !is_misnumbered)) {
      tell_odd(*odd);
    }
    if (!known) {
      return;
    }
    harm_ = Harm::kNone;
    DumpEntry& entry = entries_.add(known->context);
    entry.call = known->call.name;
    model::Operation& operation = entry.operation;
    operation.id = static_cast<std::uint64_t>(records_.last());
    operation.state = known->state;
    operation.in_flight = operation.state != model::State::kCompleted;
    operation.window = window_;
    operation.enqueue_start_ns = relative(in_order(known->created_ns));
    note_moment(known->created_ns);
    note_moment(time_of(tree_.at(value, keys_.time_discovered_started_ns)).value_or(0));
    const auto completed_ns = time_of(tree_.at(value, keys_.time_discovered_completed_ns));
    note_moment(completed_ns.value_or(0));
    if (completed_ns && !order_.take_end(known->created_ns, *completed_ns, begin_ns_)) {
      damaged(Harm::kNone, "the entry's call was seen to finish before it was made");
    }
    const Counts counts = take_numbers(value, known->call, entry);
    if (known->call.has_ranks) {
      operation.kind = model::Kind::kPointToPoint;
      operation.peer = known->call.peer;
      // ProcessGroupNCCL makes a communicator for each pair; nccl2 takes that of the process group.
      dump_.file.process.has_pair_communicators =
          dump_.file.process.has_pair_communicators ||
          !tree_.text(tree_.at(value, keys_.profiling_name)).starts_with("nccl2:");
    } else if (is_end_of_group(entry.call) && end_group(entry, counts)) {
      entries_.drop_last();
      return;
    } else if (entry.collective) {
      operation.seq = static_cast<std::uint64_t>(*entry.collective);
    }
    fill_call(value, entry);
    operation.called_by = stacks_.read(tree_.at(value, keys_.frames));
    entry.is_doubtful = harm_ == Harm::kDoubt || harm_ == Harm::kOther || is_misnumbered;
  }

  std::int64_t in_order(std::int64_t created_ns) {
    const bool was_set_back = order_.is_set_back();
    const std::int64_t ordered_ns = order_.in_order(created_ns);
    if (order_.is_set_back() && !was_set_back) {
      damaged(
          Harm::kNone,
          "the wall clock was set back before this entry: times of it and of entries behind it are "
          "not known");
    }
    return ordered_ns;
  }

  // Returns false if the entry stands for calls that are not listed.
  bool end_group(const DumpEntry& end, Counts counts) {
    if (entries_.end_group(end)) {
      return true;
    }
    // If the calls of the group are lost, only its numbers tell it: no collective has them.
    const DumpEntry* const last = entries_.before(end);
    const bool is_behind_loss = last_loss_ && counts == Counts::kNot &&
                                (last == nullptr || *last_loss_ > last->operation.id);
    const bool repeats = last != nullptr && last->collective == end.collective;
    if (repeats && !last->operation.group && last->operation.in_flight) {
      damaged(Harm::kNone,
              "the entry ends a group of calls, and has another p2p_seq_id than the one before");
    }
    if (is_behind_loss && !repeats) {
      damaged(Harm::kLoss,
              "the entry is behind calls that were made together, and they are not recorded");
    }
    return is_behind_loss || repeats || counts == Counts::kSame ||
           (last == nullptr && dump_.file.account.rotated > 0);
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
  DumpKeys keys_;
  DumpGroups groups_;
  DumpTensorReader tensors_;
  std::unordered_map<std::string_view, DumpCall> calls_;
  DumpStackReader stacks_;
  DumpEntries& entries_;
  std::vector<GroupNumbers> numbers_;                 // by context
  std::vector<std::vector<std::size_t>> of_context_;  // entries, for next_of()
  std::uint64_t window_ = 1;
  RecordNumbers records_;
  std::optional<std::uint64_t> last_loss_;  // the record before or at which records were lost
  Harm harm_ = Harm::kNone;                 // of the entry that is read
  std::uint64_t place_ = 0;                 // of the entry that is read, from 1
  std::uint64_t others_ = 0;                // entries that may be another call
  std::uint64_t own_calls_ = 0;             // sends and receives that name this rank as theirs
  std::uint64_t calls_of_others_ = 0;       // or another one
  EntryOrder order_;
  DumpCopies copies_;
};

}  // namespace

std::string read_dump(const PlainTree& tree, const PlainValue& root, std::int64_t rank, Dump& dump,
                      std::uint32_t replica_ranks) {
  thread_local DumpEntries entries;  // its memory serves the next dump, too
  std::string trouble = DumpReader(tree, root, rank, dump, replica_ranks, entries).read();
  return tree.is_full()
             ? "no Flight Recorder dump: it would take too much memory, since it has more values "
               "than any dump"
         : tree.is_exhausted()
             ? "no Flight Recorder dump: the same lists and texts are in so many places that it "
               "would take too long to read"
             : trouble;
}

}  // namespace ringside::load
