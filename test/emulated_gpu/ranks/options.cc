// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace ranks {

const char* const kUsage =
    R"(usage: nccl_ranks [options] [-- COMMAND...]
  --ranks N                 ranks in the world communicator (4)
  --ranks-per-host N        ranks that share a host, each with its own device (1)
  --ranks-per-process N     ranks that share a process, one thread each (1)
  --scenario NAME[,NAME]    mix, broadcasts, burst, graph, sweep, train, windows (mix)
  --iterations N            rounds of a scenario; measured calls per size of the sweep (5)
  --user-tag N              tag of each AllReduce, which NCCL from 2.31 on gives to profilers
  --channels N              most channels that NCCL may use (2)
 sweep
  --collective NAME         all_reduce, all_gather, reduce_scatter, broadcast, reduce,
                            all_to_all, send_receive (all_reduce)
  --min-bytes N  --max-bytes N  --factor N      sizes (1024 to 4194304, by 4)
  --warmup N                calls before the measured ones (1)
 faults; collectives are counted from 0 on each rank
  --late-rank R [--late-us N] [--late-from K]   sleeps before each collective from K on
  --stuck-rank R [--stuck-at K]                 never joins collective K
  --mismatch-rank R [--mismatch-at K]           calls the first all-reduce from K on with half the count
  --kill-rank R [--kill-at K]                   kills itself before collective K
  --leave-out-rank R [--leave-out-at K]         goes on without collective K (burst only)
  --no-finalize             exit without destroying the communicators
  --exit-in-handler         end in a handler of a signal that comes within a call of the plugin's C
                            API; needs a library that raises it there (test/guarantees/in_lock.cc)
  --threads                 also drive two communicators from two threads
  --fork                    also fork children that exit while the ranks go on
 run
  --plugin PATH             profiler plugin
  --log-calls               write the calls of each rank to calls-RANK.jsonl
  --out DIRECTORY           where the files go (.)
  -- COMMAND...             run a program of your own in the environment that NCCL needs here,
                            instead of ranks; it is linked with the emulation's libnccl.so
  --timeout SECONDS         all processes are killed after that (120)
)";

namespace {

long number(const std::string& text) {
  std::size_t used = 0;
  long value = 0;
  try {
    value = std::stol(text, &used, 0);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || value < 0) {
    throw std::invalid_argument("not a number: " + text);
  }
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

void require(bool condition, const char* explanation) {
  if (!condition) throw std::invalid_argument(explanation);
}

void check_consistency(const Options& options) {
  constexpr int kMostRanks = 64;
  constexpr int kMostDevices = 14;
  require(options.rank_count >= 1 && options.rank_count <= kMostRanks, "--ranks must be 1 to 64");
  require(options.ranks_per_process >= 1 && options.rank_count % options.ranks_per_process == 0,
          "--ranks must be a multiple of --ranks-per-process");
  require(options.ranks_per_host >= options.ranks_per_process &&
              options.ranks_per_host % options.ranks_per_process == 0,
          "--ranks-per-host must be a multiple of --ranks-per-process");
  require(options.ranks_per_host <= kMostDevices, "--ranks-per-host must be at most 14");
  require(options.factor >= 2, "--factor must be at least 2");
  require(options.min_bytes >= 1 && options.min_bytes <= options.max_bytes,
          "--min-bytes must be 1 to --max-bytes");
  require(options.iterations >= 1, "--iterations must be at least 1");
}

}  // namespace

Options parse_options(int argument_count, char** arguments) {
  Options options;
  using Setter = std::function<void(const std::string&)>;
  const auto integer = [](auto& target) -> Setter {
    return [&target](const std::string& text) {
      target = static_cast<std::remove_reference_t<decltype(target)>>(number(text));
    };
  };
  const auto string = [](std::string& target) -> Setter {
    return [&target](const std::string& text) { target = text; };
  };
  const std::map<std::string, Setter> with_value{
      {"--ranks", integer(options.rank_count)},
      {"--ranks-per-host", integer(options.ranks_per_host)},
      {"--ranks-per-process", integer(options.ranks_per_process)},
      {"--scenario", [&](const std::string& text) { options.scenarios = split(text); }},
      {"--collective", string(options.collective)},
      {"--min-bytes", integer(options.min_bytes)},
      {"--max-bytes", integer(options.max_bytes)},
      {"--factor", integer(options.factor)},
      {"--iterations", integer(options.iterations)},
      {"--warmup", integer(options.warmup)},
      {"--channels", integer(options.channels)},
      {"--user-tag", integer(options.user_tag)},
      {"--late-rank", integer(options.late.rank)},
      {"--late-us", integer(options.late_microseconds)},
      {"--late-from", integer(options.late.at)},
      {"--stuck-rank", integer(options.stuck.rank)},
      {"--stuck-at", integer(options.stuck.at)},
      {"--mismatch-rank", integer(options.mismatch.rank)},
      {"--mismatch-at", integer(options.mismatch.at)},
      {"--kill-rank", integer(options.kill.rank)},
      {"--kill-at", integer(options.kill.at)},
      {"--leave-out-rank", integer(options.leave_out.rank)},
      {"--leave-out-at", integer(options.leave_out.at)},
      {"--timeout", integer(options.timeout_seconds)},
      {"--plugin", string(options.plugin)},
      {"--out", string(options.directory)},
  };
  const std::map<std::string, std::function<void()>> without_value{
      {"--no-finalize", [&] { options.finalize = false; }},
      {"--exit-in-handler", [&] { options.exit_in_handler = true; }},
      {"--threads", [&] { options.threads = true; }},
      {"--fork", [&] { options.fork = true; }},
      {"--log-calls", [&] { options.log_calls = true; }},
  };

  for (int i = 1; i < argument_count; ++i) {
    const std::string name = arguments[i];
    if (name == "--") {
      options.command.assign(arguments + i + 1, arguments + argument_count);
      require(!options.command.empty(), "-- needs a command");
      break;
    }
    if (const auto flag = without_value.find(name); flag != without_value.end()) {
      flag->second();
      continue;
    }
    const auto setter = with_value.find(name);
    if (setter == with_value.end()) throw std::invalid_argument("unknown option " + name);
    if (++i == argument_count) throw std::invalid_argument(name + " needs a value");
    setter->second(arguments[i]);
  }
  // One process must not be spread over hosts, so sharing a process implies sharing a host.
  options.ranks_per_host = std::max(options.ranks_per_host, options.ranks_per_process);
  check_consistency(options);
  return options;
}

}  // namespace ranks
