// SPDX-License-Identifier: Apache-2.0
//
// The comparison itself: no change of the model goes unseen.
#include "test/load/difference.h"

#include <functional>

#include "test/unit/catch.h"

namespace ringside::plain {
namespace {

model::Traces sample() {
  model::Traces traces;
  model::TraceFile& file = traces.files.emplace_back();
  file.contexts[1];
  file.windows[1];
  file.operations.push_back({});
  file.proxies.emplace_back();
  file.steps.emplace_back();
  file.clocks.emplace_back();
  return traces;
}

using Change = std::function<void(model::TraceFile& file, model::NameTable& names)>;

// Numbers go from their value to 1 more, what was absent
// gets a value, what was false is true.
template <typename Variable>
void change_member(Variable& variable) {
  if constexpr (std::is_same_v<Variable, bool>) {
    variable = !variable;
  } else if constexpr (std::is_same_v<Variable, std::string>) {
    variable += 'x';
  } else if constexpr (std::is_enum_v<Variable>) {
    variable = static_cast<Variable>(static_cast<int>(variable) == 0 ? 1 : 0);
  } else if constexpr (std::is_integral_v<Variable>) {
    ++variable;
  } else if constexpr (requires { variable = std::string(); }) {
    variable = std::string(1, 'x');  // of "x" gcc 12 thinks that it may overlap
  } else {
    variable = 1;
  }
}

// Makes a change for each of some members.
template <typename Thing, typename... Members>
void add_changes(std::vector<Change>& changes,
                 const std::function<Thing&(model::TraceFile&)>& thing, Members... members) {
  const auto change_of = [&thing](auto member) -> Change {
    return [thing, member](model::TraceFile& file, model::NameTable&) {
      change_member(thing(file).*member);
    };
  };
  (changes.push_back(change_of(members)), ...);
}

// Operations are kept packed, so they are replaced.
template <typename... Members>
void add_changes_of_operation(std::vector<Change>& changes, Members... members) {
  const auto change_of = [](auto member) -> Change {
    return [member](model::TraceFile& file, model::NameTable&) {
      model::Operation operation = file.operations[0];
      change_member(operation.*member);
      file.operations.set(0, operation);
    };
  };
  (changes.push_back(change_of(members)), ...);
}

std::vector<Change> all_changes() {
  std::vector<Change> changes;
  using model::Operation;
  add_changes_of_operation(
      changes, &Operation::id, &Operation::context, &Operation::kind, &Operation::times_from,
      &Operation::state, &Operation::in_flight, &Operation::seq, &Operation::count,
      &Operation::bytes, &Operation::root, &Operation::peer, &Operation::group, &Operation::window,
      &Operation::channels, &Operation::graph, &Operation::gpu_polled, &Operation::start_is_latest,
      &Operation::gpu_rejected, &Operation::tid, &Operation::sample_of, &Operation::sampled_out,
      &Operation::enqueue_start_ns, &Operation::enqueue_end_ns, &Operation::start_ns,
      &Operation::end_ns);
  for (const auto name : {&Operation::func, &Operation::datatype, &Operation::algo,
                          &Operation::proto, &Operation::stream}) {
    changes.emplace_back([name](model::TraceFile& file, model::NameTable& names) {
      Operation operation = file.operations[0];
      operation.*name = names.id("x");
      file.operations.set(0, operation);
    });
  }
  using model::ProxyOperation;
  add_changes<ProxyOperation>(
      changes, [](model::TraceFile& file) -> ProxyOperation& { return file.proxies[0]; },
      &ProxyOperation::operation, &ProxyOperation::context, &ProxyOperation::peer,
      &ProxyOperation::channel, &ProxyOperation::is_send, &ProxyOperation::in_flight,
      &ProxyOperation::start_ns, &ProxyOperation::end_ns, &ProxyOperation::bytes,
      &ProxyOperation::steps, &ProxyOperation::foreign_pid);
  using model::Step;
  add_changes<Step>(
      changes, [](model::TraceFile& file) -> Step& { return file.steps[0]; }, &Step::operation,
      &Step::context, &Step::peer, &Step::channel, &Step::is_send, &Step::in_flight,
      &Step::start_ns, &Step::end_ns, &Step::bytes, &Step::gpu_wait_ns, &Step::peer_wait_ns,
      &Step::transfer_ns, &Step::flush_ns);
  using model::Process;
  add_changes<Process>(
      changes, [](model::TraceFile& file) -> Process& { return file.process; }, &Process::run_id,
      &Process::dump, &Process::segment, &Process::segment_start_ns, &Process::job, &Process::host,
      &Process::boot_id, &Process::pid, &Process::launcher_rank, &Process::base_time_s,
      &Process::start_ns, &Process::nccl_version, &Process::abi, &Process::starts_at_load,
      &Process::has_events);
  using model::Sampling;
  add_changes<Sampling>(
      changes, [](model::TraceFile& file) -> Sampling& { return file.process.sampling; },
      &Sampling::coll_of, &Sampling::p2p_of, &Sampling::window_ns, &Sampling::period_ns,
      &Sampling::min_bytes);
  using model::Context;
  add_changes<Context>(
      changes, [](model::TraceFile& file) -> Context& { return file.contexts[1]; }, &Context::comm,
      &Context::name, &Context::rank, &Context::nranks, &Context::created_ns,
      &Context::finalized_ns, &Context::operations);
  using model::ClockReading;
  add_changes<ClockReading>(
      changes, [](model::TraceFile& file) -> ClockReading& { return file.clocks[0]; },
      &ClockReading::ts_ns, &ClockReading::realtime_ns, &ClockReading::monotonic_ns,
      &ClockReading::uncertainty_ns);
  using model::Window;
  add_changes<Window>(
      changes, [](model::TraceFile& file) -> Window& { return file.windows[1]; }, &Window::start_ns,
      &Window::end_ns);
  using model::Mark;
  add_changes<Mark>(
      changes, [](model::TraceFile& file) -> Mark& { return file.marks[1]; }, &Mark::tid,
      &Mark::is_range, &Mark::start_ns, &Mark::end_ns);
  using model::Account;
  add_changes<Account>(
      changes, [](model::TraceFile& file) -> Account& { return file.account; }, &Account::produced,
      &Account::sampled_out, &Account::in_rings, &Account::rotated, &Account::given_up);
  using model::TraceFile;
  add_changes<TraceFile>(
      changes, [](TraceFile& file) -> TraceFile& { return file; }, &TraceFile::path,
      &TraceFile::last_ns, &TraceFile::operations_written, &TraceFile::segments,
      &TraceFile::segments_missing, &TraceFile::next_segment, &TraceFile::closed,
      &TraceFile::recovered, &TraceFile::silent_ns, &TraceFile::marks_lost, &TraceFile::ranges_lost,
      &TraceFile::torn, &TraceFile::size_bytes, &TraceFile::lines, &TraceFile::bad_lines);
  const auto change = [&](auto what) {
    changes.emplace_back([what](TraceFile& file, model::NameTable&) { what(file); });
  };
  change([](TraceFile& file) { file.account.dropped["Coll dropped_kill"] = 1; });
  change([](TraceFile& file) { file.contexts[2]; });
  change([](TraceFile& file) { file.windows[2]; });
  change([](TraceFile& file) { file.marks[2]; });
  change([](TraceFile& file) { file.operations.push_back({}); });
  change([](TraceFile& file) { file.proxies.emplace_back(); });
  change([](TraceFile& file) { file.steps.clear(); });
  change([](TraceFile& file) { file.clocks.clear(); });
  return changes;
}

TEST_CASE("every change of the model is a difference") {
  const std::vector<Change> changes = all_changes();
  CHECK(difference_of(sample(), sample()).empty());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    model::Traces changed = sample();
    changes[i](changed.files[0], changed.names);
    INFO("change " << i);
    CHECK_FALSE(difference_of(sample(), changed).empty());
    CHECK_FALSE(difference_of(changed, sample()).empty());
  }
  model::Traces more = sample();
  more.files.emplace_back();
  CHECK_FALSE(difference_of(sample(), more).empty());
}

TEST_CASE("the same names with other ids are no difference") {
  model::Traces one = sample();
  model::Traces other = sample();
  other.names.id("first");
  for (model::Traces* const traces : {&one, &other}) {
    model::Operation operation = traces->files[0].operations[0];
    operation.func = traces->names.id("AllReduce");
    traces->files[0].operations.set(0, operation);
  }
  CHECK(difference_of(one, other).empty());
}

TEST_CASE("bad lines and files differ by place, not by reason") {
  model::Problems one;
  one.add_line("a", 3, "reason");
  one.add_file("b", "reason");
  model::Problems same;
  same.add_line("a", 3, "another");
  same.add_file("b", "another");
  CHECK(difference_of(one, same).empty());
  model::Problems other_line = same;
  other_line.add_line("a", 4, "reason");
  CHECK_FALSE(difference_of(one, other_line).empty());
  model::Problems other_file = same;
  other_file.add_file("c", "reason");
  CHECK_FALSE(difference_of(one, other_file).empty());
}

}  // namespace
}  // namespace ringside::plain
