// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_tensors.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "analyzer/model/kineto/torch_dtype.h"

namespace ringside::load {

DumpType* DumpTensorReader::type_of(const PlainValue& value) {
  if (last_type_ == nullptr || last_type_value_ != value) {
    last_type_value_ = value;
    const std::string_view text = tree_.text(value);
    last_type_ = &types_.try_emplace(text, DumpType{text, 0}).first->second;
    last_type_->bytes = model::element_bytes(text).value_or(0);
  }
  return last_type_;
}

model::NameId DumpTensorReader::name_of(DumpType* type) const {
  if (type != nullptr && type->name == model::kNoName && !type->text.empty()) {
    type->name = names_.id(type->text);
  }
  return type != nullptr ? type->name : model::kNoName;
}

DumpTensors DumpTensorReader::read(const PlainValue& entry, const PlainKey& sizes_key,
                                   const PlainKey& types_key, std::uint32_t& count) {
  const PlainValue told_sizes = tree_.at(entry, sizes_key);
  const PlainValue told_types = tree_.at(entry, types_key);
  const auto sizes = tree_.list(told_sizes);
  const auto types = tree_.list(told_types);
  count = static_cast<std::uint32_t>(sizes.size());
  DumpTensors tensors;
  tensors.has_sizes = told_sizes.kind == PlainValue::Kind::kList;
  tensors.has_types = told_types.kind == PlainValue::Kind::kList;
  if (sizes.empty()) {
    return tensors;
  }
  tensors.count = 0;
  tensors.bytes = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    DumpType* const type =
        type_of(types.empty() ? PlainValue() : types[std::min(i, types.size() - 1)]);
    tensors.has_types = tensors.has_types && !type->text.empty();
    tensors.type = i == 0 || type == tensors.type ? type : nullptr;
    const std::uint64_t bytes = add(sizes[i], type->bytes, tensors);
    if (keeps_bytes_) {
      bytes_.push_back(bytes);
    }
  }
  return tensors;
}

// Nothing is told of a size that is damaged, or of a type that is not known. Returns the bytes of
// the tensor.
std::uint64_t DumpTensorReader::add(const PlainValue& sizes, std::uint64_t bytes_of_element,
                                    DumpTensors& tensors) const {
  std::uint64_t count = 1;
  bool is_known = sizes.kind == PlainValue::Kind::kList;
  for (const PlainValue& size : tree_.list(sizes)) {
    const auto number = integer_of(size);
    is_known = is_known && number && *number >= 0 &&
               !__builtin_mul_overflow(count, static_cast<std::uint64_t>(*number), &count);
  }
  tensors.has_sizes = tensors.has_sizes && is_known;
  const auto add_to = [](std::optional<std::uint64_t>& sum, std::uint64_t more, bool is_stated) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    sum = is_stated && sum && more < kMost && *sum < kMost ? std::optional(*sum + more)
                                                           : std::nullopt;
  };
  std::uint64_t bytes = 0;
  const bool has_bytes =
      is_known && bytes_of_element > 0 && !__builtin_mul_overflow(count, bytes_of_element, &bytes);
  add_to(tensors.count, count, is_known);
  add_to(tensors.bytes, bytes, has_bytes);
  return has_bytes ? bytes : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace ringside::load
