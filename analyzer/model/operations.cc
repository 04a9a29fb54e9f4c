// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/operations.h"

#include <limits>
#include <utility>

namespace ringside::model {
namespace {

template <typename Integer>
constexpr Integer kAbsent = std::numeric_limits<Integer>::is_signed
                                ? std::numeric_limits<Integer>::min()
                                : std::numeric_limits<Integer>::max();

template <typename Integer>
Integer pack(const std::optional<Integer>& value) {
  return value.value_or(kAbsent<Integer>);
}

template <typename Integer>
std::optional<Integer> unpack(Integer value) {
  return value == kAbsent<Integer> ? std::nullopt : std::optional(value);
}

}  // namespace

Operations::Shape Operations::shape_of(const Operation& operation) {
  return {.count = pack(operation.count),
          .bytes = pack(operation.bytes),
          .window = operation.window,
          .sample_of = operation.sample_of,
          .context = operation.context,
          .root = pack(operation.root),
          .peer = pack(operation.peer),
          .channels = operation.channels,
          .gpu_rejected = operation.gpu_rejected,
          .func = operation.func,
          .datatype = operation.datatype,
          .algo = operation.algo,
          .proto = operation.proto,
          .stream = operation.stream,
          .tid = operation.tid,
          .kind = operation.kind,
          .times_from = operation.times_from,
          .state = operation.state,
          .in_flight = operation.in_flight,
          .graph = operation.graph,
          .gpu_polled = operation.gpu_polled,
          .sampled_out = operation.sampled_out};
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
  mix(shape.window);
  mix(both(shape.context, shape.root));
  mix(both(shape.peer, shape.channels));
  mix(both(shape.gpu_rejected, shape.func));
  mix(both(shape.datatype, shape.algo));
  mix(both(shape.proto, shape.stream));
  mix(both(shape.tid, static_cast<std::uint32_t>(shape.kind) << 16 |
                          static_cast<std::uint32_t>(shape.times_from) << 8 |
                          static_cast<std::uint32_t>(shape.state) << 4 |
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

std::uint32_t Operations::intern(const Shape& shape) {
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

Operations::Row Operations::row_of(const Operation& operation, std::size_t index) {
  std::uint32_t enqueue_ns = kNotEnqueued;
  if (operation.enqueue_end_ns) {
    // Unsigned: nothing wraps that could be taken for a short time.
    const auto start_ns = static_cast<std::uint64_t>(operation.enqueue_start_ns.value_or(0));
    const auto end_ns = static_cast<std::uint64_t>(*operation.enqueue_end_ns);
    const bool is_near = operation.enqueue_start_ns && end_ns - start_ns < kFarEnqueued;
    enqueue_ns = is_near ? static_cast<std::uint32_t>(end_ns - start_ns) : kFarEnqueued;
  }
  if (enqueue_ns == kFarEnqueued) {
    far_enqueued_ns_[index] = *operation.enqueue_end_ns;
  }
  return {.id = operation.id,
          .seq = pack(operation.seq),
          .group = pack(operation.group),
          .enqueue_start_ns = pack(operation.enqueue_start_ns),
          .start_ns = pack(operation.start_ns),
          .end_ns = pack(operation.end_ns),
          .enqueue_ns = enqueue_ns,
          .shape = intern(shape_of(operation))};
}

std::optional<std::int64_t> Operations::enqueue_end_ns(std::size_t index) const {
  const Row& row = this->row(index);
  if (row.enqueue_ns == kNotEnqueued) {
    return std::nullopt;
  }
  return row.enqueue_ns == kFarEnqueued ? far_enqueued_ns_.at(index)
                                        : row.enqueue_start_ns + row.enqueue_ns;
}

void Operations::push(const Row& row) {
  if (size_ % kBlockRows == 0) {
    blocks_.emplace_back().reserve(kBlockRows);
  }
  blocks_.back().push_back(row);
  ++size_;
}

void Operations::push_back(const Operation& operation) {
  push(row_of(operation, size_));
}

void Operations::set(std::size_t index, const Operation& operation) {
  row(index) = row_of(operation, index);
}

void Operations::append(Operations&& other, std::span<const NameId> names) {
  for (Shape& shape : other.shapes_) {
    for (NameId* const name :
         {&shape.func, &shape.datatype, &shape.algo, &shape.proto, &shape.stream}) {
      *name = names[*name];
    }
  }
  append(std::move(other));
}

void Operations::append(Operations&& other) {
  std::vector<std::uint32_t> shapes;
  shapes.reserve(other.shapes_.size());
  for (const Shape& shape : other.shapes_) {
    shapes.push_back(intern(shape));
  }
  for (const auto& [i, end_ns] : other.far_enqueued_ns_) {
    far_enqueued_ns_[size_ + i] = end_ns;
  }
  for (std::size_t i = 0; i < other.size_; ++i) {
    Row row = other.row(i);
    row.shape = shapes[row.shape];
    push(row);
    if (i % kBlockRows == kBlockRows - 1) {
      other.blocks_[i / kBlockRows] = {};
    }
  }
  other = {};
}

std::optional<std::uint64_t> Operations::group(std::size_t index) const {
  return unpack(row(index).group);
}

std::uint32_t Operations::context(std::size_t index) const {
  return shapes_[row(index).shape].context;
}

std::int64_t Operations::call_ns(std::size_t index) const {
  const Row& row = this->row(index);
  return unpack(row.enqueue_start_ns).value_or(unpack(row.start_ns).value_or(0));
}

Execution Operations::execution(std::size_t index) const {
  const Row& row = this->row(index);
  const Shape& shape = shapes_[row.shape];
  return {.context = shape.context,
          .times_from = shape.times_from,
          .state = shape.state,
          .in_flight = shape.in_flight,
          .gpu_polled = shape.gpu_polled,
          .gpu_rejected = shape.gpu_rejected,
          .bytes = unpack(shape.bytes),
          .peer = unpack(shape.peer),
          .enqueue_start_ns = unpack(row.enqueue_start_ns),
          .enqueue_end_ns = enqueue_end_ns(index),
          .start_ns = unpack(row.start_ns),
          .end_ns = unpack(row.end_ns)};
}

Operation Operations::operator[](std::size_t index) const {
  const Row& row = this->row(index);
  const Shape& shape = shapes_[row.shape];
  return {.id = row.id,
          .context = shape.context,
          .kind = shape.kind,
          .times_from = shape.times_from,
          .state = shape.state,
          .in_flight = shape.in_flight,
          .func = shape.func,
          .datatype = shape.datatype,
          .algo = shape.algo,
          .proto = shape.proto,
          .seq = unpack(row.seq),
          .count = unpack(shape.count),
          .bytes = unpack(shape.bytes),
          .root = unpack(shape.root),
          .peer = unpack(shape.peer),
          .group = unpack(row.group),
          .window = shape.window,
          .channels = shape.channels,
          .graph = shape.graph,
          .gpu_polled = shape.gpu_polled,
          .gpu_rejected = shape.gpu_rejected,
          .stream = shape.stream,
          .sample_of = shape.sample_of,
          .sampled_out = shape.sampled_out,
          .tid = shape.tid,
          .enqueue_start_ns = unpack(row.enqueue_start_ns),
          .enqueue_end_ns = enqueue_end_ns(index),
          .start_ns = unpack(row.start_ns),
          .end_ns = unpack(row.end_ns)};
}

}  // namespace ringside::model
