// SPDX-License-Identifier: Apache-2.0
#include "test/generate/parse_options.h"

#include <cmath>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "test/generate/parse.h"

namespace ringside::simulate {
namespace {

constexpr const char* kAbout =
    "Simulates a job and writes one Ringside trace per process, and truth.txt (JSON) with the "
    "clocks\n"
    "and the faults, into an empty directory. The same options give the same bytes.\n\n"
    "  ringside_generate /tmp/t --hosts 4 --seed 7 --straggler 3:400      rank 3 computes longer\n"
    "  ringside_generate /tmp/t --split 4 --hang 5:6                      dumps of a hang\n"
    "  ringside_generate /tmp/t --steps --slow-link 3:4:1:8               channel 1 from 3 to 4\n"
    "  ringside_generate /tmp/t --operations-only --hosts 128 --ranks-per-host 8 \\\n"
    "      --pattern AllReduce:1048576 --iterations 10000                 1,024 ranks, for load\n";

struct Words {  // what is given as text and read once all is known
  std::vector<std::string> pattern;
  std::vector<std::string> straggler;
  std::vector<std::string> late_every;
  std::vector<std::string> late_random;
  std::vector<std::string> slow_link;
  std::vector<std::string> mismatch;
  std::vector<std::string> missing;
  std::vector<std::string> hang;
  std::vector<std::string> drop;
  std::vector<std::string> start_late;
  std::vector<std::string> clock_step;
  std::int64_t compute_us = 500;
  std::int64_t stamp_noise_us = 2;
  double offset_ms = 500;
  double max_error_us = 0;
  std::int64_t drift_ppm = 20;
  std::int64_t wander_us = 0;
  std::int64_t wander_period_s = 60;
  std::string times = "gpu";
  std::string end;
  bool operations_only = false;
  bool full = false;
};

void add_job(CLI::App& app, Options& o, Words& w) {
  app.add_option("directory", o.directory, "where to write; made if it is not there")->required();
  app.add_option("--seed", o.seed, "of all that is random");
  app.add_option("--hosts", o.hosts)->check(CLI::Range(1, 4096));
  app.add_option("--ranks-per-host", o.ranks_per_host)->check(CLI::Range(1, 64));
  app.add_option("--split", o.split,
                 "communicators of K consecutive ranks too, and those across them; K divides the "
                 "number of ranks")
      ->check(CLI::Range(2, 1024));
  app.add_option("--iterations", o.iterations)->check(CLI::Range(1, 1'000'000));
  app.add_option(
         "--pattern", w.pattern,
         "operations of an iteration: FUNCTION:BYTES[:world|split|orthogonal],...; functions "
         "AllReduce AllGather ReduceScatter Broadcast Reduce AlltoAll AlltoAllv Gather "
         "Scatter RingShift Neighbour")
      ->delimiter(',');
  app.add_option("--compute-us", w.compute_us, "computing time of an iteration")
      ->check(CLI::Range(0, 1'000'000'000));
  app.add_option("--jitter", o.jitter, "of the computing time, as a share of it")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--tails", o.tail_index,
                 "heavy tails of the computing time: a Pareto law of this index on top of it")
      ->check(CLI::Range(0.5, 10.0));
  app.add_option("--persistence", o.persistence,
                 "correlation of how slow a rank is from one iteration to the next")
      ->check(CLI::Range(0.0, 0.99));
  app.add_option("--bandwidth", o.bandwidth_gb_s, "GB/s of every link")
      ->check(CLI::Range(0.001, 10'000.0));
  app.add_option("--channels", o.channels)->check(CLI::Range(1, 64));
}

void add_clocks(CLI::App& app, Words& w) {
  app.add_option("--offset-ms", w.offset_ms, "hosts' clocks are off by up to this, either way")
      ->check(CLI::Range(0.0, 100'000.0));
  app.add_option("--max-error-us", w.max_error_us,
                 "what the kernel says of that; 0: it says nothing")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--drift-ppm", w.drift_ppm, "and drift by up to this")->check(CLI::Range(0, 50));
  app.add_option("--wander-us", w.wander_us, "amplitude of a slow sine on top")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--wander-period-s", w.wander_period_s)->check(CLI::Range(1, 1'000'000));
  app.add_option(
      "--clock-step", w.clock_step,
      "HOST:ITERATION:US[:hidden] with whose begin the host's clock steps; negative: the "
      "host and its clock stand still");
  app.add_option("--stamp-noise-us", w.stamp_noise_us, "stamps are late by up to this")
      ->check(CLI::Range(0, 5));
  app.add_option("--times", w.times, "where execution times come from; proxy implies --steps")
      ->check(CLI::IsMember({"gpu", "proxy"}));
}

void add_faults(CLI::App& app, Options& o, Words& w) {
  app.add_option("--straggler", w.straggler, "RANK:DELAY_US[:FROM_ITERATION[:UNTIL[:GROWTH_US]]]");
  app.add_option("--late-every", w.late_every,
                 "RANK:DELAY_US:EVERY[:LENGTH[:FROM_ITERATION]]: late in so many of each so many "
                 "iterations");
  app.add_option("--late-random", w.late_random,
                 "RANK:FACTOR:PERCENT of iterations in which it computes so much longer");
  app.add_option("--slow-link", w.slow_link, "FROM_RANK:TO_RANK:CHANNEL:FACTOR");
  app.add_option("--mismatch", w.mismatch,
                 "size|datatype|root|function:RANK:OPERATION; operations count from 0 through all "
                 "iterations");
  app.add_option("--missing", w.missing,
                 "RANK:OPERATION that it never calls; who needs it waits for ever");
  app.add_option("--hang", w.hang, "RANK:ITERATION from which on it calls nothing");
  app.add_option("--drop", w.drop, "RANK:PERCENT of operations lost and counted");
  app.add_option("--truncate", o.truncate, "RANK whose file is cut in the middle of a line");
  app.add_option("--lose", o.lose, "RANK that has no file");
  app.add_option("--sample", o.sample, "record 1 of N operations")->check(CLI::Range(1, 1'000'000));
  app.add_option("--start-late", w.start_late, "RANK:ITERATION with which its window opens");
  app.add_flag("--seq-from-window", o.seq_from_window,
               "sequence numbers begin with the window, as in NCCL up to 2.25");
  app.add_flag("--no-hash", o.no_hash, "neither comm nor nranks, as interfaces v1 to v3 have it");
  app.add_option("--end", w.end, "closed, dump or killed; dump if there is --hang or --missing")
      ->check(CLI::IsMember({"closed", "dump", "killed"}));
}

void add_detail(CLI::App& app, Options& o, Words& w) {
  app.add_flag("--steps", o.steps, "rows of the network: proxy and step");
  app.add_flag(
      "--operations-only", w.operations_only,
      "of each operation one line; such files have slices without an end, which lint minds");
  app.add_flag("--full", w.full, "all there is of each operation: calls, GPU channels, steps");
}

void take_words(const Words& w, Options& o) {
  const auto take = [](const std::vector<std::string>& texts, auto parse, auto& values) {
    for (const auto& text : texts) {
      values.push_back(parse(text));
    }
  };
  take(w.pattern, parse_step, o.pattern);
  if (o.pattern.empty()) {
    o.pattern = default_pattern(o.split != 0);
  }
  const auto at = [](FaultKind kind) {
    return [kind](const std::string& text) { return parse_at(kind, text); };
  };
  take(w.straggler, parse_straggler, o.faults);
  take(w.late_every, parse_late_every, o.late_modes);
  take(w.late_random, parse_late_random, o.late_modes);
  take(w.clock_step, parse_clock_step, o.clock_steps);
  take(w.slow_link, parse_slow_link, o.faults);
  take(w.mismatch, parse_mismatch, o.faults);
  take(w.missing, at(FaultKind::kMissing), o.faults);
  take(w.hang, at(FaultKind::kHang), o.faults);
  take(w.drop, parse_drop, o.faults);
  take(w.start_late, at(FaultKind::kStartLate), o.faults);
  o.compute_ns = w.compute_us * 1000;
  o.stamp_noise_ns = w.stamp_noise_us * 1000;
  o.max_offset_ns = std::llround(w.offset_ms * 1e6);
  o.max_error_ns = std::llround(w.max_error_us * 1e3);
  o.max_drift_ppb = w.drift_ppm * 1000;
  o.wander_ns = w.wander_us * 1000;
  o.wander_period_ns = w.wander_period_s * 1'000'000'000;
  o.proxy_times = w.times == "proxy";
  o.steps = o.steps || o.proxy_times || w.full;
  o.detail = w.operations_only ? Detail::kOperationsOnly : w.full ? Detail::kFull : Detail::kNormal;
  const bool has_stuck = !w.hang.empty() || !w.missing.empty();
  o.end = w.end == "dump" || (w.end.empty() && has_stuck) ? End::kDump
          : w.end == "killed"                             ? End::kKilled
                                                          : End::kClosed;
}

void check(const Options& o) {
  if (o.split != 0 && o.ranks() % o.split != 0) {
    throw std::invalid_argument("--split does not divide the number of ranks");
  }
  for (const Step& step : o.pattern) {
    if (step.group != Group::kWorld && o.split == 0) {
      throw std::invalid_argument("the pattern has a split, but there is no --split");
    }
  }
  const auto check_rank = [&](int rank) {
    if (rank < 0 || rank >= o.ranks()) {
      throw std::invalid_argument("there is no rank " + std::to_string(rank));
    }
  };
  for (const Fault& fault : o.faults) {
    check_rank(fault.rank);
    check_rank(fault.to_rank);
    if (fault.kind == FaultKind::kSlowLink && fault.channel >= o.channels) {
      throw std::invalid_argument("there is no channel " + std::to_string(fault.channel));
    }
  }
  for (const LateMode& mode : o.late_modes) {
    check_rank(mode.rank);
  }
  for (const StepPlan& step : o.clock_steps) {
    if (step.host >= o.hosts) {
      throw std::invalid_argument("there is no host " + std::to_string(step.host));
    }
  }
  for (const int rank : o.truncate) {
    check_rank(rank);
  }
  for (const int rank : o.lose) {
    check_rank(rank);
  }
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app(kAbout);
  Words words;
  add_job(app, options, words);
  add_clocks(app, words);
  add_faults(app, options, words);
  add_detail(app, options, words);
  try {
    app.parse(argc, argv);
    take_words(words, options);
    check(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::invalid_argument& error) {
    return app.exit(CLI::ValidationError(error.what()));
  }
  return std::nullopt;
}

}  // namespace ringside::simulate
