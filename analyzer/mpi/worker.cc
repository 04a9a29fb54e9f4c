// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/worker.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <sys/stat.h>
#include <utility>

#include "analyzer/load/other_processes.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/model/archive.h"
#include "analyzer/mpi/keeper.h"
#include "analyzer/mpi/owned_iterations.h"
#include "analyzer/mpi/owner.h"
#include "analyzer/mpi/packing.h"
#include "analyzer/mpi/requests.h"

namespace ringside::mpi {
namespace {

// Files whose traces are in memory at one time.
constexpr std::uint64_t kBatch_bytes = std::uint64_t{64} << 20;
// Rows of one message, or those of one file that has more.
constexpr std::uint64_t kRowsOfMessage = std::uint64_t{1} << 18;

void find_files(Messages& messages, Unpacker& request) {
  const std::vector<std::string> arguments = request.texts();
  Packer answer;
  pack(find_on_this_host(arguments, unpack_dump_choice(request)), answer);
  messages.send(0, answer.packed());
}

void check_is_there(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw std::runtime_error(path + ", which process 0 sees: " + std::strerror(errno) +
                             ". All hosts must see all files; if each has its own, say --local");
  }
}

void send_partials(Messages& messages, const std::vector<load::ReadFile>& files) {
  Packer answer;
  for (const load::ReadFile& file : files) {
    answer.number(file.number);
    answer.text(file.partial);
  }
  messages.send(0, answer.packed());
}

// Some of the files of a request.
struct Batch {
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> paths;
  std::uint64_t bytes = 0;
};

// Takes files until they have so many bytes.
Batch take_batch(Unpacker& request, bool are_shared, std::uint64_t most_bytes,
                 Statistics& statistics) {
  Batch batch;
  while (!request.is_at_end() && batch.bytes < most_bytes) {
    batch.numbers.push_back(request.number());
    batch.bytes += request.number();
    batch.paths.push_back(request.text());
    if (are_shared) {
      check_is_there(batch.paths.back());
    }
  }
  statistics.files += batch.paths.size();
  statistics.bytes += batch.bytes;
  return batch;
}

void read_files(Messages& messages, Unpacker& request, Statistics& statistics) {
  const bool are_shared = request.number() != 0;
  while (!request.is_at_end()) {
    const Batch batch = take_batch(request, are_shared, kBatch_bytes, statistics);
    const std::vector<load::LoadedTrace> loaded = load::load_each(batch.paths);
    for (const load::LoadedTrace& one : loaded) {
      statistics.rows_sent +=
          one.traces.files.empty() ? 0 : one.traces.files.front().operations.size();
    }
    std::vector<std::string> partials = load::encode_files(batch.paths, loaded);
    std::vector<load::ReadFile> files;
    for (std::size_t i = 0; i < partials.size(); ++i) {
      files.push_back({batch.numbers[i], std::move(partials[i])});
    }
    send_partials(messages, files);
  }
}

void keep_files(Messages& messages, Unpacker& request, Keeper& keeper, Statistics& statistics) {
  const bool has_machines = request.number() != 0;
  const bool are_shared = request.number() != 0;
  Batch all =
      take_batch(request, are_shared, std::numeric_limits<std::uint64_t>::max(), statistics);
  keeper.read(std::move(all.numbers), std::move(all.paths));
  std::vector<load::KeptFile> files = keeper.heads(has_machines);
  messages.send(0, model::archived(files));
}

void send_rows(Messages& messages, std::string_view text, const Keeper& keeper,
               Statistics& statistics) {
  model::ArchiveReader request(text);
  while (!request.is_at_end()) {
    model::ArchiveWriter answer;
    for (std::uint64_t rows = 0; !request.is_at_end() && rows < kRowsOfMessage;) {
      ContextsOfFile wanted;
      request(wanted);
      RowsOfFile found = keeper.rows(wanted);
      rows += found.operations.size();
      statistics.rows_sent += found.operations.size();
      answer(found);
    }
    messages.send(0, answer.take());
  }
}

void send_kept(Messages& messages, Keeper& keeper, Statistics& statistics) {
  for (auto files = keeper.take_some(statistics.rows_sent); !files.empty();
       files = keeper.take_some(statistics.rows_sent)) {
    send_partials(messages, files);
  }
  keeper.clear();
}

void send_bounds(Messages& messages, Unpacker& request, const Keeper& keeper) {
  Packer answer;
  pack(keeper.bounds(unpack_range(request)), answer);
  messages.send(0, answer.packed());
}

// The steps to figures; see requests.h.
void serve_figures(Messages& messages, Request what, std::string_view text, Keeper& keeper,
                   Owner& owner, Statistics& statistics) {
  if (what == Request::kMatched) {
    MatchedRows matched;
    model::unarchive(text, matched);
    owner.take(std::move(matched));
  } else if (what == Request::kHeads) {
    Heads heads;
    model::unarchive(text, heads);
    owner.begin(std::move(heads), keeper);
  } else if (what == Request::kArrivals) {
    std::vector<std::uint64_t> matched;
    model::unarchive(text, matched);
    Arrivals arrivals = owner.arrivals(std::move(matched));
    messages.send(0, model::archived(arrivals));
  } else if (what == Request::kPlaces) {
    std::vector<std::uint32_t> places;
    model::unarchive(text, places);
    owner.set_places(std::move(places));
  } else if (what == Request::kNetwork) {
    std::vector<int> keepers;
    model::unarchive(text, keepers);
    metrics::FoundLinks found = owner.links(keepers, messages);
    messages.send(0, model::archived(found));
  } else if (what == Request::kRunning) {
    metrics::Overlap running = owner.running();
    messages.send(0, model::archived(running));
  } else if (what == Request::kIterations) {
    messages.send(0, OwnedIterations(owner).answer(text));
  } else if (what == Request::kJobParts) {
    metrics::RowsBy by = metrics::RowsBy::kKind;
    model::unarchive(text, by);
    replay::JobParts parts = owner.job_parts(by);
    messages.send(0, model::archived(parts));
  } else if (what == Request::kWaiting) {
    metrics::Overlap waiting = owner.waiting(messages);
    messages.send(0, model::archived(waiting));
  } else if (what == Request::kShares) {
    metrics::FoundShares shares = owner.shares(messages);
    messages.send(0, model::archived(shares));
  } else if (what == Request::kDivide) {
    Division division;
    model::unarchive(text, division);
    statistics.rows_sent += owner.divide(std::move(division), messages);
  } else if (what == Request::kSum) {
    metrics::RowsBy by = metrics::RowsBy::kKind;
    model::unarchive(text, by);
    messages.send(0, model::archived(owner.sum_up(by)));
  } else {
    WantedDurations wanted;
    model::unarchive(text, wanted);
    FoundDurations found = owner.find(wanted);
    messages.send(0, model::archived(found));
  }
}

}  // namespace

void serve(Messages& messages) {
  Statistics statistics;
  Keeper keeper;
  Owner owner;
  for (;;) {
    const Message message = messages.receive();
    Unpacker request(message.text);
    const auto what = static_cast<Request>(request.number());
    switch (what) {
      case Request::kFind:
        find_files(messages, request);
        break;
      case Request::kRead:
        read_files(messages, request, statistics);
        break;
      case Request::kKeep:
        keep_files(messages, request, keeper, statistics);
        break;
      case Request::kRows:
        send_rows(messages, request.rest(), keeper, statistics);
        break;
      case Request::kSend:
        send_kept(messages, keeper, statistics);
        break;
      case Request::kPlace:
        keeper.place(unpack_communicators(request));
        break;
      case Request::kBounds:
        send_bounds(messages, request, keeper);
        break;
      case Request::kChunks: {
        KeptSteps wanted;
        model::unarchive(request.rest(), wanted);
        std::vector<align::Chunk> chunks = keeper.chunks(std::move(wanted), messages);
        messages.send(0, model::archived(chunks));
        break;
      }
      case Request::kHeads:
      case Request::kNetwork:
      case Request::kMatched:
      case Request::kArrivals:
      case Request::kPlaces:
      case Request::kRunning:
      case Request::kIterations:
      case Request::kDivide:
      case Request::kWaiting:
      case Request::kShares:
      case Request::kJobParts:
      case Request::kSum:
      case Request::kFigures:
        serve_figures(messages, what, request.rest(), keeper, owner, statistics);
        break;
      case Request::kEnd: {
        complete(messages, statistics);
        Packer answer;
        pack(statistics, answer);
        messages.send(0, answer.packed());
        return;
      }
    }
  }
}

}  // namespace ringside::mpi
