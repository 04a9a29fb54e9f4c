// SPDX-License-Identifier: Apache-2.0
#include "live/choose.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/report/document/numbers.h"
#include "launch/files.h"
#include "launch/text.h"
#include "live/hosts/relay.h"
#include "live/request.h"

namespace ringside::live {
namespace {

std::string places_of(const Choice& choice) {
  std::string text;
  if (choice.hosts) {
    return report::counted(choice.hosts->names.size(), "host");
  }
  for (const std::string& parent : choice.parents()) {
    text += (text.empty() ? "" : " or ") + parent;
  }
  return text;
}

// "/a/b" and "/a/b/" are the same; a relative path was made absolute by the command.
std::string_view without_slash(std::string_view path) {
  return path.substr(0, std::max<std::size_t>(path.find_last_not_of('/') + 1, 1));
}

bool is_meant(const Choice& choice, const ProcessStatus& status) {
  return (choice.directory.empty() ||
          without_slash(choice.directory) == without_slash(status.directory)) &&
         (choice.job.empty() || choice.job == status.job);
}

// Another job may share the hosts of the one that is likely to be meant.
void keep_likely_job(const Choice& choice, Chosen& chosen) {
  const bool has_choice = !choice.directory.empty() || !choice.job.empty() || choice.all ||
                          !choice.pids.empty() || choice.likely_job.empty();
  const auto is_of_it = [&](const Reply& reply) {
    return reply.status && reply.status->job == choice.likely_job;
  };
  if (has_choice || std::none_of(chosen.replies.begin(), chosen.replies.end(), is_of_it)) {
    return;
  }
  const std::size_t others = std::erase_if(chosen.replies, [&](const Reply& reply) {
    return reply.status && reply.status->job != choice.likely_job;
  });
  if (others > 0) {
    chosen.notes.push_back(report::counted(others, "process", "processes") +
                           " of other jobs on these hosts left out; --all takes them, too");
  }
}

// The dead, in one line.
std::string note_of_dead(const std::vector<Reply>& dead) {
  const std::filesystem::path first = dead.front().endpoint.path;
  const std::string place = dead.front().endpoint.place();
  return dead.size() == 1
             ? place + ": " + dead.front().error
             : report::counted(dead.size(), "process", "processes") +
                   " have died and left their rings, the first " + place + "; `ringside recover " +
                   first.parent_path().string() + "` makes whole traces of what they left";
}

// A process that lives and does not reply has failed, if it is of the same job as one that replied:
// a window that opens without it is not the job's. One that has died, or has no socket, may be of
// any run.
void place_silent(std::vector<Reply> silent, const Choice& choice, Chosen& chosen) {
  if (!choice.job.empty()) {
    const std::string prefix = launch::name_prefix(choice.job);
    std::erase_if(silent, [&](const Reply& reply) {
      return !std::string_view(reply.endpoint.stem).starts_with(prefix);
    });
  }
  std::vector<std::string_view> jobs;
  for (const Reply& reply : chosen.replies) {
    jobs.push_back(part_of_stem(reply.endpoint.stem, 1));
  }
  std::vector<Reply> failed;
  std::vector<Reply> dead;
  for (Reply& reply : silent) {
    const bool is_of_any_run =
        reply.silence == Silence::kDead || reply.silence == Silence::kNoSocket;
    if (!is_of_any_run &&
        std::find(jobs.begin(), jobs.end(), part_of_stem(reply.endpoint.stem, 1)) != jobs.end()) {
      failed.push_back(std::move(reply));
    } else if (reply.silence == Silence::kDead) {
      dead.push_back(std::move(reply));
    } else {
      chosen.notes.push_back(reply.endpoint.place() + ": " + reply.error);
    }
  }
  if (!dead.empty()) {
    chosen.notes.push_back(note_of_dead(dead));
    chosen.dead = std::move(dead);
  }
  std::move(failed.begin(), failed.end(), std::back_inserter(chosen.replies));
}

// Without --all or a pid, all replies must be of one job in one directory. Else the notes name each
// job and the options that select one.
bool is_one_job(const Choice& choice, const std::vector<Reply>& replies,
                std::vector<std::string>& notes) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> jobs;
  for (const Reply& reply : replies) {
    if (reply.status) {
      ++jobs[{reply.status->directory, reply.status->job}];
    }
  }
  if (jobs.size() <= 1 || choice.all || choice.may_be_of_several_jobs || !choice.pids.empty()) {
    return true;
  }
  const bool in_one_directory = jobs.begin()->first.first == jobs.rbegin()->first.first;
  notes.push_back(in_one_directory
                      ? "several jobs write into this directory: give --job NAME, --pid P or --all"
                      : "there are several jobs: give --dir D, --job NAME, --pid P or --all");
  for (const auto& [job, processes] : jobs) {
    notes.push_back("  " + report::counted(processes, "process", "processes") + " of job " +
                    job.second + " with --dir " + launch::shell_word(job.first));
  }
  return false;
}

}  // namespace

std::vector<std::string> Choice::parents() const {
  std::vector<std::string> parents;
  if (ring_directory != "none" && !ring_directory.empty()) {
    parents.push_back(ring_directory);
  }
  if (!control_parent.empty() && control_parent != ring_directory) {
    parents.push_back(control_parent);
  }
  return parents;
}

void sort_replies(std::vector<Reply>& replies) {
  const auto key = [](const Reply& reply) {
    constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
    static const ProcessStatus none;
    const ProcessStatus& status = reply.status ? *reply.status : none;
    return std::tuple(!reply.status, std::string_view(status.directory),
                      std::string_view(status.job), status.rank.value_or(kLast),
                      std::string_view(status.host), reply.endpoint.pid,
                      std::string_view(reply.endpoint.host), std::string_view(reply.endpoint.path));
  };
  std::sort(replies.begin(), replies.end(),
            [&](const Reply& a, const Reply& b) { return key(a) < key(b); });
}

Chosen choose(const Choice& choice, std::chrono::milliseconds timeout, std::string_view verb) {
  Chosen chosen;
  const Search search{choice.parents(), choice.pids};
  const std::string request = Request(verb).line();
  const std::vector<Exchange> exchanges =
      choice.hosts ? ask_hosts(*choice.hosts, search, request, timeout, chosen.notes)
                   : ask_here(search, request, timeout, chosen.notes);
  for (const std::int64_t pid : choice.pids) {
    const bool is_there = std::any_of(exchanges.begin(), exchanges.end(),
                                      [&](const Exchange& of) { return of.endpoint.pid == pid; });
    if (!is_there) {
      Reply missing;
      missing.endpoint.pid = pid;
      missing.silence = Silence::kNoSocket;
      missing.error = "process " + std::to_string(pid) +
                      (choice.hosts ? " has no rings on " : " has no rings in ") +
                      places_of(choice) + ": NCCL has not loaded the plugin there, or they are " +
                      "in another directory (--ring-dir)";
      chosen.replies.push_back(std::move(missing));
    }
  }
  std::vector<Reply> silent;
  for (const Exchange& exchange : exchanges) {
    Reply reply = read_reply(exchange);
    const bool is_host = exchange.endpoint.path.empty();
    if (!reply.status && choice.pids.empty() && !is_host) {
      silent.push_back(std::move(reply));
    } else if (!reply.status || is_meant(choice, *reply.status)) {
      chosen.replies.push_back(std::move(reply));
    }
  }
  keep_likely_job(choice, chosen);
  place_silent(std::move(silent), choice, chosen);
  if (chosen.replies.empty()) {
    const bool is_any = choice.directory.empty() && choice.job.empty() && !choice.all;
    chosen.notes.push_back(std::string("no running process ") + (is_any ? "" : "that was chosen ") +
                           (choice.hosts ? "was found on " : "was found in ") + places_of(choice) +
                           ": a process appears with its first communicator");
    return chosen;
  }
  sort_replies(chosen.replies);
  chosen.how = is_one_job(choice, chosen.replies, chosen.notes) ? Chosen::How::kFound
                                                                : Chosen::How::kAmbiguous;
  return chosen;
}

void ask_chosen(const Choice& choice, std::vector<Exchange>& exchanges,
                std::chrono::milliseconds timeout) {
  if (choice.hosts) {
    ask_all_on_hosts(*choice.hosts, exchanges, timeout);
  } else {
    ask_all(exchanges, timeout);
  }
}

}  // namespace ringside::live
