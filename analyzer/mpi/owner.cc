// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/owner.h"

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>

#include "analyzer/load/trace_loader.h"
#include "analyzer/metrics/global_ranks.h"
#include "analyzer/model/archive.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/problem.h"

namespace ringside::mpi {
namespace {

// One thread takes so many operations at a time.
constexpr std::size_t kArrivalsAtATime = 256;
// Rows of so many operations of ranks are on their way at one time.
constexpr std::size_t kRowsAtATime = std::size_t{1} << 18;
// The times of ranks are summed up in so many parts, which takes less memory.
constexpr std::size_t kPartsOfRanks = 8;

}  // namespace

void Owner::begin(Heads&& heads, Keeper& keeper) {
  model::Problems told;  // process 0 has them
  traces_ = load::join_heads(heads.paths, std::move(heads.files), told);
  alignment_ = std::move(heads.alignment);
  auto calls = match::match_alike(traces_);
  if (!calls) {
    throw std::runtime_error("the processes do not agree on what all ranks have called");
  }
  calls_ = std::move(*calls);
  keeper.give_rows(traces_);
  alignment_.set_stamp_errors(align::StampErrors(traces_));
}

Arrivals Owner::arrivals(std::vector<std::uint64_t>&& matched) {
  everywhere_ = std::move(matched);
  std::map<std::pair<std::uint32_t, model::NameId>, std::uint32_t> next;
  std::vector<std::uint32_t> first;  // by communicator
  std::uint32_t all = 0;
  for (std::uint32_t c = 0; c < calls_.functions.size(); ++c) {
    first.push_back(all);
    all += static_cast<std::uint32_t>(everywhere_[c]);
    everywhere_[c] += calls_.operations(c);
    for (const auto& [function, count] : calls_.functions[c]) {
      next[{c, function}] = all;
      all += static_cast<std::uint32_t>(count);
    }
  }
  const std::vector<std::uint32_t> places = match();
  auto place = places.begin();
  for (const match::MatchedOperation& operation : matches_.operations) {
    numbers_.push_back(calls_.needs_rows(operation.communicator)
                           ? first[operation.communicator] + *place++
                           : next.at({operation.communicator, operation.func})++);
  }
  return last_arrivals();
}

std::vector<std::uint32_t> Owner::match() {
  matches_ = match::match_rows(traces_, calls_);
  matches_.everywhere = everywhere_;
  std::vector<std::vector<std::uint32_t>> rows(traces_.files.size());
  const auto contexts = calls_.contexts_needed(traces_);
  for (std::size_t file = 0; file < rows.size(); ++file) {
    const model::Operations& operations = traces_.files[file].operations;
    const auto& needed = contexts[file];
    for (std::uint32_t i = 0; !needed.empty() && i < operations.size(); ++i) {
      if (std::find(needed.begin(), needed.end(), operations.context(i)) != needed.end()) {
        rows[file].push_back(i);
      }
    }
  }
  std::vector<std::uint32_t> places;
  std::exchange(matched_, {})
      .for_each([&](std::uint32_t place, match::MatchedOperation operation,
                    std::span<const match::Part> parts) {
        places.push_back(place);
        operation.first_part = matches_.parts.size();
        matches_.operations.push_back(operation);
        for (const match::Part& part : parts) {
          matches_.parts.push_back({part.member, part.file, rows[part.file].at(part.operation)});
        }
      });
  if (!places.empty()) {
    std::stable_sort(matches_.operations.begin(), matches_.operations.end(),
                     [](const auto& a, const auto& b) { return a.communicator < b.communicator; });
  }
  facts_.emplace(traces_, matches_, alignment_);
  return places;
}

Arrivals Owner::last_arrivals() const {
  Arrivals found{numbers_, {}, {}, alignment_.stamp_errors()};
  found.last_ns.resize(numbers_.size());
  found.groups.resize(numbers_.size());
  for_each_on_cores(numbers_.size() / kArrivalsAtATime + 1, [&](std::size_t, std::size_t portion) {
    const std::size_t first = portion * kArrivalsAtATime;
    const auto some = match::portion_of(first, kArrivalsAtATime, numbers_.size());
    facts_->last_arrivals(some, [&](std::size_t i, const std::optional<std::int64_t>& last_ns) {
      found.last_ns[first + i] = last_ns.value_or(Arrivals::kNone);
      const match::Part part = matches_.parts[matches_.operations[first + i].first_part];
      if (part.member == 0 && !calls_.needs_rows(matches_.operations[first + i].communicator)) {
        const auto group = traces_.files[part.file].operations.group(part.operation);
        found.groups[first + i] = group ? *group + 1 : 0;
      }
    });
  });
  return found;
}

void Owner::forget_network() {
  for (model::TraceFile& file : traces_.files) {
    file.proxies = {};
    file.steps = {};
  }
}

metrics::FoundLinks Owner::links(const std::vector<int>& keepers, Messages& messages) {
  metrics::LinkFinder finder(traces_, alignment_, calls_.matches.runs,
                             calls_.matches.communicators);
  std::vector<metrics::LinkSteps> links;
  std::vector<model::ArchiveWriter> writers(static_cast<std::size_t>(messages.processes()));
  for (metrics::LinkSteps& one : finder.collect()) {
    const int process = keepers[finder.file_of(one.link)];
    if (process == messages.process()) {
      links.push_back(std::move(one));
    } else {
      writers[static_cast<std::size_t>(process)](one);
      one = {};
    }
  }
  forget_network();
  std::vector<std::string> texts;
  texts.reserve(writers.size());
  for (model::ArchiveWriter& writer : writers) {
    texts.push_back(writer.take());
  }
  for (const std::string& text : messages.exchange(std::move(texts))) {
    model::ArchiveReader reader(text);
    while (!reader.is_at_end()) {
      reader(links.emplace_back());
    }
  }
  return finder.join(std::move(links));
}

std::uint64_t Owner::divide(Division&& division, Messages& messages) {
  const auto processes = static_cast<std::size_t>(messages.processes());
  // By file and operation of the file: who owns it. Nobody owns a call that is of no operation.
  std::vector<std::vector<std::uint32_t>> owners(traces_.files.size());
  for (std::size_t i = 0; i < owners.size(); ++i) {
    owners[i].resize(traces_.files[i].operations.size(), static_cast<std::uint32_t>(processes));
  }
  for (std::size_t i = 0; i < matches_.operations.size(); ++i) {
    const std::uint32_t owner = division.owner_of(places_[numbers_[i]]);
    for (const match::Part& part : match::parts_of(matches_, matches_.operations[i])) {
      owners[part.file][part.operation] = owner;
    }
  }
  facts_.reset();
  matches_ = {};
  numbers_.clear();
  forget_network();
  // By file and process that had them.
  std::vector<std::map<std::size_t, model::Operations>> received(traces_.files.size());
  std::uint64_t rows_sent = 0;
  bool has_more = true;
  for (std::size_t next = 0; has_more;) {
    std::vector<model::ArchiveWriter> writers(processes);
    for (std::size_t rows = 0; next < owners.size() && rows < kRowsAtATime; ++next) {
      model::Operations& all = traces_.files[next].operations;
      rows += all.size();
      std::vector<model::Operations> of_owners(processes + 1);
      for (std::size_t i = 0; i < all.size(); ++i) {
        of_owners[owners[next][i]].push_back(all[i]);
      }
      all = {};
      owners[next] = {};
      for (std::size_t process = 0; process < processes; ++process) {
        if (!of_owners[process].empty()) {
          rows_sent += process == static_cast<std::size_t>(messages.process())
                           ? 0
                           : of_owners[process].size();
          std::uint64_t file = next;
          writers[process](file, of_owners[process]);
        }
      }
    }
    std::vector<std::string> texts;
    texts.reserve(processes);
    for (model::ArchiveWriter& writer : writers) {
      texts.push_back((next < owners.size() ? '1' : '0') + writer.take());
    }
    has_more = false;
    texts = messages.exchange(std::move(texts));
    for (std::size_t process = 0; process < processes; ++process) {
      has_more = has_more || texts[process].front() == '1';
      model::ArchiveReader reader(std::string_view(texts[process]).substr(1));
      while (!reader.is_at_end()) {
        std::uint64_t file = 0;
        reader(file);
        reader(received.at(file)[process]);
      }
    }
  }
  for (std::size_t i = 0; i < received.size(); ++i) {
    for (auto& [process, operations] : received[i]) {
      model::Operations& here = traces_.files[i].operations;
      if (here.empty()) {
        here = std::move(operations);
      } else {
        here.append(std::move(operations));
      }
    }
  }
  alignment_.set_stamp_errors(std::move(division.errors));
  for (std::uint32_t number = 0; number < places_.size(); ++number) {
    if (division.owner_of(places_[number]) == static_cast<std::uint32_t>(messages.process())) {
      numbers_.push_back(number);
    }
  }
  match();
  return rows_sent;
}

metrics::Overlap Owner::waiting(Messages& messages) const {
  metrics::Overlap found;
  found.ranks.resize(metrics::GlobalRanks(traces_, matches_).all().size());
  std::vector<metrics::WaitTable> waits(static_cast<std::size_t>(messages.processes()));
  metrics::find_waits(*facts_, found, [&](const metrics::WaitTable::Row& row) {
    waits[static_cast<std::size_t>(row.front()) % waits.size()].push_back(row);
  });
  std::vector<std::string> texts;
  for (metrics::WaitTable& of_process : waits) {
    texts.push_back(model::archived(of_process));
    of_process = {};
  }
  metrics::WaitingRanks waiting(found.ranks.size());
  for (std::string& text : messages.exchange(std::move(texts))) {
    metrics::WaitTable received;
    model::unarchive(std::exchange(text, {}), received);
    for (std::size_t i = 0; i < received.size(); ++i) {
      waiting.add(received.first(i));
    }
  }
  waiting.finish(found);
  return found;
}

metrics::FoundShares Owner::shares(Messages& messages) const {
  const auto processes = static_cast<std::size_t>(messages.processes());
  metrics::TimeShares shares(*facts_, processes * kPartsOfRanks);
  facts_->for_each(
      [&](std::size_t thread, const facts::SeenOperation& seen) { shares.add(thread, seen); });
  metrics::FoundShares found;
  for (std::size_t part = 0; part < kPartsOfRanks; ++part) {
    std::vector<std::string> texts;
    for (std::size_t process = 0; process < processes; ++process) {
      metrics::Stays stays = shares.take(part * processes + process);
      texts.push_back(model::archived(stays));
    }
    metrics::Stays all;
    for (const std::string& text : messages.exchange(std::move(texts))) {
      metrics::Stays stays;
      model::unarchive(text, stays);
      all.take(std::move(stays));
    }
    found.take(shares.sum_up(std::move(all)));
  }
  return found;
}

metrics::SummedRows& Owner::sum_up(metrics::RowsBy by) {
  rows_ = metrics::sum_up_rows(*facts_, by);
  // Process 0 has the rows and verdicts of all others.
  std::erase_if(rows_.rows,
                [&](const auto& row) { return calls_.needs_rows(row.first.communicator); });
  for (std::uint32_t c = 0; c < rows_.communicators.size(); ++c) {
    if (calls_.needs_rows(c)) {
      rows_.communicators[c] = {};
    }
  }
  return rows_;
}

replay::JobParts Owner::job_parts(metrics::RowsBy by) const {
  return replay::find_parts(*facts_, by, numbers_);
}

FoundDurations Owner::find(const WantedDurations& wanted) const {
  FoundDurations found;
  for (const auto& [key, buckets] : wanted) {
    if (const auto row = rows_.rows.find(key); row != rows_.rows.end()) {
      found[key] = row->second.times.find(buckets);
    }
  }
  return found;
}

}  // namespace ringside::mpi
