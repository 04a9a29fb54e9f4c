// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/selection_check.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/summary/summary.h"
#include "plugin/config/nearest_name.h"

namespace ringside::cli {
namespace {

// In natural order: 2 comes before 10.
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};
using Names = std::set<std::string, ShorterFirst>;

std::string list_of(const Names& names) {
  return model::joined(names, 8);
}

// `there` are all names that fit something; `listed` those of them that are listed.
std::string sentence(const std::string& asked, const std::string& what, const Names& there,
                     const Names& listed) {
  const std::vector<std::string_view> names(there.begin(), there.end());
  const std::string nearest(config::nearest_name(asked, names));
  std::string text = what + " " + asked;
  text += nearest.empty() ? "" : "; did you mean " + nearest + "?";
  return text + (listed.empty()
                     ? ""
                     : (nearest.empty() ? "; there are: " : " There are: ") + list_of(listed));
}

// `word`: "trace" or "dump".
std::string no_rank(const std::string& text, const Names& ranks, const std::string& word) {
  return "--rank: no " + word + " is of rank " + text +
         (ranks.empty() ? "; no " + word + " names its rank" : "; there are: " + list_of(ranks));
}

}  // namespace

std::string unknown_prefix(const std::string& prefix, const model::Traces& traces,
                           const model::Traces& dumps) {
  const bool is_used =
      prefix.empty() || !dumps.files.empty() ||
      std::any_of(traces.files.begin(), traces.files.end(),
                  [](const model::TraceFile& file) { return !file.process.tells_begin; });
  return is_used ? ""
                 : "--prefix: no dump of PyTorch's Flight Recorder here is named " + prefix +
                       " and a rank";
}

std::string unknown_rank_or_host(const match::Selection& selection, const model::Traces& traces) {
  Names ranks;
  Names hosts;
  for (const model::TraceFile& file : traces.files) {
    if (file.process.launcher_rank) {
      ranks.insert(std::to_string(*file.process.launcher_rank));
    }
    if (!file.process.host.empty()) {
      hosts.insert(file.process.host);
    }
  }
  const std::string word = report::file_word(traces);
  for (const std::int64_t rank : selection.ranks) {
    if (const std::string text = std::to_string(rank); !ranks.contains(text)) {
      return no_rank(text, ranks, word);
    }
  }
  for (const std::string& host : selection.hosts) {
    if (!hosts.contains(host)) {
      return sentence(host, "--host: no " + word + " is of host", hosts, hosts) +
             (hosts.empty() ? "; no " + word + " names its host" : "");
    }
  }
  return {};
}

std::string unknown_communicator_or_function(const match::Selection& selection,
                                             const model::Traces& traces,
                                             const match::Matches& matches) {
  Names known;   // names and hashes
  Names listed;  // of each communicator its name, or else its hash
  for (const match::Communicator& communicator : matches.communicators) {
    const std::string distinct = match::distinct_name(communicator);
    known.insert({communicator.name, distinct, communicator.hash});
    listed.insert(communicator.name.empty() ? communicator.hash : distinct);
  }
  known.erase("");
  listed.erase("");
  for (const std::string& name : selection.communicators) {
    if (!known.contains(name)) {
      return sentence(name, "--comm: no communicator with operations has the name or hash", known,
                      listed);
    }
  }
  Names functions;
  if (!selection.functions.empty()) {
    for (const match::MatchedOperation& operation : matches.operations) {
      functions.emplace(match::function_name(traces, operation));
    }
  }
  for (const std::string& name : selection.functions) {
    const bool is_pair = name == "Send" || name == "Recv";
    if (!functions.contains(is_pair ? "SendRecv" : name)) {
      return sentence(name, "--func: no operation is of the function", functions, functions);
    }
  }
  return {};
}

}  // namespace ringside::cli
