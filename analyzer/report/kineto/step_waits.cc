// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/kineto/step_waits.h"

#include <algorithm>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/kineto/step_text.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

// A wait in words.
struct WaitTexts {
  std::string operation, communicator, by, waits_for;
  std::string was_in, line;  // empty: not known
  std::int64_t was_in_ns = 0;
};

WaitTexts texts_of(const metrics::WaitPath& path, const std::vector<metrics::ProcessGraph>& graphs,
                   const facts::Facts& facts) {
  const metrics::StepWait& wait = path.waits.front();
  const match::MatchedOperation& operation = facts.matches().operations[wait.operation];
  const auto rank_of = [&](std::uint32_t process) {
    const model::Process& known = facts.traces().files[graphs[process].file].process;
    return known.launcher_rank ? "rank " + std::to_string(*known.launcher_rank)
                               : known.host + ':' + std::to_string(known.pid);
  };
  WaitTexts texts;
  texts.operation = match::operation_text(facts.traces(), operation);
  texts.communicator = label_of(facts.matches().communicators[operation.communicator]);
  texts.by = rank_of(wait.by);
  texts.waits_for = rank_of(wait.waits_for);
  const auto [most, most_ns] = mostly_in(facts, graphs, path, 0);
  if (most != nullptr && most->kind != metrics::PathKind::kUnknown) {
    const metrics::RankGraph& graph = graphs[most->process].graph;
    texts.was_in = step_part_text(facts, graphs, *most);
    texts.was_in_ns = most_ns;
    if (most->node < graph.nodes.size()) {
      texts.line = graph.names.text(graph.label_of(graph.nodes[most->node]).line);
    }
  }
  return texts;
}

}  // namespace

Table step_waits_table(const std::vector<metrics::WaitPath>& waits,
                       const std::vector<metrics::ProcessGraph>& graphs,
                       const facts::Facts& facts) {
  Table table{"waits",
              "Operations that waited for another rank, on the path or not",
              {{"operation", "operation"},
               {"communicator", "communicator"},
               {"rank", "on", Shown::kRank},
               {"waited_ns", "waited", Shown::kDuration},
               {"waits_for", "for", Shown::kRank},
               {"was_in", "which was in"},
               {"was_in_ns", "for", Shown::kDuration},
               {"line", "line"}},
              {}};
  table.gives_way = {"communicator", "was_in_ns"};
  for (const metrics::WaitPath& path : waits) {
    const WaitTexts texts = texts_of(path, graphs, facts);
    table.rows.push_back({texts.operation, texts.communicator, texts.by, path.length_ns(),
                          texts.waits_for, text_cell(texts.was_in),
                          texts.was_in.empty() ? Cell() : Cell(texts.was_in_ns),
                          text_cell(texts.line)});
  }
  return table;
}

std::vector<std::string> step_wait_sentences(const std::vector<metrics::WaitPath>& waits,
                                             const std::vector<metrics::ProcessGraph>& graphs,
                                             const facts::Facts& facts) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, waits.size()); ++i) {
    const WaitTexts texts = texts_of(waits[i], graphs, facts);
    std::string sentence = texts.operation + " of communicator " + texts.communicator + " waited " +
                           human_duration(waits[i].length_ns()) + " on " + texts.by + " for " +
                           texts.waits_for;
    if (texts.was_in.empty()) {
      sentence += "; what that rank did then is not recorded";
    } else {
      sentence += ", which was in " + texts.was_in +
                  (texts.line.empty() ? "" : " (" + texts.line + ")") + " for " +
                  human_duration(texts.was_in_ns);
    }
    sentences.push_back(sentence + '.');
  }
  return sentences;
}

}  // namespace ringside::report
