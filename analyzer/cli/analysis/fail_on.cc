// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/fail_on.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <system_error>

#include "analyzer/cli/output.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/slow_text.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::cli {
namespace {

struct Word {
  std::string_view name;
  FailOn what;
  char comparison;  // '<', '>', or 0 where the word stands alone
  bool is_percent;
};

constexpr std::array<Word, 10> kWords = {{{"busbw", FailOn::kBusbw, '<', false},
                                          {"algbw", FailOn::kAlgbw, '<', false},
                                          {"efficiency", FailOn::kEfficiency, '<', true},
                                          {"straggler", FailOn::kStraggler, '>', true},
                                          {"wait", FailOn::kWait, '>', true},
                                          {"mismatch", FailOn::kMismatch, 0, false},
                                          {"missing", FailOn::kMissing, 0, false},
                                          {"state", FailOn::kState, 0, false},
                                          {"unfinished", FailOn::kUnfinished, 0, false},
                                          {"dropped", FailOn::kDropped, 0, false}}};

std::optional<Condition> parse_one(std::string_view text, std::string& error) {
  const std::size_t at = std::min(text.find_first_of("<>"), text.size());
  const std::string_view name = trimmed(text.substr(0, at));
  const auto word = std::find_if(kWords.begin(), kWords.end(),
                                 [&](const Word& known) { return known.name == name; });
  if (word == kWords.end()) {
    error = "there is no condition \"" + std::string(name) + "\"";
    return std::nullopt;
  }
  Condition condition{word->what, 0, false, std::string(text)};
  if (word->comparison == 0) {
    error = at == text.size() ? "" : std::string(name) + " takes no number";
    return error.empty() ? std::optional(condition) : std::nullopt;
  }
  std::string_view number = at < text.size() ? trimmed(text.substr(at + 1)) : std::string_view();
  if (word->what == FailOn::kStraggler && number.ends_with("surely")) {
    number = trimmed(number.substr(0, number.size() - std::string_view("surely").size()));
    condition.is_at_least = true;
  }
  if (word->is_percent && number.ends_with('%')) {
    number.remove_suffix(1);
  }
  const auto [end, failure] =
      std::from_chars(number.data(), number.data() + number.size(), condition.limit);
  if (at == text.size() || text[at] != word->comparison || failure != std::errc() ||
      end != number.data() + number.size() || !(condition.limit >= 0) ||
      !std::isfinite(condition.limit)) {
    error = "\"" + std::string(text) + "\" is not of the form " + std::string(name) +
            word->comparison + (word->is_percent ? "5%" : "200");
    return std::nullopt;
  }
  return condition;
}

// Prints one number if both ends would be printed alike, and "?" if nothing limits the most.
std::string figure_text(const metrics::Figure& figure) {
  const std::string least = report::fixed(figure.least, 2);
  const std::string most =
      std::isfinite(figure.most) ? report::fixed(figure.most, 2) : std::string("?");
  return least == most ? least : least + " to " + most;
}

class Judge {
 public:
  Judge(const Analysis& analysis, const report::Summary& summary,
        const std::vector<std::string>& gaps)
      : analysis_(analysis), summary_(summary), gaps_(model::joined(gaps, gaps.size())) {}

  Verdicts judge(const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
      if (analysis_.matches.operations.empty()) {
        verdicts_.unknown.push_back(condition.text + ": there is no operation to judge");
        continue;
      }
      judge(condition);
    }
    return std::move(verdicts_);
  }

 private:
  void judge(const Condition& condition) {
    switch (condition.what) {
      case FailOn::kBusbw:
      case FailOn::kAlgbw:
      case FailOn::kEfficiency:
        return judge_bandwidth(condition);
      case FailOn::kStraggler:
      case FailOn::kWait:
        return judge_waiting(condition);
      case FailOn::kMismatch:
        return judge_verdicts(condition,
                              {match::Verdict::kFunctionMismatch, match::Verdict::kSizeMismatch,
                               match::Verdict::kDatatypeMismatch, match::Verdict::kRootMismatch},
                              "in which ranks disagree");
      case FailOn::kMissing:
        return judge_verdicts(condition, {match::Verdict::kMissing}, "that a rank did not call");
      case FailOn::kState:
        return judge_verdicts(condition, {match::Verdict::kStateMismatch},
                              "finished on some ranks only");
      case FailOn::kUnfinished: {
        std::uint64_t count = 0;
        for (const metrics::CommunicatorRows& rows : summary_.rows) {
          for (const std::uint64_t of_state : rows.unfinished) {
            count += of_state;
          }
        }
        return judge_count(condition, count, "not seen to finish");
      }
      case FailOn::kDropped: {
        const std::uint64_t dropped = report::dropped_total(summary_.inputs);
        const std::uint64_t bad = report::count_unread(analysis_.traces, analysis_.problems);
        if (dropped + bad > 0) {
          fail(condition, report::counted(dropped, "callback") + " dropped, " +
                              report::counted(bad, "line or file", "lines or files") + " not read");
        } else {
          judge_count(condition, 0, "");
        }
      }
    }
  }

  std::uint64_t verdicts(match::Verdict verdict) const {
    std::uint64_t count = 0;
    for (const metrics::CommunicatorRows& rows : summary_.rows) {
      count += rows.verdicts[static_cast<std::size_t>(verdict)];
    }
    return count;
  }

  // An operation that is undecided might have one of these verdicts.
  void judge_verdicts(const Condition& condition, std::initializer_list<match::Verdict> all,
                      const char* which) {
    std::uint64_t found = 0;
    for (const match::Verdict verdict : all) {
      found += verdicts(verdict);
    }
    const std::uint64_t undecided = verdicts(match::Verdict::kUndecided);
    // Ranks without a trace are a gap of their own, unless they were not chosen.
    const std::uint64_t unseen = match::most_ranks_without_trace(summary_.communicators) > 0
                                     ? 0
                                     : verdicts(match::Verdict::kNotRecorded);
    if (found == 0 && undecided + unseen > 0) {
      verdicts_.unknown.push_back(
          condition.text + ": " + report::counted(undecided + unseen, "operation") +
          (unseen == 0 ? " undecided" : " undecided, or not recorded on all ranks"));
    } else {
      judge_count(condition, found, which);
    }
  }

  void judge_count(const Condition& condition, std::uint64_t count, const char* which) {
    if (count > 0) {
      fail(condition, report::counted(count, "operation") + ' ' + which);
    } else if (!gaps_.empty()) {
      verdicts_.unknown.push_back(condition.text +
                                  ": none is seen, but not all is there: " + gaps_);
    }
  }

  void judge_bandwidth(const Condition& condition) {
    // These are of all rows the one that is surely the slowest, and the one that may be.
    std::optional<metrics::Figure> slowest;
    std::optional<metrics::Figure> vaguest;
    std::string slowest_row;
    std::string vaguest_row;
    for (std::size_t i = 0; i < summary_.rows.size(); ++i) {
      for (const metrics::Row& row : summary_.rows[i].rows) {
        auto figure = condition.what == FailOn::kBusbw   ? row.busbw_gb_s
                      : condition.what == FailOn::kAlgbw ? row.algbw_gb_s
                                                         : row.efficiency_percent();
        if (figure && row.is_least_open()) {
          figure->most = std::numeric_limits<double>::infinity();
        }
        const auto name = [&] {
          return row.function + " of " + report::human_bytes(row.bytes.value_or(0)) + " in " +
                 report::label_of(summary_.communicators[i]);
        };
        if (figure && (!slowest || figure->most < slowest->most)) {
          slowest = figure;
          slowest_row = name();
        }
        if (figure && (!vaguest || figure->least < vaguest->least)) {
          vaguest = figure;
          vaguest_row = name();
        }
      }
    }
    const bool is_percent = condition.what == FailOn::kEfficiency;
    const std::string unit = is_percent ? " % of the peak" : " GB/s";
    if (!slowest) {
      verdicts_.unknown.push_back(condition.text +
                                  (is_percent ? ": no peak is known" : ": no bandwidth is known"));
    } else if (slowest->most < condition.limit) {
      fail(condition, figure_text(*slowest) + unit + ": " + slowest_row);
    } else if (vaguest->least < condition.limit) {
      verdicts_.unknown.push_back(condition.text + ": it is " + figure_text(*vaguest) + unit +
                                  " as far as the clocks and stamps are known: " + vaguest_row);
    }
  }

  void judge_waiting(const Condition& condition) {
    replay::Replays& replays = analysis_.replays();
    bool has_failed = false;
    for (const auto& run : replays.runs) {
      const auto& worst = run->slow().worst;
      const double waited = static_cast<double>(run->waited_ns()) /
                            static_cast<double>(std::max<std::int64_t>(run->job().wall_ns, 1)) /
                            static_cast<double>(run->job().ranks.size());
      if (condition.what == FailOn::kWait && 100 * waited > condition.limit) {
        fail(condition, report::percent_text(waited) + " of all ranks' time");
        has_failed = true;
      } else if (condition.what == FailOn::kStraggler && worst &&
                 100 * (condition.is_at_least ? worst->cost.least : worst->cost.best) >
                     condition.limit) {
        fail(condition, report::slow_sentence(*worst, run->job()));
        has_failed = true;
      }
    }
    const std::string unseen = report::unseen_sentence(replays);
    if (!has_failed && (!unseen.empty() || replays.runs.empty())) {
      verdicts_.unknown.push_back(condition.text + ": " +
                                  (unseen.empty() ? "no operation of several ranks" : unseen));
    }
  }

  void fail(const Condition& condition, const std::string& what) {
    verdicts_.failed.push_back(condition.text + ": " + what);
  }

  const Analysis& analysis_;
  const report::Summary& summary_;
  const std::string gaps_;
  Verdicts verdicts_;
};

}  // namespace

const char kFailOnHelp[] =
    "Exit with 1 if one of these holds, separated by commas: busbw<GB/s, algbw<GB/s (of the "
    "slowest row), efficiency<PERCENT (of the peak, in the slowest row), straggler>PERCENT (of the "
    "wall time; \"straggler>PERCENT surely\" asks the lower end of the range), wait>PERCENT (of "
    "all "
    "ranks' time), mismatch, missing, state, unfinished, dropped; with 4 if one cannot be judged";

std::optional<std::vector<Condition>> parse_conditions(std::string_view text, std::string& error) {
  std::vector<Condition> conditions;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    auto condition = parse_one(trimmed(text.substr(0, comma)), error);
    if (!condition) {
      error += "; conditions are";
      for (const Word& word : kWords) {
        error += (word.name == kWords.front().name ? " " : ", ") + std::string(word.name);
        if (word.comparison != 0) {
          error += word.comparison + std::string(word.is_percent ? "PERCENT" : "GB/s");
        }
      }
      return std::nullopt;
    }
    conditions.push_back(std::move(*condition));
    if (comma == text.size()) {
      return conditions;
    }
    text.remove_prefix(comma + 1);
  }
}

Verdicts judge_conditions(const std::vector<Condition>& conditions, const Analysis& analysis,
                          const report::Summary& summary, const std::vector<std::string>& gaps) {
  return Judge(analysis, summary, gaps).judge(conditions);
}

}  // namespace ringside::cli
