// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/grouping.h"

#include <algorithm>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/call_site.h"

namespace ringside::metrics {

static_assert(match::kNoRange == Grouping::kNone && model::kNoName == Grouping::kNone);

Grouping::Grouping(const model::Traces& traces, const match::Matches& matches, RowsBy by)
    : traces_(traces), matches_(matches), by_(by) {
  if (by == RowsBy::kRange) {
    ranges_.emplace(traces);
  }
  if (by == RowsBy::kCaller) {
    may_have_groups_ = std::any_of(
        traces.files.begin(), traces.files.end(),
        [](const model::TraceFile& file) { return file.operations.may_have_callers(); });
  }
}

std::uint32_t Grouping::group_of(const match::MatchedOperation& operation) const {
  const auto name_of = [&](model::NameId model::Operation::*member) {
    return match::name_of_first(traces_, matches_, operation, member);
  };
  switch (may_have_groups_ ? by_ : RowsBy::kKind) {
    case RowsBy::kRange:
      return ranges_->of(traces_, matches_, operation);
    case RowsBy::kCaller:
      return name_of(&model::Operation::called_by);
    case RowsBy::kUserTag:
      return name_of(&model::Operation::user_tag);
    case RowsBy::kKind:
      break;
  }
  return kNone;
}

std::string Grouping::text_of(std::uint32_t group) const {
  if (group == kNone) {
    return {};
  }
  switch (by_) {
    case RowsBy::kRange:
      return ranges_->text(group);
    case RowsBy::kCaller:
      return std::string(model::call_site(traces_.names.text(group)));
    case RowsBy::kUserTag:
      return std::string(traces_.names.text(group));
    case RowsBy::kKind:
      break;
  }
  return {};
}

}  // namespace ringside::metrics
