// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/operations.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ringside::model {
namespace {

template <typename Integer>
Integer pack(const std::optional<Integer>& value) {
  return value.value_or(kAbsentNumber<Integer>);
}

template <typename Integer>
OptionalNumber<Integer> unpack(Integer value) {
  return OptionalNumber<Integer>(value);
}

// Unsigned numbers in their order, but for the greatest: it becomes the least, which is "absent".
constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;

std::int64_t to_signed(std::uint64_t number) {
  return static_cast<std::int64_t>((number + 1) ^ kTopBit);
}

std::uint64_t to_unsigned(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) ^ kTopBit) - 1;
}

}  // namespace

Operations::Shape Operations::shape_of(const Operation& operation) {
  return {.bytes = pack(operation.bytes),
          .context = operation.context,
          .root = pack(operation.root),
          .peer = pack(operation.peer),
          .gpu_rejected = operation.gpu_rejected,
          .kind = operation.kind,
          .times_from = operation.times_from,
          .state = operation.state,
          .in_flight = operation.in_flight,
          .graph = operation.graph,
          .gpu_polled = operation.gpu_polled,
          .start_is_latest = operation.start_is_latest,
          .sampled_out = operation.sampled_out,
          .count = pack(operation.count),
          .surplus = pack(operation.surplus),
          .window = operation.window,
          .sample_of = operation.sample_of,
          .channels = operation.channels,
          .func = operation.func,
          .datatype = operation.datatype,
          .algo = operation.algo,
          .proto = operation.proto,
          .stream = operation.stream,
          .user_tag = operation.user_tag,
          .called_by = operation.called_by,
          .process_group = operation.process_group,
          .tid = operation.tid};
}

// A multiplication spreads each word over all bits above it; the fold brings them down again.
std::uint64_t Operations::hash(const Shape& shape) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  };
  const auto both = [](std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
  };
  mix(shape.count);
  mix(shape.bytes);
  mix(static_cast<std::uint64_t>(shape.surplus));
  mix(shape.window);
  mix(both(shape.context, shape.root));
  mix(both(shape.peer, shape.channels));
  mix(both(shape.gpu_rejected, shape.func));
  mix(both(shape.datatype, shape.algo));
  mix(both(shape.proto, shape.stream));
  mix(both(shape.user_tag, shape.called_by));
  mix(shape.process_group);
  mix(both(shape.tid, static_cast<std::uint32_t>(shape.kind) << 16 |
                          static_cast<std::uint32_t>(shape.times_from) << 8 |
                          static_cast<std::uint32_t>(shape.state) << 4 |
                          std::uint32_t{shape.start_is_latest} << 3 |
                          std::uint32_t{shape.in_flight} << 2 | std::uint32_t{shape.graph} << 1 |
                          std::uint32_t{shape.gpu_polled}));
  return hash;
}

void Operations::rebuild_index(std::size_t size) {
  index_.assign(size, 0);
  for (std::uint32_t i = 0; i < shapes_.size(); ++i) {
    std::size_t at = hash(shapes_[i]) & (size - 1);
    while (index_[at] != 0) {
      at = (at + 1) & (size - 1);
    }
    index_[at] = i + 1;
  }
}

bool Operations::Shape::operator==(const Shape& other) const {
  static_assert(std::has_unique_object_representations_v<Shape>);
  return std::memcmp(this, &other, sizeof(Shape)) == 0;
}

// A job repeats itself: what came behind an operation of one shape once mostly does so again.
std::uint32_t Operations::intern(const Shape& shape) {
  if (last_shape_ < after_.size() && shapes_[after_[last_shape_]] == shape) {
    return last_shape_ = after_[last_shape_];
  }
  const std::uint32_t found = find_or_add(shape);
  after_.resize(shapes_.size());
  after_[last_shape_] = found;
  return last_shape_ = found;
}

std::uint32_t Operations::find_or_add(const Shape& shape) {
  // At most half full, so that a free place is near.
  if (index_.size() < 2 * (shapes_.size() + 1)) {
    rebuild_index(index_.empty() ? 16 : 2 * index_.size());
  }
  std::size_t at = hash(shape) & (index_.size() - 1);
  for (; index_[at] != 0; at = (at + 1) & (index_.size() - 1)) {
    if (shapes_[index_[at] - 1] == shape) {
      return index_[at] - 1;
    }
  }
  shapes_.push_back(shape);
  index_[at] = static_cast<std::uint32_t>(shapes_.size());
  return index_[at] - 1;
}

void Operations::extend(std::int64_t from_ns, std::int64_t to_ns) {
  extent_ns_ = extent_ns_ ? std::pair(std::min(extent_ns_->first, from_ns),
                                      std::max(extent_ns_->second, to_ns))
                          : std::pair(from_ns, to_ns);
}

void Operations::extend(const Row& row) {
  for (const Column column : {kEnqueueStart, kStart, kEnd, kEnqueueEnd}) {
    if (row[column] != Rows::kAbsent) {
      extend(row[column], row[column]);
    }
  }
}

Operations::Row Operations::row_of(const Operation& operation, std::uint32_t shape) {
  Row row;
  row[kEnqueueStart] = pack(operation.enqueue_start_ns);
  row[kStart] = pack(operation.start_ns);
  row[kEnd] = pack(operation.end_ns);
  row[kEnqueueEnd] = pack(operation.enqueue_end_ns);
  row[kShape] = shape;
  row[kId] = to_signed(operation.id);
  row[kSeq] = to_signed(pack(operation.seq));
  row[kGroup] = to_signed(pack(operation.group));
  row[kTorchSeq] = to_signed(pack(operation.torch_seq));
  extend(row);
  return row;
}

std::uint32_t Operations::push_back(const Operation& operation) {
  const std::uint32_t shape = intern(shape_of(operation));
  push_back_like(shape, operation);
  return shape;
}

void Operations::push_back_like(std::uint32_t like, const Operation& operation) {
  rows_.push_back(row_of(operation, like));
}

void Operations::set(std::size_t index, const Operation& operation) {
  rows_.set(index, row_of(operation, intern(shape_of(operation))));
}

void Operations::append(Operations&& other, std::span<const NameId> names) {
  for (Shape& shape : other.shapes_) {
    for (NameId* const name :
         {&shape.func, &shape.datatype, &shape.algo, &shape.proto, &shape.stream, &shape.user_tag,
          &shape.called_by, &shape.process_group}) {
      *name = names[*name];
    }
  }
  append(std::move(other));
}

void Operations::append(Operations&& other) {
  if (empty()) {
    *this = std::move(other);
    rebuild_index(index_.size());
    return;
  }
  if (shapes_ == other.shapes_ && size() % kBlockRows == 0) {
    rows_.take(std::move(other.rows_));
  } else {
    std::vector<std::uint32_t> shapes;
    shapes.reserve(other.shapes_.size());
    for (const Shape& shape : other.shapes_) {
      shapes.push_back(intern(shape));
    }
    for (std::size_t i = 0; i < other.size(); ++i) {
      Row row = other.rows_.first(i);
      row[kShape] = shapes[static_cast<std::size_t>(row[kShape])];
      rows_.push_back(row);
    }
  }
  if (other.extent_ns_) {
    extend(other.extent_ns_->first, other.extent_ns_->second);
  }
  other = {};
}

std::uint64_t Operations::id(std::size_t index) const {
  return to_unsigned(rows_.at<kId>(index));
}

std::optional<std::uint64_t> Operations::group(std::size_t index) const {
  return unpack(to_unsigned(rows_.at<kGroup>(index)));
}

std::uint32_t Operations::shape(std::size_t index) const {
  return static_cast<std::uint32_t>(rows_.at<kShape>(index));
}

std::uint32_t Operations::context(std::size_t index) const {
  return shapes_[shape(index)].context;
}

OptionalNumber<std::int64_t> Operations::call_time_ns(std::size_t index) const {
  const Row row = rows_.first<kStart + 1>(index);
  return unpack(unpack(row[kEnqueueStart]) ? row[kEnqueueStart] : row[kStart]);
}

Execution Operations::execution(std::size_t index) const {
  const Row row = rows_.first<kShape + 1>(index);
  const Shape& shape = shapes_[static_cast<std::size_t>(row[kShape])];
  return {.context = shape.context,
          .times_from = shape.times_from,
          .state = shape.state,
          .in_flight = shape.in_flight,
          .graph = shape.graph,
          .bytes = unpack(shape.bytes),
          .root = unpack(shape.root),
          .peer = unpack(shape.peer),
          .gpu_rejected = shape.gpu_rejected,
          .gpu_polled = shape.gpu_polled,
          .start_is_latest = shape.start_is_latest,
          .enqueue_start_ns = unpack(row[kEnqueueStart]),
          .enqueue_end_ns = unpack(row[kEnqueueEnd]),
          .start_ns = unpack(row[kStart]),
          .end_ns = unpack(row[kEnd])};
}

Terms Operations::terms(std::size_t index) const {
  const Shape& shape = shapes_[static_cast<std::size_t>(rows_.at<kShape>(index))];
  return {.datatype = shape.datatype,
          .in_flight = shape.in_flight,
          .count = unpack(shape.count),
          .bytes = unpack(shape.bytes),
          .surplus = unpack(shape.surplus),
          .root = unpack(shape.root)};
}

CallIdentity Operations::call(std::size_t index) const {
  const Shape& shape = shapes_[static_cast<std::size_t>(rows_.at<kShape>(index))];
  return {.context = shape.context,
          .func = shape.func,
          .graph = shape.graph,
          .peer = unpack(shape.peer),
          .seq = unpack(to_unsigned(rows_.at<kSeq>(index)))};
}

bool Operations::may_have_sampled_out() const {
  return std::ranges::any_of(shapes_, &Shape::sampled_out);
}

bool Operations::may_have_callers() const {
  return std::any_of(shapes_.begin(), shapes_.end(),
                     [](const Shape& shape) { return shape.called_by != kNoName; });
}

bool Operations::may_have_in_flight() const {
  return std::ranges::any_of(shapes_, &Shape::in_flight);
}

Operation Operations::operation_of(const Shape& shape) {
  Operation operation;
  operation.context = shape.context;
  operation.kind = shape.kind;
  operation.times_from = shape.times_from;
  operation.state = shape.state;
  operation.in_flight = shape.in_flight;
  operation.func = shape.func;
  operation.datatype = shape.datatype;
  operation.algo = shape.algo;
  operation.proto = shape.proto;
  operation.count = unpack(shape.count);
  operation.bytes = unpack(shape.bytes);
  operation.surplus = unpack(shape.surplus);
  operation.root = unpack(shape.root);
  operation.peer = unpack(shape.peer);
  operation.window = shape.window;
  operation.channels = shape.channels;
  operation.graph = shape.graph;
  operation.gpu_polled = shape.gpu_polled;
  operation.start_is_latest = shape.start_is_latest;
  operation.gpu_rejected = shape.gpu_rejected;
  operation.stream = shape.stream;
  operation.user_tag = shape.user_tag;
  operation.called_by = shape.called_by;
  operation.process_group = shape.process_group;
  operation.sample_of = shape.sample_of;
  operation.sampled_out = shape.sampled_out;
  operation.tid = shape.tid;
  return operation;
}

Operation Operations::operator[](std::size_t index) const {
  const Row row = rows_.first(index);
  Operation operation = operation_of(shapes_[static_cast<std::size_t>(row[kShape])]);
  operation.id = to_unsigned(row[kId]);
  operation.seq = unpack(to_unsigned(row[kSeq]));
  operation.group = unpack(to_unsigned(row[kGroup]));
  operation.torch_seq = unpack(to_unsigned(row[kTorchSeq]));
  operation.enqueue_start_ns = unpack(row[kEnqueueStart]);
  operation.enqueue_end_ns = unpack(row[kEnqueueEnd]);
  operation.start_ns = unpack(row[kStart]);
  operation.end_ns = unpack(row[kEnd]);
  return operation;
}

Operations Operations::slice(std::size_t begin, std::size_t end) const {
  std::vector<bool> is_used(shapes_.size());
  for (std::size_t i = begin; i < end; ++i) {
    is_used[shape(i)] = true;
  }
  Operations part;
  std::vector<std::uint32_t> numbers(shapes_.size());
  for (std::uint32_t i = 0; i < shapes_.size(); ++i) {
    if (is_used[i]) {
      numbers[i] = static_cast<std::uint32_t>(part.shapes_.size());
      part.shapes_.push_back(shapes_[i]);
    }
  }
  if (part.shapes_.size() == shapes_.size()) {
    part.rows_ = rows_.slice(begin, end);
  } else {
    for (std::size_t i = begin; i < end; ++i) {
      Row row = rows_.first(i);
      row[kShape] = numbers[static_cast<std::size_t>(row[kShape])];
      part.rows_.push_back(row);
    }
  }
  for (std::size_t i = begin; i < end; ++i) {
    part.extend(rows_.first<kEnqueueEnd + 1>(i));
  }
  part.rebuild_index(std::bit_ceil(2 * (part.shapes_.size() + 1)));
  return part;
}

std::vector<Operation> Operations::shapes() const {
  std::vector<Operation> shapes;
  shapes.reserve(shapes_.size());
  for (const Shape& shape : shapes_) {
    shapes.push_back(operation_of(shape));
  }
  return shapes;
}

std::map<std::uint32_t, NameId> Operations::process_groups() const {
  std::map<std::uint32_t, NameId> groups;
  for (const Shape& shape : shapes_) {
    if (shape.process_group != kNoName) {
      groups.try_emplace(shape.context, shape.process_group);
    }
  }
  return groups;
}

bool Operations::take_packed(std::span<const Operation> shapes, std::size_t rows,
                             std::string_view bytes, std::vector<std::size_t>& doubtful) {
  *this = {};
  for (const Operation& shape : shapes) {
    shapes_.push_back(shape_of(shape));
  }
  rebuild_index(std::bit_ceil(2 * (shapes_.size() + 1)));
  if (!rows_.take_packed(rows, bytes)) {
    return false;
  }
  const auto count = static_cast<std::int64_t>(shapes_.size());
  const auto look_at = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      extend(rows_.first<kEnqueueEnd + 1>(i));
      doubtful.push_back(i);
    }
  };
  // The first and the last ones tell between which times most of the others are.
  const std::size_t whole = rows_.whole_blocks();
  look_at(0, std::min(rows, kBlockRows));
  look_at(std::max(rows - rows % kBlockRows, std::min(rows, kBlockRows)), rows);
  for (std::size_t block = 1; block < whole; ++block) {
    if (!tells_times(block)) {
      look_at(block * kBlockRows, (block + 1) * kBlockRows);
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const auto shape = i / kBlockRows < whole ? rows_.bounds<kShape>(i / kBlockRows) : std::nullopt;
    if (shape && shape->least >= 0 && shape->most < count) {
      i += kBlockRows - 1;  // all of this block
    } else if (rows_.at<kShape>(i) < 0 || rows_.at<kShape>(i) >= count) {
      return false;
    }
  }
  return true;
}

// Whether a block shows, without its rows, that their times are within those that are known, and
// start_ns and end_ns as take_packed() says.
bool Operations::tells_times(std::size_t block) const {
  const auto called = rows_.bounds<kEnqueueStart>(block);
  const auto returned = rows_.bounds<kEnqueueEnd>(block);
  const auto start = rows_.bounds<kStart>(block);
  const auto end = rows_.bounds<kEnd>(block);
  if (!called || !returned || !start || !end || !extent_ns_) {
    return false;
  }
  const auto [from_ns, to_ns] = *extent_ns_;
  return !start->has_absent && !end->has_absent && start->least >= 0 &&
         end->least_difference >= 0 &&
         std::min({called->least, returned->least, start->least}) >= from_ns &&
         std::max({called->most, returned->most, end->most}) <= to_ns;
}

}  // namespace ringside::model
