// SPDX-License-Identifier: Apache-2.0
#include "examples/gpu/options.h"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace example {

const char* const kUsage =
    R"(usage: collectives_bench [options]
  --ranks N             number of ranks (4); without --rank, this program starts them all, as
                        processes of this machine, on its GPUs in turn
  --rank R --id-file F  be rank R only; all ranks are started with the same F, a file that does not
                        exist yet and that all of them can see
  --collectives A,B     of AllReduce, AllGather, ReduceScatter, Broadcast, AlltoAll (all)
  --min-bytes N  --max-bytes N  --factor N
                        sizes as nccl-tests counts them (65536 to 16777216, by 4)
  --iterations N        measured calls per size (20)
  --warmup N            calls before them (3)
  --record-all          leave Ringside recording all the time, not only around the measured calls
  --dump PREFIX         at the end also write a dump to PREFIX.R.json
  --times PREFIX        write when the GPU was in each measured call, by CUDA events, to PREFIX.R.jsonl
  --late-rank R  --late-us N
                        rank R sleeps so long before each measured call (20000)
  --stuck-rank R  --stuck-at K
                        rank R never makes the measured call K, counted from 0 over the whole run
)";

namespace {

template <class Number>
void assign(const std::string& name, const std::string& text, Number least, Number& target) {
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, target);
  if (error != std::errc{} || last != end || target < least) {
    throw std::invalid_argument(name + " needs a number, at least " + std::to_string(least) +
                                ", not '" + text + "'");
  }
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

void set(Options& options, const std::string& name, const std::string& value) {
  if (name == "--ranks") {
    assign(name, value, 1, options.ranks);
  } else if (name == "--rank") {
    assign(name, value, 0, options.rank);
  } else if (name == "--id-file") {
    options.id_file = value;
  } else if (name == "--collectives") {
    options.collectives = split(value);
  } else if (name == "--min-bytes") {
    assign<std::size_t>(name, value, 4, options.min_bytes);
  } else if (name == "--max-bytes") {
    assign<std::size_t>(name, value, 4, options.max_bytes);
  } else if (name == "--factor") {
    assign<std::size_t>(name, value, 2, options.factor);
  } else if (name == "--iterations") {
    assign(name, value, 1, options.iterations);
  } else if (name == "--warmup") {
    assign(name, value, 0, options.warmup);
  } else if (name == "--dump") {
    options.dump = value;
  } else if (name == "--times") {
    options.times = value;
  } else if (name == "--late-rank") {
    assign(name, value, 0, options.late_rank);
  } else if (name == "--late-us") {
    assign<long>(name, value, 0, options.late_us);
  } else if (name == "--stuck-rank") {
    assign(name, value, 0, options.stuck_rank);
  } else if (name == "--stuck-at") {
    assign(name, value, 0, options.stuck_at);
  } else {
    throw std::invalid_argument("unknown option " + name);
  }
}

}  // namespace

Options parse_options(int argument_count, char** arguments) {
  Options options;
  for (int i = 1; i < argument_count; ++i) {
    const std::string name = arguments[i];
    if (name == "--record-all") {
      options.record_all = true;
      continue;
    }
    if (i + 1 == argument_count) throw std::invalid_argument(name + ": unknown, or needs a value");
    set(options, name, arguments[++i]);
  }
  if (options.rank >= options.ranks) {
    throw std::invalid_argument("--rank must be less than --ranks");
  }
  if ((options.rank >= 0) == options.id_file.empty()) {
    throw std::invalid_argument("--rank and --id-file go together");
  }
  return options;
}

}  // namespace example
