// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/operations.h"

#include <algorithm>
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

Operations::Row Operations::row_of(const Operation& operation, std::uint32_t shape) {
  for (const auto& time_ns : {operation.enqueue_start_ns, operation.start_ns, operation.end_ns,
                              operation.enqueue_end_ns}) {
    if (time_ns) {
      extend(*time_ns, *time_ns);
    }
  }
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
  return std::any_of(shapes_.begin(), shapes_.end(),
                     [](const Shape& shape) { return shape.sampled_out; });
}

bool Operations::may_have_callers() const {
  return std::any_of(shapes_.begin(), shapes_.end(),
                     [](const Shape& shape) { return shape.called_by != kNoName; });
}

bool Operations::may_have_in_flight() const {
  return std::any_of(shapes_.begin(), shapes_.end(),
                     [](const Shape& shape) { return shape.in_flight; });
}

Operation Operations::operator[](std::size_t index) const {
  const Row row = rows_.first(index);
  const Shape& shape = shapes_[static_cast<std::size_t>(row[kShape])];
  return {.id = to_unsigned(row[kId]),
          .context = shape.context,
          .kind = shape.kind,
          .times_from = shape.times_from,
          .state = shape.state,
          .in_flight = shape.in_flight,
          .func = shape.func,
          .datatype = shape.datatype,
          .algo = shape.algo,
          .proto = shape.proto,
          .seq = unpack(to_unsigned(row[kSeq])),
          .count = unpack(shape.count),
          .bytes = unpack(shape.bytes),
          .surplus = unpack(shape.surplus),
          .root = unpack(shape.root),
          .peer = unpack(shape.peer),
          .group = unpack(to_unsigned(row[kGroup])),
          .window = shape.window,
          .channels = shape.channels,
          .graph = shape.graph,
          .gpu_polled = shape.gpu_polled,
          .start_is_latest = shape.start_is_latest,
          .gpu_rejected = shape.gpu_rejected,
          .stream = shape.stream,
          .user_tag = shape.user_tag,
          .called_by = shape.called_by,
          .process_group = shape.process_group,
          .torch_seq = unpack(to_unsigned(row[kTorchSeq])),
          .sample_of = shape.sample_of,
          .sampled_out = shape.sampled_out,
          .tid = shape.tid,
          .enqueue_start_ns = unpack(row[kEnqueueStart]),
          .enqueue_end_ns = unpack(row[kEnqueueEnd]),
          .start_ns = unpack(row[kStart]),
          .end_ns = unpack(row[kEnd])};
}

}  // namespace ringside::model
