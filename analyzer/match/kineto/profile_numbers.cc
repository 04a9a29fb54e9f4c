// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/profile_numbers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/match/communicators/communicators.h"
#include "analyzer/match/communicators/runs.h"

namespace ringside::match {
namespace {

// The collectives of a rank in a communicator, in the order of calls.
struct RankCalls {
  std::uint32_t file = 0;
  std::vector<std::size_t> operations;
  bool has_numbers = true;  // PyTorch's, each once
};

class Numbering {
 public:
  explicit Numbering(model::Traces& traces) : traces_(traces) {}

  void number() {
    const std::vector<std::uint32_t> run_of_file = find_runs(traces_).of_file;
    std::map<std::pair<std::uint32_t, std::string>, std::vector<RankCalls>> communicators;
    for (std::uint32_t file = 0; file < traces_.files.size(); ++file) {
      std::map<std::uint32_t, RankCalls> calls;
      for (std::size_t i = 0; i < traces_.files[file].operations.size(); ++i) {
        const model::Operation operation = traces_.files[file].operations[i];
        if (operation.kind == model::Kind::kCollective && operation.enqueue_start_ns) {
          calls[operation.context].operations.push_back(i);
        }
      }
      for (auto& [context, of_rank] : calls) {
        of_rank.file = file;
        std::set<std::uint64_t> seen;
        for (const std::size_t i : of_rank.operations) {
          const auto seq = traces_.files[file].operations[i].torch_seq;
          of_rank.has_numbers = of_rank.has_numbers && seq && seen.insert(*seq).second;
        }
        communicators[{run_of_file[file], *traces_.files[file].contexts[context].comm}].push_back(
            std::move(of_rank));
      }
    }
    for (const auto& [comm, ranks] : communicators) {
      number(ranks);
    }
    if (begin_together_) {
      call_windows_whole();
    }
  }

 private:
  void number(const std::vector<RankCalls>& ranks) {
    const bool has_numbers = std::ranges::all_of(ranks, &RankCalls::has_numbers);
    const auto before = has_numbers ? std::vector<std::size_t>(ranks.size()) : common_begin(ranks);
    if (!has_numbers && (before.empty() || !agree(ranks, before))) {
      begin_together_ = false;
      return;
    }
    const std::size_t most = *std::max_element(before.begin(), before.end());
    begin_together_ = begin_together_ && before == std::vector(ranks.size(), before.front()) &&
                      std::all_of(ranks.begin(), ranks.end(), [&](const auto& one) {
                        return has_numbers
                                   ? seq_of(one, 0) == seq_of(ranks.front(), 0)
                                   : one.operations.size() == ranks.front().operations.size();
                      });
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      model::TraceFile& file = traces_.files[ranks[r].file];
      for (std::size_t i = 0; i < ranks[r].operations.size(); ++i) {
        model::Operation operation = file.operations[ranks[r].operations[i]];
        operation.seq = has_numbers ? *operation.torch_seq : i + 1 + most - before[r];
        file.operations.set(ranks[r].operations[i], operation);
      }
      file.process.has_common_numbers = true;
    }
    forget_uneven_sizes(ranks);
  }

  std::optional<std::uint64_t> seq_of(const RankCalls& rank, std::size_t call) const {
    return traces_.files[rank.file].operations[rank.operations[call]].torch_seq;
  }

  // Window 1 is one that no call precedes: sends and receives are then matched by their order.
  void call_windows_whole() {
    for (model::TraceFile& file : traces_.files) {
      file.windows = {{1, file.windows[2]}};
      for (std::size_t i = 0; i < file.operations.size(); ++i) {
        model::Operation operation = file.operations[i];
        operation.window = 1;
        file.operations.set(i, operation);
      }
    }
  }

  // In an exchange each rank may give other sizes. Then no size is that of the message.
  void forget_uneven_sizes(const std::vector<RankCalls>& ranks) {
    std::map<std::uint64_t, std::uint64_t> bytes;  // by number
    bool are_even = true;
    const auto for_each = [&](const auto& visit) {
      for (const RankCalls& rank : ranks) {
        model::Operations& operations = traces_.files[rank.file].operations;
        for (const std::size_t i : rank.operations) {
          if (model::Operation one = operations[i];
              traces_.names.text(one.func) == "AlltoAll" && one.bytes && visit(one)) {
            operations.set(i, one);
          }
        }
      }
    };
    for_each([&](const model::Operation& one) {
      are_even = are_even && bytes.try_emplace(*one.seq, *one.bytes).first->second == *one.bytes;
      return false;
    });
    for_each([&](model::Operation& one) {
      one.bytes = are_even ? one.bytes : std::nullopt;
      return !are_even;
    });
  }

  // How many calls of each rank are before the first one that all of them have; empty if nothing
  // shows it.
  std::vector<std::size_t> common_begin(const std::vector<RankCalls>& ranks) const {
    std::map<std::string_view, std::size_t> ranks_of_step;
    for (const RankCalls& rank : ranks) {
      for (const auto& [number, mark] : traces_.files[rank.file].marks) {
        ++ranks_of_step[traces_.names.text(mark.name)];
      }
    }
    for (const auto& [number, mark] : traces_.files[ranks.front().file].marks) {
      const std::string_view step = traces_.names.text(mark.name);
      if (ranks_of_step[step] == ranks.size()) {
        return calls_before_step(ranks, step);
      }
    }
    const std::size_t calls = ranks.front().operations.size();
    const auto is_as_long = [&](const auto& one) { return one.operations.size() == calls; };
    return !ranks_of_step.empty()    ? std::vector<std::size_t>()
           : are_of_one_clock(ranks) ? calls_before_last_begin(ranks)
           : std::all_of(ranks.begin(), ranks.end(), is_as_long)
               ? std::vector<std::size_t>(ranks.size())
               : std::vector<std::size_t>();
  }

  template <typename IsBefore>
  std::vector<std::size_t> count_calls(const std::vector<RankCalls>& ranks,
                                       const IsBefore& is_before) const {
    std::vector<std::size_t> before;
    for (const RankCalls& rank : ranks) {
      const model::TraceFile& file = traces_.files[rank.file];
      before.push_back(static_cast<std::size_t>(
          std::count_if(rank.operations.begin(), rank.operations.end(),
                        [&](std::size_t i) { return is_before(file, file.operations[i]); })));
    }
    return before;
  }

  std::vector<std::size_t> calls_before_step(const std::vector<RankCalls>& ranks,
                                             std::string_view step) const {
    return count_calls(ranks, [&](const model::TraceFile& file, const model::Operation& one) {
      return std::any_of(file.marks.begin(), file.marks.end(), [&](const auto& mark) {
        return traces_.names.text(mark.second.name) == step &&
               one.enqueue_start_ns < mark.second.start_ns;
      });
    });
  }

  // The common begin is the first call of the rank that began last.
  std::vector<std::size_t> calls_before_last_begin(const std::vector<RankCalls>& ranks) const {
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min();
    for (const RankCalls& rank : ranks) {
      const model::TraceFile& file = traces_.files[rank.file];
      const model::Operation first = file.operations[rank.operations.front()];
      begin_ns = std::max(
          begin_ns, since_epoch(file.process, first.start_ns.value_or(*first.enqueue_start_ns)));
    }
    return count_calls(ranks, [&](const model::TraceFile& file, const model::Operation& one) {
      return one.end_ns && since_epoch(file.process, *one.end_ns) < begin_ns;
    });
  }

  bool are_of_one_clock(const std::vector<RankCalls>& ranks) const {
    return std::all_of(ranks.begin(), ranks.end(), [&](const RankCalls& rank) {
      const model::Process& one = traces_.files[rank.file].process;
      const model::Process& first = traces_.files[ranks.front().file].process;
      return one.host == first.host && one.boot_id == first.boot_id;
    });
  }

  // Whether calls with equal numbers are of one function and size, on all ranks that have them, and
  // have a moment in common where one clock shows it.
  bool agree(const std::vector<RankCalls>& ranks, const std::vector<std::size_t>& before) const {
    const bool is_one_clock = are_of_one_clock(ranks);
    const auto has_ended = [&](const RankCalls& rank, const model::Operation& one,
                               const RankCalls& before_rank, const model::Operation& other) {
      return one.end_ns && other.start_ns &&
             since_epoch(traces_.files[rank.file].process, *one.end_ns) <
                 since_epoch(traces_.files[before_rank.file].process, *other.start_ns);
    };
    const RankCalls& first = ranks.front();
    for (std::size_t r = 1; r < ranks.size(); ++r) {
      const RankCalls& rank = ranks[r];
      for (std::size_t i = before[r]; i < rank.operations.size(); ++i) {
        const std::size_t of_first = i - before[r] + before.front();
        if (of_first >= first.operations.size()) {
          break;
        }
        const model::Operation here = traces_.files[rank.file].operations[rank.operations[i]];
        const model::Operation there =
            traces_.files[first.file].operations[first.operations[of_first]];
        if (here.func != there.func || here.count != there.count ||
            (is_one_clock &&
             model::flow_of_function(traces_.names.text(here.func)) == model::Flow::kAll &&
             (has_ended(rank, here, first, there) || has_ended(first, there, rank, here)))) {
          return false;
        }
      }
    }
    return true;
  }

  model::Traces& traces_;
  bool begin_together_ = true;  // the profiles of all ranks have the same first calls
};

}  // namespace

void number_profiled_calls(model::Traces& traces) {
  Numbering(traces).number();
}

}  // namespace ringside::match
