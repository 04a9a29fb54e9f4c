// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/relay.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <unistd.h>
#include <utility>

#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "launch/text.h"
#include "live/hosts/dump_file.h"
#include "live/hosts/relay_line.h"
#include "live/hosts/running_command.h"
#include "live/hosts/stack_samples.h"

namespace ringside::live {
namespace {

using Texts = std::vector<std::string>;

// A line holds one of these:
//   to a host    find, ms of time, request, count of parents, parents, pids
//   to a host    ask, ms of time, then of each process its path and its request
//   to a host    read, 0, path of a dump, user of the process
//   to a host    evidence, ms of time; each answer has its source as path
//   to a host    stacks, 0, pids; likewise, an answer for each of them
//   to a host    starting, 0; an answer for each rank, with its directory as path, its job as stem,
//                its number as reason, and its age in ms
//   from a host  version, count of notes, notes, then of each process kOfExchange texts
constexpr std::string_view kFind = "find";
constexpr std::string_view kAsk = "ask";
constexpr std::string_view kRead = "read";
constexpr std::string_view kEvidence = "evidence";
constexpr std::string_view kStacks = "stacks";
constexpr std::string_view kStarting = "starting";
constexpr std::size_t kOfExchange = 7;

constexpr std::size_t kHostsNamed = 3;  // of a list

// Of a host's answer; it may be anybody's. A process answers 1 MiB at most, and mostly far less.
constexpr std::size_t kMostRelayAnswer_bytes = std::size_t{64} << 20;
constexpr std::size_t kMostDumpAnswer_bytes = std::size_t{256} << 20;

// A number that is not negative, of the text at this index; -1 if there is none.
std::int64_t number(const Texts& texts, std::size_t index) {
  std::int64_t value = 0;
  if (index >= texts.size()) {
    return -1;
  }
  const char* const last = texts[index].data() + texts[index].size();
  const auto [end, error] = std::from_chars(texts[index].data(), last, value);
  return error == std::errc() && end == last ? value : -1;
}

void append(const Exchange& exchange, Texts& texts) {
  texts.insert(
      texts.end(),
      {exchange.endpoint.path, exchange.endpoint.stem, std::to_string(exchange.endpoint.pid),
       std::to_string(exchange.endpoint.uid), std::to_string(static_cast<int>(exchange.silence)),
       exchange.reason, exchange.answer});
}

std::optional<Exchange> read_exchange(const Texts& texts, std::size_t at) {
  Exchange exchange;
  const std::int64_t silence = number(texts, at + 4);
  exchange.endpoint.pid = number(texts, at + 2);
  if (exchange.endpoint.pid < 0 || silence < 0 || silence > static_cast<int>(Silence::kTrouble)) {
    return std::nullopt;
  }
  exchange.endpoint.path = texts[at];
  exchange.endpoint.stem = texts[at + 1];
  exchange.endpoint.uid = static_cast<uid_t>(number(texts, at + 3));
  exchange.silence = static_cast<Silence>(silence);
  exchange.reason = texts[at + 5];
  exchange.answer = texts[at + 6];
  return exchange;
}

struct HostAnswer {
  std::string version;
  std::vector<std::string> notes;
  std::vector<Exchange> exchanges;
};

std::optional<HostAnswer> read_answer(std::string_view output, std::size_t most_bytes) {
  const auto texts = read_relay_line(output, most_bytes);
  const std::int64_t notes = texts ? number(*texts, 1) : -1;
  if (notes < 0 || static_cast<std::size_t>(notes) > texts->size() - 2) {
    return std::nullopt;
  }
  HostAnswer answer;
  answer.version = texts->front();
  std::size_t at = 2;
  for (std::int64_t i = 0; i < notes; ++i) {
    answer.notes.push_back((*texts)[at++]);
  }
  for (; texts->size() - at >= kOfExchange; at += kOfExchange) {
    auto exchange = read_exchange(*texts, at);
    if (!exchange) {
      return std::nullopt;
    }
    answer.exchanges.push_back(*std::move(exchange));
  }
  return at == texts->size() ? std::optional(std::move(answer)) : std::nullopt;
}

// Runs a command for each host: at most so many at one time, and none that is known to be late.
std::vector<HostCommand> run_on_hosts(
    const Hosts& hosts, const std::vector<std::pair<std::string, std::string>>& inputs) {
  std::vector<HostCommand> commands(inputs.size());
  std::vector<HostCommand> asked;
  std::vector<std::size_t> places;  // of those that are asked now, in `commands`
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    commands[i].command = hosts.command(inputs[i].first);
    commands[i].input = inputs[i].second;
    auto known = hosts.slow ? hosts.slow->take(inputs[i].first, commands[i]) : std::nullopt;
    if (known) {
      commands[i] = *std::move(known);
    } else {
      asked.push_back(commands[i]);
      places.push_back(i);
    }
  }
  run_all(asked, hosts.most_at_once, hosts.timeout, hosts.stop);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (hosts.slow && asked[i].is_late) {
      hosts.slow->add(inputs[places[i]].first, asked[i]);
    }
    commands[places[i]] = std::move(asked[i]);
  }
  if (hosts.slow) {
    hosts.slow->go_on(hosts.most_at_once, hosts.timeout);
  }
  return commands;
}

// Returns the versions of the ringsides on these hosts; empty where there is none.
std::vector<std::string> versions_on(const Hosts& hosts, const std::vector<std::string>& names) {
  constexpr std::string_view kProgram = "ringside ";
  std::vector<HostCommand> commands(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    commands[i].command = hosts.command(names[i], "--version");
  }
  run_all(commands, hosts.most_at_once, hosts.timeout, hosts.stop);
  std::vector<std::string> versions(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::istringstream lines(commands[i].output);
    for (std::string line; commands[i].error.empty() && std::getline(lines, line);) {
      if (line.starts_with(kProgram)) {
        versions[i] = launch::printable(line.substr(kProgram.size()));
      }
    }
  }
  return versions;
}

// Why there is no answer, in words that follow the host's name.
std::string why_none(const HostCommand& command, const std::string& program,
                     const std::string& version) {
  constexpr std::string_view kNotFound = "ended with status 127";
  // One of the same version that answers has answered something else.
  if (!version.empty() && (version != RINGSIDE_VERSION || !command.error.empty())) {
    return "has ringside " + version + ", which cannot answer this one (" + RINGSIDE_VERSION +
           (version == RINGSIDE_VERSION ? ", of another build" : "") +
           "): install the same version there, or name one by --remote-program (" + program + ")";
  }
  if (command.error.starts_with(kNotFound)) {
    return command.error + "; --remote-program says where ringside is there (" + program + ")";
  }
  return command.error.empty() ? "answers what is not Ringside's: is it as new there as here?"
                               : command.error;
}

// Asks each of these hosts, and gives its answer, or why there is none, to take(index, answer,
// reason). A host that is known to be slow is left out of a look only.
template <typename Take>
void ask_each(Hosts hosts, const std::vector<std::pair<std::string, std::string>>& inputs,
              bool is_look, Take&& take, std::size_t most_bytes = kMostRelayAnswer_bytes) {
  hosts.slow = is_look ? hosts.slow : nullptr;
  // An earlier ringside does not know what it is asked, and says so with this status.
  constexpr std::string_view kUsage = "ended with status 2:";
  std::vector<HostCommand> commands = run_on_hosts(hosts, inputs);
  std::vector<std::optional<HostAnswer>> answers;
  std::vector<std::string> doubtful;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& answer = answers.emplace_back(read_answer(commands[i].output, most_bytes));
    std::exchange(commands[i].output, {});
    if (!answer && (commands[i].error.empty() || (commands[i].error + ':').starts_with(kUsage))) {
      doubtful.push_back(inputs[i].first);
    }
  }
  std::map<std::string, std::string> versions;
  const std::vector<std::string> found = versions_on(hosts, doubtful);
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    versions[doubtful[i]] = found[i];
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string reason =
        answers[i] ? "" : why_none(commands[i], hosts.program, versions[inputs[i].first]);
    take(i, std::move(answers[i]), reason);
  }
}

std::vector<std::pair<std::string, std::string>> the_same_for(const std::vector<std::string>& hosts,
                                                              const Texts& texts) {
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const std::string& host : hosts) {
    inputs.emplace_back(host, relay_line(texts));
  }
  return inputs;
}

// Two names of one machine: each of its processes has answered twice. The name of a ring directory
// has the process's host, number and begin in it, and a random number.
void leave_out_doubles(std::vector<Exchange>& exchanges, std::vector<std::string>& notes) {
  std::map<std::string, std::size_t> first;                    // by that name: its place
  std::map<std::pair<std::string, std::string>, int> doubles;  // of two names: processes
  std::vector<Exchange> kept;
  for (Exchange& exchange : exchanges) {
    const std::string& path = exchange.endpoint.path;
    const auto [place, is_new] =
        path.empty() ? std::pair(first.end(), true)
                     : first.try_emplace(path.substr(path.rfind('/') + 1), kept.size());
    if (is_new) {
      kept.push_back(std::move(exchange));
      continue;
    }
    Exchange& other = kept[place->second];
    if (other.silence == Silence::kNone && exchange.silence == Silence::kNone) {
      ++doubles[{other.endpoint.host, exchange.endpoint.host}];
    } else if (exchange.silence == Silence::kNone) {
      other = std::move(exchange);  // a directory that hosts share: only one has the process
    }
  }
  for (const auto& [names, count] : doubles) {
    notes.push_back(names.second + " is another name of " + names.first + ": " +
                    report::counted(static_cast<std::uint64_t>(count), "process", "processes") +
                    " there " + (count == 1 ? "counts" : "count") + " once");
  }
  exchanges = std::move(kept);
}

// Only what is named as a dump is handed out.
Exchange dump_of(const std::string& path, uid_t owner) {
  Exchange exchange;
  exchange.endpoint.path = path;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("ringside.") || name.find(".dump") == std::string::npos) {
    exchange.reason = "it is no dump";
  } else {
    exchange.answer = read_dump(path, owner, exchange.reason);
  }
  exchange.silence = exchange.reason.empty() ? Silence::kNone : Silence::kTrouble;
  return exchange;
}

std::string answer_line(const std::vector<std::string>& notes,
                        const std::vector<Exchange>& exchanges) {
  Texts texts = {RINGSIDE_VERSION, std::to_string(notes.size())};
  texts.insert(texts.end(), notes.begin(), notes.end());
  for (const Exchange& exchange : exchanges) {
    append(exchange, texts);
  }
  return relay_line(texts);
}

}  // namespace

std::vector<Exchange> ask_here(const Search& search, const std::string& request,
                               std::chrono::milliseconds timeout, std::vector<std::string>& notes) {
  std::vector<Exchange> exchanges;
  for (const std::string& parent : search.parents) {
    std::string error;
    for (Endpoint& endpoint : find_endpoints(parent, error)) {
      const bool is_named =
          std::find(search.pids.begin(), search.pids.end(), endpoint.pid) != search.pids.end();
      if (search.pids.empty() ? endpoint.is_own() : is_named) {
        Exchange& exchange = exchanges.emplace_back();
        exchange.endpoint = std::move(endpoint);
        exchange.request = request;
      }
    }
    if (!error.empty()) {
      notes.push_back(std::string(parent).append(": ").append(error));
    }
  }
  ask_all(exchanges, timeout);
  return exchanges;
}

std::vector<Exchange> ask_hosts(const Hosts& hosts, const Search& search,
                                const std::string& request, std::chrono::milliseconds timeout,
                                std::vector<std::string>& notes) {
  Texts texts = {std::string(kFind), std::to_string(timeout.count()), request,
                 std::to_string(search.parents.size())};
  texts.insert(texts.end(), search.parents.begin(), search.parents.end());
  for (const std::int64_t pid : search.pids) {
    texts.push_back(std::to_string(pid));
  }
  std::vector<Exchange> exchanges;
  std::map<std::string, std::vector<std::string>> other_versions;  // to the hosts that have it
  ask_each(hosts, the_same_for(hosts.names, texts), true,
           [&](std::size_t i, std::optional<HostAnswer> answer, const std::string& reason) {
             const std::string& host = hosts.names[i];
             if (!answer) {
               Exchange& exchange = exchanges.emplace_back();
               exchange.endpoint.host = host;
               exchange.silence = Silence::kTrouble;
               exchange.reason = std::string("host ").append(host).append(" ").append(reason);
               return;
             }
             if (answer->version != RINGSIDE_VERSION) {
               other_versions[answer->version].push_back(host);
             }
             for (const std::string& note : answer->notes) {
               notes.push_back(std::string(host).append(": ").append(note));
             }
             for (Exchange& exchange : answer->exchanges) {
               exchange.endpoint.host = host;
               exchanges.push_back(std::move(exchange));
             }
           });
  for (const auto& [version, names] : other_versions) {
    notes.push_back(model::joined(names, kHostsNamed) + (names.size() == 1 ? " has" : " have") +
                    " ringside " + launch::printable(version) + ", and this is " +
                    RINGSIDE_VERSION +
                    ": install the same version on all hosts, or name one by --remote-program; "
                    "until then what only one of them knows is missing");
  }
  leave_out_doubles(exchanges, notes);
  return exchanges;
}

void ask_all_on_hosts(const Hosts& hosts, std::vector<Exchange>& exchanges,
                      std::chrono::milliseconds timeout) {
  std::map<std::string, std::vector<Exchange*>> of_hosts;
  for (Exchange& exchange : exchanges) {
    of_hosts[exchange.endpoint.host].push_back(&exchange);
  }
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const auto& [host, of_host] : of_hosts) {
    Texts texts = {std::string(kAsk), std::to_string(timeout.count())};
    for (const Exchange* const exchange : of_host) {
      texts.insert(texts.end(), {exchange->endpoint.path, exchange->request});
    }
    inputs.emplace_back(host, relay_line(texts));
  }
  ask_each(hosts, inputs, false,
           [&](std::size_t of, std::optional<HostAnswer> answer, std::string reason) {
             const std::vector<Exchange*>& asked = of_hosts[inputs[of].first];
             if (answer && answer->exchanges.size() != asked.size()) {
               reason = "answers for other processes than were asked";
               answer.reset();
             }
             for (std::size_t i = 0; i < asked.size(); ++i) {
               Exchange& exchange = *asked[i];
               exchange.silence = answer ? answer->exchanges[i].silence : Silence::kTrouble;
               exchange.answer = answer ? std::move(answer->exchanges[i].answer) : "";
               exchange.reason = answer ? std::move(answer->exchanges[i].reason)
                                        : std::string("its host ").append(reason);
             }
           });
}

void read_on_hosts(
    const Hosts& hosts, const std::vector<HostFile>& files,
    const std::function<void(std::size_t, const std::string&, const std::string&)>& take) {
  // The answers are kept until all hosts that are asked at one time have answered.
  for (std::size_t begin = 0; begin < files.size(); begin += hosts.most_at_once) {
    std::vector<std::pair<std::string, std::string>> inputs;
    for (std::size_t i = begin; i < std::min(files.size(), begin + hosts.most_at_once); ++i) {
      inputs.emplace_back(files[i].host, relay_line({std::string(kRead), "0", files[i].path,
                                                     std::to_string(files[i].owner)}));
    }
    ask_each(
        hosts, inputs, false,
        [&](std::size_t i, std::optional<HostAnswer> answer, std::string reason) {
          const bool is_one = answer && answer->exchanges.size() == 1;
          if (is_one) {
            reason = std::move(answer->exchanges[0].reason);
          } else if (answer) {
            reason = "its host answers for other files than were asked";
          } else {
            reason.insert(0, "its host ");
          }
          take(begin + i, is_one ? answer->exchanges[0].answer : std::string(), reason);
        },
        kMostDumpAnswer_bytes);
  }
}

namespace {

std::vector<std::vector<Evidence>> ask_evidence(
    const Hosts& hosts, const std::vector<std::pair<std::string, std::string>>& inputs) {
  std::vector<std::vector<Evidence>> evidence(inputs.size());
  ask_each(
      hosts, inputs, false,
      [&](std::size_t i, std::optional<HostAnswer> answer, const std::string& reason) {
        if (!answer) {
          evidence[i] = {{"host", "", std::string(inputs[i].first).append(" ").append(reason)}};
          return;
        }
        for (Exchange& one : answer->exchanges) {
          evidence[i].push_back(
              {std::move(one.endpoint.path), std::move(one.answer), std::move(one.reason)});
        }
      });
  return evidence;
}

std::string evidence_line(std::vector<Evidence> evidence) {
  std::vector<Exchange> exchanges;
  for (Evidence& one : evidence) {
    Exchange& exchange = exchanges.emplace_back();
    exchange.endpoint.path = std::move(one.source);
    exchange.silence = one.reason.empty() ? Silence::kNone : Silence::kTrouble;
    exchange.answer = std::move(one.text);
    exchange.reason = std::move(one.reason);
  }
  return answer_line({}, exchanges);
}

}  // namespace

std::vector<std::vector<Evidence>> evidence_on(const Hosts& hosts,
                                               const std::vector<std::string>& names,
                                               std::chrono::milliseconds timeout) {
  return ask_evidence(
      hosts, the_same_for(names, {std::string(kEvidence), std::to_string(timeout.count())}));
}

std::vector<std::vector<Evidence>> stacks_on(
    const Hosts& hosts,
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& pids_of_hosts) {
  Hosts asked = hosts;
  asked.timeout += 4 * kStackSamples * kStackInterval;
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const auto& [host, pids] : pids_of_hosts) {
    Texts request = {std::string(kStacks), "0"};
    for (const std::int64_t pid : pids) {
      request.push_back(std::to_string(pid));
    }
    inputs.emplace_back(host, relay_line(request));
  }
  return ask_evidence(asked, inputs);
}

std::vector<StartingRank> starting_on(const Hosts& hosts) {
  std::vector<StartingRank> ranks;
  ask_each(hosts, the_same_for(hosts.names, {std::string(kStarting), "0"}), false,
           [&](std::size_t i, const std::optional<HostAnswer>& answer, const std::string&) {
             for (const Exchange& one : answer ? answer->exchanges : std::vector<Exchange>()) {
               constexpr double kMs = 1e-3;
               ranks.push_back({one.reason, one.endpoint.pid, std::atof(one.answer.c_str()) * kMs,
                                one.endpoint.stem, one.endpoint.path, hosts.names[i]});
             }
           });
  return ranks;
}

std::string relay(std::string_view input, const std::vector<std::string>& parents) {
  const auto texts = read_relay_line(input);
  const std::int64_t timeout_ms = texts ? number(*texts, 1) : -1;
  if (timeout_ms < 0) {
    return {};
  }
  const std::chrono::milliseconds timeout(timeout_ms);
  std::vector<std::string> notes;
  if (texts->front() == kAsk && texts->size() % 2 == 0) {
    std::vector<Exchange> exchanges(texts->size() / 2 - 1);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      exchanges[i].endpoint.path = (*texts)[2 * i + 2];
      exchanges[i].request = (*texts)[2 * i + 3];
    }
    ask_all(exchanges, timeout);
    return answer_line(notes, exchanges);
  }
  if (texts->front() == kRead && texts->size() == 4) {
    return answer_line(notes, {dump_of((*texts)[2], static_cast<uid_t>(number(*texts, 3)))});
  }
  if (texts->front() == kEvidence && texts->size() == 2) {
    return evidence_line(evidence_here(timeout));
  }
  if (texts->front() == kStarting) {
    std::vector<Exchange> exchanges;
    for (const StartingRank& rank : starting_ranks()) {
      Exchange& one = exchanges.emplace_back();
      one.endpoint.path = rank.directory;
      one.endpoint.stem = rank.job;
      one.endpoint.pid = rank.pid;
      one.reason = rank.rank;
      one.answer = std::to_string(static_cast<std::int64_t>(rank.since_s * 1000));
    }
    return answer_line(notes, exchanges);
  }
  if (texts->front() == kStacks) {
    std::vector<std::int64_t> pids;
    for (std::size_t i = 2; i < texts->size(); ++i) {
      pids.push_back(number(*texts, i));
    }
    return evidence_line(sample_stacks(pids));
  }
  const std::int64_t count = number(*texts, 3);
  if (texts->front() != kFind || count < 0 || static_cast<std::size_t>(count) > texts->size() - 4) {
    return {};
  }
  Search search;
  const auto first = texts->begin() + 4;
  search.parents.assign(first, first + count);
  if (search.parents.empty()) {
    search.parents = parents;
  }
  for (std::size_t i = 4 + static_cast<std::size_t>(count); i < texts->size(); ++i) {
    search.pids.push_back(number(*texts, i));
  }
  const std::vector<Exchange> exchanges = ask_here(search, (*texts)[2], timeout, notes);
  return answer_line(notes, exchanges);
}

}  // namespace ringside::live
