// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/match_report.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/match/verdict/findings.h"
#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/call_sites.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/match_sentences.h"
#include "analyzer/report/summary/job_ranks.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using match::Verdict;

Severity severity_of(Verdict verdict) {
  const int gravity = match::gravity(verdict);
  return gravity == 3 ? Severity::kError : gravity == 2 ? Severity::kWarning : Severity::kNote;
}

// The words of docs/columns.md.
const char* kind_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFunctionMismatch:
    case Verdict::kSizeMismatch:
    case Verdict::kDatatypeMismatch:
    case Verdict::kRootMismatch:
      return "mismatch";
    case Verdict::kStateMismatch:
      return "state-mismatch";
    case Verdict::kMissing:
      return "missing";
    case Verdict::kNotRecorded:
      return "not-recorded";
    case Verdict::kUndecided:
    case Verdict::kMatched:
      break;
  }
  return "undecided";
}

class MatchDocument {
 public:
  MatchDocument(const model::Traces& traces, const match::Matches& matches,
                const std::vector<match::Judgement>& judgements,
                std::vector<match::CommunicatorFindings> findings, bool has_frames,
                bool is_all_read)
      : traces_(traces),
        matches_(matches),
        judgements_(judgements),
        findings_(std::move(findings)),
        has_frames_(has_frames),
        is_all_read_(is_all_read),
        job_ranks_(traces, matches.communicators) {}

  Document make() {
    document_.command = "match";
    sides_ = {"sides",
              "Operations that do not match, side by side",
              {{"communicator", "communicator"},
               {"run", "run", Shown::kInteger},
               {"operation", "operation"},
               {"verdict", "verdict"},
               {"differs_in", "differs in"},
               {"did", "did"},
               {"ranks", "on", Shown::kRanks},
               {"job_ranks", "of the job", Shown::kRanks},
               {"minority", "minority"},
               {"called_by", "called at"}},
              {}};
    sides_.gives_way = {"run", "verdict", "called_by", "communicator"};
    verdicts_ = {"verdicts",
                 "Operations by verdict",
                 {{"communicator", "communicator"}, {"run", "run", Shown::kInteger}},
                 {}};
    for (std::size_t v = 0; v < match::kVerdictCount; ++v) {
      const std::string name = match::verdict_name(static_cast<Verdict>(v));
      std::string key = name;
      std::replace(key.begin(), key.end(), ' ', '_');
      verdicts_.columns.push_back({key, name, Shown::kInteger});
    }
    for (std::size_t c = 0; c < findings_.size(); ++c) {
      add_communicator(c);
    }
    add_findings();
    // Verdicts that no operation has say least.
    for (std::size_t v = verdicts_.columns.size() - 1; v >= 2; --v) {
      if (std::all_of(verdicts_.rows.begin(), verdicts_.rows.end(), [v](const auto& row) {
            const auto* const count = std::get_if<std::uint64_t>(&row[v]);
            return count != nullptr && *count == 0;
          })) {
        verdicts_.gives_way.push_back(verdicts_.columns[v].key);
      }
    }
    add_answer();
    if (const std::string inferred = inferred_text(matches_.communicators); !inferred.empty()) {
      document_.notes.push_back(inferred);
    }
    for (const std::string& line : run_lines(matches_.runs.runs)) {
      document_.sentences.push_back(line);
    }
    drop_empty_column(sides_, "called_by");
    drop_empty_column(sides_, "job_ranks");
    document_.tables.push_back(std::move(sides_));
    document_.tables.push_back(std::move(verdicts_));
    if (has_frames_) {
      frames_.finish(traces_, document_);
    }
    return std::move(document_);
  }

 private:
  void add_communicator(std::size_t c) {
    const match::Communicator& communicator = matches_.communicators[c];
    const match::CommunicatorFindings& findings = findings_[c];
    const std::string label = label_of(communicator);
    const Cell run = std::uint64_t{communicator.run} + 1;
    std::vector<Cell> row = {label, run};
    for (std::size_t v = 0; v < match::kVerdictCount; ++v) {
      row.emplace_back(findings.verdicts[v]);
      total_[v] += findings.verdicts[v];
    }
    if (!communicator.why_alone.empty()) {
      constexpr auto kUndecided = static_cast<std::size_t>(Verdict::kUndecided);
      const std::uint64_t alone = findings.verdicts[kUndecided];
      total_[kUndecided] -= alone;
      alone_ += alone;
      const auto& all = findings.verdicts;
      communicators_alone_ += std::accumulate(all.begin(), all.end(), std::uint64_t{0}) == alone;
    }
    verdicts_.rows.push_back(std::move(row));
    if (findings.not_described > 0) {
      document_.notes.push_back(label + ": " + counted(findings.not_described, "more operation") +
                                " that " + (findings.not_described == 1 ? "does" : "do") +
                                " not match (--mismatch-cap describes more)");
    }
    const std::string prefix = label + ": ";
    for (const std::string& note : communicator.notes) {
      document_.notes.push_back(prefix + note);
    }
    if (communicator.unaligned_calls > 0) {
      document_.notes.push_back(label + ": " + counted(communicator.unaligned_calls, "call") +
                                " of " + counted(communicator.unaligned_members.size(), "rank") +
                                " could not be aligned for certain");
    }
    const auto absent = match::ranks_without_trace(communicator);
    if (!absent.empty()) {
      document_.notes.push_back(label + ": no " + file_word(traces_) + " of " +
                                match::rank_list(absent));
    }
  }

  // All communicators together: what goes wrong in one often comes from another.
  void add_findings() {
    std::vector<std::tuple<int, std::int64_t, std::size_t>> order;
    for (const match::CommunicatorFindings& findings : findings_) {
      for (std::size_t k = 0; k < findings.described.size(); ++k) {
        const std::size_t i = findings.described[k];
        order.emplace_back(-match::gravity(judgements_[i].verdict), findings.called_ns[k], i);
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [gravity, called_ns, i] : order) {
      add_finding(i);
    }
  }

  void add_finding(std::size_t i) {
    const match::Judgement& judgement = judgements_[i];
    const match::MatchedOperation& operation = matches_.operations[i];
    const match::Communicator& communicator = matches_.communicators[operation.communicator];
    const std::string label = label_of(communicator);
    Finding finding = {severity_of(judgement.verdict), kind_of(judgement.verdict),
                       match_sentence(traces_, matches_, judgements_, i)};
    if (const auto ranks = job_ranks_.text(operation.communicator, ranks_named_in(i));
        !ranks.empty()) {
      finding.text += ". " + ranks;
    }
    finding.around = around_text(traces_, matches_, operation);
    if (operation.way == match::Way::kPair) {
      // One rank's exchange with many others is as many pairs of one number.
      finding.cause = label + ':' + std::to_string(operation.number) + finding.kind;
    }
    finding.ranks = launched_ranks(traces_, communicator,
                                   add_sides(label, std::uint64_t{communicator.run} + 1, i));
    document_.findings.push_back(std::move(finding));
  }

  Cell job_ranks_cell(std::uint32_t communicator, const Ranks& ranks) const {
    Ranks of_job = job_ranks_.of_job(communicator, ranks);
    return of_job.empty() ? Cell() : Cell(std::move(of_job));
  }

  std::vector<std::uint32_t> ranks_named_in(std::size_t i) const {
    const match::MatchedOperation& operation = matches_.operations[i];
    auto ranks = judgements_[i].is_damaged
                     ? match::damaged_ranks(traces_, matches_, operation)
                     : match::absent_ranks(matches_, operation, judgements_[i]);
    if (operation.way == match::Way::kPair) {
      ranks.insert(ranks.end(), {operation.source, operation.destination});
    }
    for (const match::Side& side : match::sides_of(traces_, matches_, judgements_, i)) {
      ranks.insert(ranks.end(), side.ranks.begin(), side.ranks.end());
    }
    return ranks;
  }

  // Returns the ranks of the minority.
  Ranks add_sides(const std::string& label, const Cell& run, std::size_t i) {
    Ranks fewer;
    const match::MatchedOperation& operation = matches_.operations[i];
    const match::Judgement& judgement = judgements_[i];
    const std::string subject = match::subject_text(traces_, matches_, judgements_, i);
    const auto add = [&](const std::string& did, const std::vector<std::uint32_t>& ranks,
                         const Cell& minority, const std::vector<match::Caller>& callers) {
      sides_.rows.push_back({label, run, subject, match::verdict_name(judgement.verdict),
                             match::difference_name(judgement.difference), did, ranks,
                             job_ranks_cell(operation.communicator, ranks), minority,
                             call_site_cell(traces_, callers)});
      frames_.add(label, judgement.difference == match::Difference::kFunction ? did : subject,
                  callers);
      if (minority == Cell(true)) {
        fewer.insert(fewer.end(), ranks.begin(), ranks.end());
      }
    };
    const auto sides = match::sides_of(traces_, matches_, judgements_, i);
    for (const match::Side& side : sides) {
      add(side.did, side.ranks, judgement.is_of_inferred ? Cell() : Cell(side.is_minority),
          side.callers);
    }
    if (judgement.is_damaged || judgement.is_shifted) {
      add(judgement.is_damaged ? "record is damaged" : "pairs are shifted",
          judgement.is_damaged
              ? match::damaged_ranks(traces_, matches_, operation)
              : std::vector<std::uint32_t>{operation.source, operation.destination},
          Cell(), match::callers_of(traces_, matches_, operation));
      return fewer;
    }
    if (sides.empty()) {
      const auto absent = match::absent_ranks(matches_, operation, judgement);
      std::vector<std::uint32_t> present;
      const auto& members = matches_.communicators[operation.communicator].members;
      const auto& left_out_by = judgement.left_out_by;
      for (const match::Part& part : match::parts_of(matches_, operation)) {
        if (!match::is_to_self(operation) &&
            std::binary_search(left_out_by.begin(), left_out_by.end(), part.member)) {
          continue;
        }
        present.push_back(members[part.member].rank.value_or(part.member));
      }
      const bool is_called = judgement.verdict == Verdict::kMissing;
      const auto minority = [&](bool is_fewer) { return is_called ? Cell(is_fewer) : Cell(); };
      add(match::is_left_out(judgement)              ? "did not call it"
          : judgement.verdict == Verdict::kUndecided ? "not aligned"
                                                     : "not recorded",
          absent, minority(absent.size() < present.size()), {});
      add(match::is_left_out(judgement) ? "called it" : "recorded", present,
          minority(present.size() < absent.size()),
          match::callers_of(traces_, matches_, operation));
    }
    return fewer;
  }

  // True if no rank has made a call that its trace may lack.
  bool is_whole() const {
    for (const match::Communicator& communicator : matches_.communicators) {
      for (const match::Member& member : communicator.members) {
        const model::TraceFile& file = traces_.files[member.file];
        if (!member.is_lossless || !file.closed || file.torn || file.account.in_rings > 0) {
          return false;
        }
      }
    }
    return true;
  }

  void add_answer() {
    const std::uint64_t others = std::accumulate(total_.begin(), total_.end(), std::uint64_t{0});
    if (alone_ > 0) {
      document_.sentences.push_back(
          std::to_string(alone_) + " of " + counted(alone_ + others, "operation") +
          " could not be compared, since it is not known which ranks ran them: " +
          match::why_alone(matches_.communicators) + '.');
    }
    if (alone_ == 0 || others > 0) {
      document_.sentences.push_back(answer());
    }
  }

  std::string answer() const {
    std::uint64_t operations = 0;
    std::vector<std::string> parts;
    for (std::size_t v = 0; v < match::kVerdictCount; ++v) {
      operations += total_[v];
      if (total_[v] > 0) {
        parts.push_back(std::to_string(total_[v]) + ' ' +
                        match::verdict_name(static_cast<Verdict>(v)));
      }
    }
    const std::string of =
        counted(operations, "operation") + " of " +
        counted(matches_.communicators.size() - communicators_alone_, "communicator");
    return operations == 0 ? "There is no operation to match."
           : total_[0] == operations && !is_all_read_
               ? "All operations that could be read match: " + of +
                     " agree on all ranks. Some of the input is damaged or could not be read."
           : total_[0] == operations && is_whole()
               ? "All match: " + of + ", recorded on all ranks, and they agree."
           : total_[0] == operations ? "All recorded operations match: " + of +
                                           " agree on all ranks. Some records are " + "missing."
                                     : of + ": " + model::joined(parts, parts.size()) + '.';
  }

  const model::Traces& traces_;
  const match::Matches& matches_;
  const std::vector<match::Judgement>& judgements_;
  const std::vector<match::CommunicatorFindings> findings_;
  const bool has_frames_;
  const bool is_all_read_;
  const JobRanks job_ranks_;
  std::array<std::uint64_t, match::kVerdictCount> total_{};
  std::uint64_t alone_ = 0;  // operations of which no other rank is known
  std::size_t communicators_alone_ = 0;
  Document document_;
  Table sides_;
  Table verdicts_;
  FrameTable frames_;
};

}  // namespace

Document match_document(const model::Traces& traces, const match::Matches& matches,
                        const std::vector<match::Judgement>& judgements, std::size_t cap,
                        bool has_frames, bool is_all_read) {
  return MatchDocument(traces, matches, judgements,
                       match::find_findings(traces, matches, judgements, cap), has_frames,
                       is_all_read)
      .make();
}

Document match_document(const model::Traces& traces, const match::Matches& matches,
                        const align::Alignment& alignment, std::size_t cap, bool has_frames,
                        bool is_all_read) {
  return match_document(traces, matches,
                        match::judge_all(traces, matches, align::judging_clock(alignment)), cap,
                        has_frames, is_all_read);
}

}  // namespace ringside::report
