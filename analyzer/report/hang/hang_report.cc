// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/hang/hang_report.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analyzer/model/joined.h"
#include "analyzer/report/document/call_sites.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/hang/hang_sentences.h"
#include "analyzer/report/hang/known_defects.h"
#include "analyzer/report/hang/run_ends.h"
#include "analyzer/report/match_sentences.h"
#include "analyzer/report/summary/align_report.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using metrics::Blocker;
using metrics::Hang;

constexpr std::size_t kSentences = 3;  // of stuck operations, beside those on their order

const char* why_name(Blocker::Why why) {
  return why == Blocker::Why::kNotJoined  ? "not joined"
         : why == Blocker::Why::kNotBegun ? "called, not begun"
                                          : "called, behind another";
}

class HangReport {
 public:
  HangReport(const model::Traces& traces, const align::Alignment& alignment, const Hang& hang,
             std::size_t top, bool has_frames)
      : traces_(traces),
        alignment_(alignment),
        hang_(hang),
        top_(top),
        has_frames_(has_frames),
        transfers_(find_open_transfers(traces, hang)),
        text_(traces, hang),
        sentences_(traces, alignment, hang, transfers_, text_) {}

  Document make() {
    document_.command = "hang";
    add_sentences();
    add_ends();
    // Stuck operations are the answer. If none is seen, the traces that lack their end come first.
    if (const std::string not_closed = not_closed_sentence(traces_); !not_closed.empty()) {
      auto& sentences = document_.sentences;
      sentences.insert(hang_.operations.empty() ? sentences.begin() : sentences.end(), not_closed);
    }
    add_findings();
    add_stuck();
    add_waits();
    add_transfers();
    add_positions();
    if (has_frames_) {
      frames_.finish(traces_, document_);
    }
    for (Table& table : document_.tables) {
      if (top_ != 0 && !table.is_whole && table.rows.size() > top_) {
        table.left_out = table.rows.size() - top_;
        table.rows.resize(top_);
      }
    }
    add_notes();
    return std::move(document_);
  }

 private:
  const model::Process& process_of(const metrics::Position& position) const {
    return traces_.files[position.file].process;
  }
  // Shorter than in a sentence: "AllReduce #16 of world". A number alone would say nothing.
  std::string name_in_table(std::uint32_t operation) const {
    const std::string label = text_.label(hang_.matched(hang_.operations[operation]).communicator);
    return text_.short_name_of(operation) +
           (label.find_first_not_of("0123456789") == label.npos ? " of communicator " : " of ") +
           label;
  }
  Cell communicator_of(const metrics::StuckOperation& stuck) const {
    return text_.label(hang_.matches.operations[stuck.matched].communicator);
  }
  Cell job_rank_cell(const metrics::Position& position) const {
    const auto& ranks = text_.job_ranks().of(position.communicator);
    return position.rank && *position.rank < ranks.size()
               ? Cell(std::uint64_t{ranks[*position.rank]})
               : Cell();
  }
  // A process that does not tell its host does not tell its pid either.
  Cell pid_cell(const metrics::Position& position) const {
    const model::Process& process = process_of(position);
    return process.host.empty() ? Cell() : Cell(process.pid);
  }
  const metrics::Position& position_at(std::uint32_t index) const { return hang_.positions[index]; }

  // Counts the ranks of the positions that are shown. A process counts as often as it has ranks in
  // one communicator, and not once for each communicator.
  std::uint64_t count_ranks() const {
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>>
        counts;  // by file, communicator
    for (const metrics::Position& position : hang_.positions) {
      if (hang_.shows(position.communicator)) {
        ++counts[position.file][position.communicator];
      }
    }
    std::uint64_t ranks = 0;
    for (const auto& [file, of_file] : counts) {
      ranks += std::max_element(of_file.begin(), of_file.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->second;
    }
    return ranks;
  }

  // Who ended first is said first, where it explains what is stuck.
  void add_ends() {
    for (const RunEnds& run : find_run_ends(traces_, alignment_, hang_.matches.runs.runs)) {
      auto& sentences = document_.sentences;
      sentences.insert(explains(run, hang_) ? sentences.begin() : sentences.end(),
                       capitalised(run.text) + '.');
    }
  }

  // The best answer that calls alone give.
  std::string longest_silence() const {
    const auto longest =
        std::max_element(hang_.undecided.begin(), hang_.undecided.end(),
                         [](const auto& a, const auto& b) { return a.silent_ns < b.silent_ns; });
    const std::size_t others = hang_.undecided.size() - 1;
    return capitalised(sentences_.undecided(*longest)) + '.' +
           (others == 0 ? ""
                        : " So it is in " + counted(others, "more communicator") + ", see below.");
  }

  void add_sentences() {
    auto& sentences = document_.sentences;
    if (hang_.operations.empty()) {
      std::set<std::uint32_t> communicators;
      for (const metrics::Position& position : hang_.positions) {
        if (hang_.shows(position.communicator)) {
          communicators.insert(position.communicator);
        }
      }
      const std::uint64_t ranks = count_ranks();
      sentences.push_back(hang_.undecided.empty()
                              ? "Nothing is seen to be stuck: " + counted(ranks, "rank") + " in " +
                                    counted(communicators.size(), "communicator") +
                                    (hang_.younger_ns > 0 ? "; the longest wait, of " +
                                                                human_duration(hang_.younger_ns) +
                                                                ", is shorter than --min-age."
                                                          : ".")
                              : longest_silence());
      add_opposite_order();
      add_unaligned();
      return;
    }
    // A mismatch or a ring is the likely cause of all else; then what stopped first.
    std::vector<std::uint32_t> order(hang_.operations.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto weight = [&](std::uint32_t i) {
      const Cause cause = text_.cause_of(i);
      return cause <= Cause::kDeadlock        ? 0
             : cause == Cause::kWaits         ? 3
             : hang_.operations[i].is_unknown ? 2
                                              : 1;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return weight(a) < weight(b); });
    std::size_t left_out = 0;
    for (const std::uint32_t i : order) {
      std::string sentence = sentences_.sentence(i);
      if (hang_.operations[i].is_doubtful) {
        sentence += " All these ranks have lost records, so it may have finished.";
      }
      if (std::find(sentences.begin(), sentences.end(), sentence) != sentences.end()) {
        continue;
      }
      if (sentences.size() < kSentences) {
        sentences.push_back(std::move(sentence));
      } else {
        ++left_out;
      }
    }
    if (left_out > 0) {
      sentences.push_back(counted(left_out, "more operation") + " of the table below " +
                          (left_out == 1 ? "is" : "are") + " stuck too.");
    }
    if (const std::string first = sentences_.first_stopped(); !first.empty()) {
      sentences.push_back(first);
    }
    add_unaligned();
  }

  void add_opposite_order() {
    if (!hang_.opposite_order) {
      return;
    }
    const metrics::OppositeOrder& order = *hang_.opposite_order;
    const auto ranks = [&](const std::vector<std::uint32_t>& files) {
      std::vector<std::uint32_t> of_job(files.size());
      std::transform(files.begin(), files.end(), of_job.begin(), [&](std::uint32_t file) {
        return static_cast<std::uint32_t>(traces_.files[file].process.launcher_rank.value_or(file));
      });
      std::sort(of_job.begin(), of_job.end());
      return match::rank_list(of_job);
    };
    document_.sentences.push_back(
        capitalised(ranks(order.one_first)) + " called " + text_.name_of_matched(order.one) +
        " before " + text_.name_of_matched(order.other) + ", and " + ranks(order.other_first) +
        " the other way round. Neither is seen to finish: they wait for each other if the GPUs do "
        "not run both at the same time.");
  }

  void add_unaligned() {
    const auto& unaligned = hang_.unaligned;
    if (unaligned.empty()) {
      return;
    }
    std::vector<std::string> calls;
    for (const std::uint32_t i : unaligned) {
      const metrics::Position& position = position_at(i);
      const model::Operation call =
          traces_.files[position.file].operations[position.fronts.front().operation];
      calls.push_back(text_.name_of(call) + " on rank " +
                      std::to_string(position.rank.value_or(position.member)) + " of " +
                      text_.label(position.communicator));
    }
    constexpr std::size_t kListed = 4;
    document_.sentences.push_back(
        "It is not known whether the others have joined " + model::joined(calls, kListed) +
        ": records before " + (calls.size() == 1 ? "it" : "them") +
        " are lost, and the order of the calls alone does not show which calls belong together.");
  }

  void add_findings() {
    constexpr std::size_t kMostDescribed = 20;
    for (std::uint32_t i = 0; i < std::min(hang_.operations.size(), kMostDescribed); ++i) {
      const auto& stuck = hang_.operations[i];
      const bool is_weak = stuck.is_doubtful || stuck.is_unknown;
      const match::MatchedOperation& matched = hang_.matched(stuck);
      Finding finding = {
          is_weak ? Severity::kWarning : Severity::kError, cause_name(text_.cause_of(i)),
          text_.name_of(i) + (stuck.waited_ns ? " is stuck on " : " is not seen to finish on ") +
              counted(stuck.waiting.size(), "rank") +
              (stuck.waited_ns ? " since " : "; it was called at ") + time_of_day(stuck.since_ns) +
              " UTC",
          around_text(traces_, hang_.matches, matched)};
      Ranks ranks;
      for (const Blocker& blocker : stuck.blockers) {
        if (!blocker.stuck_in) {  // else it is a victim itself
          ranks.push_back(position_at(blocker.position).rank.value_or(0));
        }
      }
      finding.ranks =
          launched_ranks(traces_, hang_.matches.communicators[matched.communicator], ranks);
      document_.findings.push_back(std::move(finding));
    }
    for (const metrics::UndecidedCall& call : hang_.undecided) {
      document_.findings.push_back({Severity::kWarning, "undecided", sentences_.undecided(call)});
    }
  }

  void add_stuck() {
    Table& table = document_.tables.emplace_back();
    table.key = "stuck";
    table.title = "Stuck operations, by the time at which the first rank began to wait";
    table.columns = {{"communicator", "communicator"},
                     {"operation", "operation"},
                     {"cause", "cause"},
                     {"ranks_waiting", "waiting", Shown::kInteger, "ranks"},
                     {"waiting", "ranks"},
                     {"not_joined", "not joined"},
                     {"unknown", "not known"},
                     {"ranks_finished", "finished", Shown::kInteger, "ranks"},
                     {"since_ns", "since", Shown::kMoment},
                     {"waited_ns", "for", Shown::kDuration},
                     {"called_by", "called at"}};
    table.gives_way = {"since_ns",  "ranks_finished", "ranks_waiting", "cause",
                       "called_by", "unknown",        "communicator"};
    for (std::uint32_t i = 0; i < hang_.operations.size(); ++i) {
      const auto& stuck = hang_.operations[i];
      table.rows.push_back({communicator_of(stuck), text_.short_name_of(i),
                            std::string(cause_name(text_.cause_of(i))),
                            std::uint64_t{stuck.waiting.size()}, text_.waiting_ranks(i),
                            text_.not_joined_ranks(i), text_cell(text_.unknown_ranks(i)),
                            std::uint64_t{stuck.finished}, stuck.since_ns, cell_of(stuck.waited_ns),
                            call_site_cell(traces_, text_.callers(i))});
      frames_.add(text_.label(hang_.matches.operations[stuck.matched].communicator),
                  text_.short_name_of(i), text_.callers(i));
    }
    drop_empty_column(table, "called_by");
  }

  void add_waits() {
    Table& table = document_.tables.emplace_back();
    table.key = "waits";
    table.title = "Ranks that the others wait for";
    table.columns = {{"operation", "operation"}, {"rank", "waits for rank", Shown::kInteger},
                     {"host", "host"},           {"pid", "pid", Shown::kInteger},
                     {"why", "because it has"},  {"stuck_in", "stuck in"}};
    table.gives_way = {"host", "why"};
    for (std::uint32_t i = 0; i < hang_.operations.size(); ++i) {
      for (const Blocker& blocker : hang_.operations[i].blockers) {
        const metrics::Position& position = position_at(blocker.position);
        table.rows.push_back({name_in_table(i), cell_of(position.rank), process_of(position).host,
                              pid_cell(position), std::string(why_name(blocker.why)),
                              blocker.stuck_in ? Cell(name_in_table(*blocker.stuck_in)) : Cell()});
      }
    }
  }

  void add_transfers() {
    Table& table = document_.tables.emplace_back();
    table.key = "network";
    table.title = "Network transfers in flight, of stuck operations";
    table.columns = {{"communicator", "communicator"},
                     {"rank", "rank", Shown::kInteger},
                     {"operation", "operation"},
                     {"direction", "direction"},
                     {"peer", "peer", Shown::kInteger},
                     {"channel", "channel", Shown::kInteger},
                     {"waits_for", "waits for"},
                     {"transfers", "transfers", Shown::kInteger},
                     {"longest_ns", "longest", Shown::kDuration}};
    table.gives_way = {"transfers", "communicator", "channel"};
    for (const metrics::OpenTransfers& open : transfers_) {
      const metrics::Position& position = position_at(open.position);
      const auto& operation = traces_.files[position.file].operations[open.operation];
      table.rows.push_back(
          {text_.label(position.communicator), cell_of(position.rank), text_.name_of(operation),
           std::string(open.is_send ? "send" : "receive"), std::uint64_t{open.peer},
           std::uint64_t{open.channel}, std::string(waits_for_name(open.waits_for)), open.transfers,
           open.longest_ns});
    }
  }

  // Adds the name of an operation, and its time on the common clock.
  template <typename Time>
  void add_last(const metrics::Position& position, const std::optional<std::uint32_t>& last,
                Time time, std::vector<Cell>& row) const {
    if (!last) {
      row.insert(row.end(), 2, Cell());
      return;
    }
    const model::Operation& operation = traces_.files[position.file].operations[*last];
    const auto time_ns = time(operation);
    row.push_back(text_.name_of(operation));
    row.push_back(time_ns ? Cell(alignment_.to_common_ns(position.file, *time_ns)) : Cell());
  }

  // From where a rank made its last call.
  std::vector<match::Caller> last_caller(const metrics::Position& position) const {
    std::vector<match::Caller> callers;
    if (position.last_enqueued) {
      const auto& last = traces_.files[position.file].operations[*position.last_enqueued];
      if (last.called_by != model::kNoName) {
        callers.push_back({position.rank.value_or(0), last.called_by});
      }
    }
    return callers;
  }
  std::uint32_t context_of(const metrics::Position& position) const {
    return hang_.matches.communicators[position.communicator].members[position.member].context;
  }

  void add_positions() {
    Table& table = document_.tables.emplace_back();
    table.key = "ranks";
    table.title = "The last operation of each rank";
    table.columns = {{"communicator", "communicator"},
                     {"rank", "rank", Shown::kInteger},
                     {"job_rank", "of the job", Shown::kInteger},
                     {"host", "host"},
                     {"pid", "pid", Shown::kInteger},
                     {"stuck_in", "stuck in"},
                     {"stage", "stage"},
                     {"waited_ns", "for", Shown::kDuration},
                     {"finished", "last finished"},
                     {"finished_ns", "at", Shown::kMoment},
                     {"started", "last started"},
                     {"started_ns", "at", Shown::kMoment},
                     {"enqueued", "last enqueued"},
                     {"enqueued_ns", "at", Shown::kMoment},
                     {"idle_ns", "nothing finished for", Shown::kDuration},
                     {"trace", "trace"},
                     {"called_by", "last called at"},
                     {"watchdog_enqueued", "", Shown::kNot},
                     {"watchdog_started", "", Shown::kNot},
                     {"watchdog_completed", "", Shown::kNot}};
    table.gives_way = {"trace",   "enqueued_ns", "enqueued",    "started_ns", "started",
                       "idle_ns", "called_by",   "finished_ns", "host",       "communicator"};
    std::set<std::uint32_t> stuck;
    std::set<std::uint32_t> not_joined;
    for (const metrics::StuckOperation& operation : hang_.operations) {
      stuck.insert(operation.waiting.begin(), operation.waiting.end());
      for (const Blocker& blocker : operation.blockers) {
        if (blocker.why == Blocker::Why::kNotJoined) {
          not_joined.insert(blocker.position);
        }
      }
    }
    for (std::uint32_t i = 0; i < hang_.positions.size(); ++i) {
      const metrics::Position& position = position_at(i);
      if (!hang_.shows(position.communicator)) {
        continue;
      }
      const model::TraceFile& file = traces_.files[position.file];
      std::vector<Cell> row = {text_.label(position.communicator), cell_of(position.rank),
                               job_rank_cell(position), file.process.host, pid_cell(position)};
      if (stuck.contains(i)) {
        const metrics::Front& front = position.fronts.front();
        row.insert(row.end(), {text_.name_of(file.operations[front.operation]),
                               std::string(stage_name(front.stage)), cell_of(front.waited_ns)});
      } else {
        row.insert(
            row.end(),
            {Cell(), not_joined.contains(i) ? Cell(std::string("not joined")) : Cell(), Cell()});
      }
      add_last(
          position, position.last_finished, [](const auto& o) { return o.end_ns; }, row);
      add_last(
          position, position.last_started, [](const auto& o) { return o.start_ns; }, row);
      add_last(
          position, position.last_enqueued, [](const auto& o) { return o.enqueue_start_ns; }, row);
      row.push_back(cell_of(position.idle_ns));
      row.emplace_back(std::string(trace_kind(file)));
      const auto callers = last_caller(position);
      row.push_back(call_site_cell(traces_, callers));
      if (not_joined.contains(i) && !callers.empty()) {
        frames_.add(text_.label(position.communicator),
                    text_.name_of(file.operations[*position.last_enqueued]), callers);
      }
      const model::Context& context = file.contexts.at(context_of(position));
      row.push_back(cell_of(context.last_enqueued));
      row.push_back(cell_of(context.last_started));
      row.push_back(cell_of(context.last_completed));
      table.rows.push_back(std::move(row));
    }
    for (const char* const key :
         {"job_rank", "called_by", "watchdog_enqueued", "watchdog_started", "watchdog_completed"}) {
      drop_empty_column(table, key);
    }
  }

  // Over the communicators.
  static std::uint64_t sum(const std::map<std::uint32_t, std::uint64_t>& counts) {
    std::uint64_t total = 0;
    for (const auto& [communicator, count] : counts) {
      total += count;
    }
    return total;
  }

  void add_notes() {
    auto& notes = document_.notes;
    for (const std::string& line : run_lines(hang_.matches.runs.runs)) {
      notes.push_back(line);
    }
    std::size_t lossy = 0;
    for (const model::TraceFile& file : traces_.files) {
      lossy += metrics::has_lost_records(file) ? 1 : 0;
    }
    if (lossy > 0) {
      notes.push_back(counted(lossy, file_word(traces_)) + " " + (lossy == 1 ? "has" : "have") +
                      " lost records: what looks unfinished there may have finished, and an "
                      "operation that is not there may have been called.");
    }
    if (const std::uint64_t only = sum(hang_.enqueued_only); only > 0) {
      notes.push_back(
          "For " + counted(only, "operation") +
          " in flight, only the enqueue is seen, on all ranks: whether the GPUs wait is "
          "unknown. Kernel channels show it: ringside run -- COMMAND");
    }
    if (const std::uint64_t young = sum(hang_.too_young); young > 0) {
      notes.push_back(counted(young, "operation") + " in flight waited for less than --min-age.");
    }
    if (std::any_of(traces_.files.begin(), traces_.files.end(),
                    [](const auto& file) { return !file.process.tells_moment; })) {
      notes.emplace_back(
          "A dump of PyTorch's Flight Recorder does not say when it was made: how long a rank has "
          "waited is not "
          "known, and where the job ran on between two dumps, what looks stuck may not be.");
    }
    if (!hang_.operations.empty()) {
      for (const std::string& defect : known_defects(traces_, hang_, hang_.operations.front())) {
        notes.push_back(defect + '.');
      }
    }
    if (hang_.matches.unpaired > 0) {
      notes.push_back(counted(hang_.matches.unpaired, "send or receive", "sends or receives") +
                      " cannot be paired, since a rank or peer is not known.");
    }
    if (const std::string inferred = inferred_text(hang_.matches.communicators);
        !inferred.empty()) {
      notes.push_back(inferred);
    }
    notes.insert(notes.end(), alignment_.notes().begin(), alignment_.notes().end());
    if (!alignment_.is_aligned() && traces_.files.front().process.tells_moment) {
      notes.emplace_back("Times of different hosts are those of their own clocks (--no-align).");
    }
  }

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  const Hang& hang_;
  const std::size_t top_;
  const bool has_frames_;
  const std::vector<metrics::OpenTransfers> transfers_;
  const HangText text_;
  const HangSentences sentences_;
  Document document_;
  FrameTable frames_;
};

}  // namespace

Document make_hang_report(const model::Traces& traces, const align::Alignment& alignment,
                          const metrics::Hang& hang, std::size_t top, bool has_frames) {
  return HangReport(traces, alignment, hang, top, has_frames).make();
}

}  // namespace ringside::report
