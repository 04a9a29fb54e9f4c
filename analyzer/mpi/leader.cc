// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/leader.h"

#include <algorithm>
#include <set>
#include <utility>

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

std::vector<bool> Leader::share_out(const std::vector<std::string>& paths) {
  const std::string& own_host = messages_.hosts().front();
  std::vector<std::size_t> numbers;  // of the files that are shared out
  std::vector<FileToShare> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto place = places_.find(paths[i]);
    const bool is_remote = place != places_.end() && place->second.host != own_host;
    const std::uint64_t bytes = is_remote ? place->second.state.bytes : load::trace_bytes(paths[i]);
    if (is_remote || bytes > 0) {
      numbers.push_back(i);
      files.push_back({bytes, place == places_.end() ? "" : place->second.host});
    }
  }
  const std::vector<int> processes = share_by_size(files, messages_.hosts());
  std::vector<bool> is_elsewhere(paths.size());
  std::map<int, Packer> requests;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (processes[i] == 0) {
      ++own_.files;
      own_.bytes += files[i].bytes;
      continue;
    }
    auto request = requests.find(processes[i]);
    if (request == requests.end()) {
      request = requests.emplace(processes[i], start_of(Request::kRead)).first;
      request->second.number(is_local_ ? 0 : 1);
    }
    request->second.number(numbers[i]);
    request->second.number(files[i].bytes);
    request->second.text(paths[numbers[i]]);
    is_elsewhere[numbers[i]] = true;
    ++awaited_;
  }
  for (const auto& [process, request] : requests) {
    messages_.send(process, request.packed());
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
