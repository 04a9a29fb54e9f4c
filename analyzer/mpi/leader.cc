// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/leader.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/load/segments.h"
#include "analyzer/model/archive.h"
#include "analyzer/mpi/packing.h"
#include "analyzer/mpi/shares.h"

namespace ringside::mpi {
namespace {

Packer start_of(Request request) {
  Packer packer;
  packer.number(static_cast<std::uint64_t>(request));
  return packer;
}

std::string joined(const std::set<std::string>& hosts) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  std::size_t named = 0;
  for (const std::string& host : hosts) {
    if (named++ == kNamed) {
      return text + " and " + std::to_string(hosts.size() - kNamed) + " more hosts";
    }
    text += (text.empty() ? "" : ", ") + host;
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, int>> Leader::hosts() const {
  std::vector<std::pair<std::string, int>> firsts;
  std::set<std::string> known;
  for (int process = 0; process < messages_.processes(); ++process) {
    const std::string& host = messages_.hosts()[static_cast<std::size_t>(process)];
    if (known.insert(host).second) {
      firsts.emplace_back(host, process);
    }
  }
  return firsts;
}

std::map<std::string, FoundFiles> Leader::find_on_all_hosts(
    const std::vector<std::string>& arguments, const load::DumpChoice& dumps) {
  Packer request = start_of(Request::kFind);
  request.texts(arguments);
  pack(dumps, request);
  for (const auto& [host, process] : hosts()) {
    if (process != 0) {
      messages_.send(process, request.packed());
    }
  }
  std::map<std::string, FoundFiles> found;
  found[messages_.hosts().front()] = find_on_this_host(arguments, dumps);
  while (found.size() < hosts().size()) {
    const Message answer = messages_.receive();
    Unpacker unpacker(answer.text);
    found[messages_.hosts()[static_cast<std::size_t>(answer.from)]] = unpack_found(unpacker);
  }
  return found;
}

void Leader::take_files(const std::string& host, const FoundFiles& found, load::Inputs& inputs,
                        model::Problems& problems) {
  for (std::size_t i = 0; i < found.inputs.paths.size(); ++i) {
    const std::string& path = found.inputs.paths[i];
    const auto [place, is_new] = places_.try_emplace(path, Place{host, found.states[i]});
    if (place->second.host == host) {
      place->second.state = found.states[i];
      inputs.paths.push_back(path);
    } else if (place->second.state != found.states[i]) {
      problems.add_file(path, "another file on " + host + " than on " + place->second.host +
                                  ", and left out there: give each host's files names of their "
                                  "own");
    }
  }
  inputs.notes.insert(inputs.notes.end(), found.inputs.notes.begin(), found.inputs.notes.end());
}

load::Inputs Leader::find_inputs(const std::vector<std::string>& arguments,
                                 model::Problems& problems, const load::DumpChoice& dumps) {
  if (!is_local_) {
    return load::find_own_inputs(arguments, problems, dumps);
  }
  const std::map<std::string, FoundFiles> found = find_on_all_hosts(arguments, dumps);
  load::Inputs inputs;
  std::vector<std::pair<std::string, std::string>> troubles;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> hosts_of_trouble;
  for (const auto& [host, process] : hosts()) {
    const FoundFiles& of_host = found.at(host);
    take_files(host, of_host, inputs, problems);
    for (const auto& trouble : of_host.problems) {
      std::set<std::string>& hosts = hosts_of_trouble[trouble];
      if (hosts.empty()) {
        troubles.push_back(trouble);
      }
      hosts.insert(host);
    }
  }
  for (const auto& trouble : troubles) {
    const std::set<std::string>& hosts = hosts_of_trouble[trouble];
    problems.add_file(
        trouble.first,
        trouble.second + (hosts.size() == found.size() ? "" : " (on " + joined(hosts) + ')'));
  }
  for (auto* const texts : {&inputs.paths, &inputs.notes}) {
    std::sort(texts->begin(), texts->end());
    texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
  }
  return inputs;
}

Leader::Share Leader::share(const std::vector<std::string>& paths, bool is_in_order) {
  const std::string& own_host = messages_.hosts().front();
  Share made;
  std::vector<FileToShare> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto place = places_.find(paths[i]);
    const bool is_remote = place != places_.end() && place->second.host != own_host;
    const std::uint64_t bytes = is_remote ? place->second.state.bytes : load::trace_bytes(paths[i]);
    if (is_remote || bytes > 0) {
      made.numbers.push_back(i);
      made.bytes.push_back(bytes);
      const std::string host = place == places_.end() ? "" : place->second.host;
      const bool follows = !files.empty() && files.back().host == host &&
                           load::seems_to_follow(paths[i], paths[i - 1]);
      files.push_back({bytes, host, follows});
    }
  }
  made.processes = is_in_order ? share_in_order(files, messages_.hosts())
                               : share_by_size(files, messages_.hosts());
  return made;
}

std::size_t Leader::ask_for(const Share& share, const std::vector<std::string>& paths, Request what,
                            bool has_machines) {
  std::map<int, Packer> requests;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < share.numbers.size(); ++i) {
    const int process = share.processes[i];
    if (process == 0) {
      ++own_.files;
      own_.bytes += share.bytes[i];
      continue;
    }
    auto request = requests.find(process);
    if (request == requests.end()) {
      request = requests.emplace(process, start_of(what)).first;
      if (what == Request::kKeep) {
        request->second.number(has_machines ? 1 : 0);
      }
      request->second.number(is_local_ ? 0 : 1);
    }
    request->second.number(share.numbers[i]);
    request->second.number(share.bytes[i]);
    request->second.text(paths[share.numbers[i]]);
    ++asked;
  }
  for (const auto& [process, request] : requests) {
    messages_.send(process, request.packed());
  }
  return asked;
}

std::vector<load::KeptFile> Leader::keep(const std::vector<std::string>& paths, bool has_machines) {
  const Share all = messages_.processes() > 1 ? share(paths, true) : Share();
  if (all.numbers.size() < paths.size() || paths.empty()) {
    return {};
  }
  std::size_t awaited = ask_for(all, paths, Request::kKeep, has_machines);
  kept_paths_ = paths;
  keepers_ = all.processes;
  std::vector<std::uint64_t> own_numbers;
  std::vector<std::string> own_paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (keepers_[i] == 0) {
      own_numbers.push_back(i);
      own_paths.push_back(paths[i]);
    }
  }
  keeper_.read(std::move(own_numbers), std::move(own_paths));
  std::vector<load::KeptFile> files = keeper_.heads(has_machines);
  while (awaited > 0) {
    const Message answer = messages_.receive();
    std::vector<load::KeptFile> others;
    model::unarchive(answer.text, others);
    awaited -= others.size();
    files.insert(files.end(), std::make_move_iterator(others.begin()),
                 std::make_move_iterator(others.end()));
  }
  if (has_machines) {
    kept_ = model::archived(files);
  }
  return files;
}

Heads Leader::heads(const align::Alignment& alignment) const {
  Heads heads{kept_paths_, {}, alignment};
  model::unarchive(kept_, heads.files);
  return heads;
}

std::vector<std::uint64_t> Leader::numbers_of(const model::Traces& traces) const {
  std::map<std::string_view, std::uint64_t> number_of;  // by path
  for (std::size_t i = 0; i < kept_paths_.size(); ++i) {
    number_of[kept_paths_[i]] = i;
  }
  std::vector<std::uint64_t> numbers;
  for (const model::TraceFile& file : traces.files) {
    numbers.push_back(number_of.at(file.path));
  }
  return numbers;
}

std::vector<int> Leader::keepers_of(const model::Traces& traces) const {
  std::vector<int> keepers;
  for (const std::uint64_t number : numbers_of(traces)) {
    keepers.push_back(keepers_[number]);
  }
  return keepers;
}

void Leader::send_rows(const std::vector<std::vector<std::uint32_t>>& contexts,
                       model::Traces& traces) {
  const std::vector<std::uint64_t> numbers = numbers_of(traces);
  std::map<std::uint64_t, std::size_t> file_of;  // by number
  std::map<int, model::ArchiveWriter> requests;
  std::vector<ContextsOfFile> own;
  std::size_t awaited = 0;
  for (std::size_t file = 0; file < contexts.size(); ++file) {
    if (contexts[file].empty()) {
      continue;
    }
    file_of[numbers[file]] = file;
    ContextsOfFile wanted{numbers[file], contexts[file]};
    if (const int process = keepers_[numbers[file]]; process != 0) {
      requests[process](wanted);
      ++awaited;
    } else {
      own.push_back(std::move(wanted));
    }
  }
  for (auto& [process, wanted] : requests) {
    Packer request = start_of(Request::kRows);
    request.bytes(wanted.take());
    messages_.send(process, request.packed());
  }
  const auto take = [&](RowsOfFile&& rows) {
    std::vector<model::NameId> names;
    for (const std::string& name : rows.names) {
      names.push_back(traces.names.find(name));
    }
    model::TraceFile& file = traces.files[file_of.at(rows.number)];
    file.elsewhere.operations -= rows.operations.size();
    file.operations.append(std::move(rows.operations), names);
  };
  for (const ContextsOfFile& wanted : own) {
    take(keeper_.rows(wanted));
  }
  while (awaited > 0) {
    const Message answer = messages_.receive();
    model::ArchiveReader reader(answer.text);
    for (; !reader.is_at_end(); --awaited) {
      RowsOfFile rows;
      reader(rows);
      take(std::move(rows));
    }
  }
}

std::vector<bool> Leader::share_out(const std::vector<std::string>& paths) {
  std::vector<bool> is_elsewhere(paths.size());
  if (paths == kept_paths_) {
    keeper_.clear();
    const std::set<int> others(keepers_.begin(), keepers_.end());
    for (const int process : others) {
      if (process != 0) {
        messages_.send(process, start_of(Request::kSend).packed());
      }
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
      is_elsewhere[i] = keepers_[i] != 0;
      awaited_ += is_elsewhere[i] ? 1 : 0;
    }
    kept_paths_.clear();
    return is_elsewhere;
  }
  const Share all = share(paths, false);
  awaited_ += ask_for(all, paths, Request::kRead);
  for (std::size_t i = 0; i < all.numbers.size(); ++i) {
    is_elsewhere[all.numbers[i]] = all.processes[i] != 0;
  }
  return is_elsewhere;
}

std::vector<load::ReadFile> Leader::receive() {
  std::vector<load::ReadFile> files;
  if (awaited_ == 0) {
    return files;
  }
  const Message message = messages_.receive();
  Unpacker unpacker(message.text);
  while (!unpacker.is_at_end()) {
    load::ReadFile& file = files.emplace_back();
    file.number = unpacker.number();
    file.partial = unpacker.text();
  }
  awaited_ -= files.size();
  return files;
}

void Leader::place(const model::Traces& traces,
                   const std::vector<align::CommunicatorElsewhere>& communicators) {
  numbers_of_files_ = numbers_of(traces);
  std::vector<std::vector<KeptCommunicator>> kept(static_cast<std::size_t>(messages_.processes()));
  for (const align::CommunicatorElsewhere& communicator : communicators) {
    auto& hosts_at = hosts_at_.emplace_back();
    hosts_in_.push_back(communicator.hosts.size());
    for (std::vector<KeptCommunicator>& of_process : kept) {
      of_process.emplace_back().functions = communicator.functions;
    }
    for (const auto& [file, context, rank, host, since_zero_ns] : communicator.members) {
      const std::uint64_t number = numbers_of_files_[file];
      const int process = keepers_[number];
      std::vector<std::uint32_t>& hosts = hosts_at[process];
      auto place = std::find(hosts.begin(), hosts.end(), host);
      place = place == hosts.end() ? hosts.insert(place, host) : place;
      KeptCommunicator& here = kept[static_cast<std::size_t>(process)].back();
      here.hosts = static_cast<std::uint32_t>(hosts.size());
      here.members.push_back({number, context, rank,
                              static_cast<std::uint32_t>(place - hosts.begin()), since_zero_ns});
    }
  }
  for (int process = 1; process < messages_.processes(); ++process) {
    Packer request = start_of(Request::kPlace);
    pack(kept[static_cast<std::size_t>(process)], request);
    messages_.send(process, request.packed());
  }
  keeper_.place(std::move(kept.front()));
}

std::vector<align::HostBounds> Leader::bounds(const align::RangeElsewhere& range) {
  const auto& hosts_at = hosts_at_[range.communicator];
  Packer request = start_of(Request::kBounds);
  pack(range, request);
  for (const auto& [process, hosts] : hosts_at) {
    if (process != 0) {
      messages_.send(process, request.packed());
    }
  }
  std::vector<align::HostBounds> all(range.count * hosts_in_[range.communicator]);
  const auto take = [&](int process, const std::vector<align::HostBounds>& bounds) {
    const std::vector<std::uint32_t>& hosts = hosts_at.at(process);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      all[i / hosts.size() * hosts_in_[range.communicator] + hosts[i % hosts.size()]].take(
          bounds[i]);
    }
  };
  std::size_t awaited = hosts_at.size();
  if (hosts_at.contains(0)) {
    take(0, keeper_.bounds(range));
    --awaited;
  }
  for (; awaited > 0; --awaited) {
    const Message answer = messages_.receive();
    Unpacker unpacker(answer.text);
    take(answer.from, unpack_bounds(unpacker));
  }
  return all;
}

std::vector<align::Chunk> Leader::chunks(align::StepsElsewhere steps) {
  std::vector<align::WantedSteps> files(static_cast<std::size_t>(messages_.processes()));
  for (auto& [file, of_file] : steps.files) {
    const std::uint64_t number = numbers_of_files_[file];
    files[static_cast<std::size_t>(keepers_[number])][static_cast<std::uint32_t>(number)] =
        std::move(of_file);
  }
  KeptSteps kept{steps.stride, std::move(steps.before), {}};
  for (int process = messages_.processes() - 1; process >= 0; --process) {
    kept.files = std::move(files[static_cast<std::size_t>(process)]);
    if (process > 0) {
      Packer request = start_of(Request::kChunks);
      request.bytes(model::archived(kept));
      messages_.send(process, request.packed());
    }
  }
  std::vector<align::Chunk> chunks = keeper_.chunks(std::move(kept), messages_);
  for (int process = 1; process < messages_.processes(); ++process) {
    std::vector<align::Chunk> more;
    model::unarchive(messages_.receive().text, more);
    chunks.insert(chunks.end(), more.begin(), more.end());
  }
  return chunks;
}

std::vector<Statistics> Leader::end() {
  for (int process = 1; process < messages_.processes(); ++process) {
    messages_.send(process, start_of(Request::kEnd).packed());
  }
  std::vector<Statistics> statistics(static_cast<std::size_t>(messages_.processes()));
  for (int process = 1; process < messages_.processes(); ++process) {
    const Message answer = messages_.receive();
    Unpacker unpacker(answer.text);
    statistics[static_cast<std::size_t>(answer.from)] = unpack_statistics(unpacker);
  }
  complete(messages_, own_);
  statistics.front() = own_;
  return statistics;
}

}  // namespace ringside::mpi
