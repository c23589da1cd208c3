#include "model/device/tensor.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/check.hpp"
#include "model/device/device.hpp"

namespace nb {

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span<const std::int64_t>(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(sizes.size()) {
  NB_CHECK(sizes.size() <= kMaxRank, "[shape] rank {} is above {}", sizes.size(), kMaxRank);
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  std::int64_t total = 1;
  for (const std::int64_t size : sizes) {
    NB_CHECK(size >= 0, "[shape] negative size in {}", text());
    NB_CHECK(!__builtin_mul_overflow(total, size, &total), "[shape] {} is too large", text());
  }
}

std::int64_t Shape::operator[](std::size_t i) const {
  NB_CHECK(i < rank_, "[shape] dimension {} of {}", i, text());
  return sizes_[i];
}

std::int64_t Shape::last() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1]; }

std::int64_t Shape::count() const { return leading() * last(); }

std::int64_t Shape::leading() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i + 1 < rank_; ++i) product *= sizes_[i];
  return product;
}

std::string Shape::text() const {
  std::string text = "(";
  for (std::size_t i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(sizes_[i]);
  }
  return text + ")";
}

const Shape Tensor::kNoShape;
const std::shared_ptr<HostValues> Tensor::kNoValues;

HostValues::~HostValues() {
  derived.reset();
  if (buffer != nullptr) device.give_back_host(buffer);
}

ConstAnyMatrix HostValues::any_matrix() const {
  NB_CHECK(buffer != nullptr, "[tensor] ({}, {}) has no host values", rows, cols);
  ConstAnyMatrix numbers;
  if (is_bf16)
    numbers.bf16 = reinterpret_cast<const std::uint16_t*>(buffer);
  else
    numbers.fp32 = buffer;
  numbers.rows = rows;
  numbers.cols = numbers.stride = cols;
  return numbers;
}

AnyMatrix HostValues::any_matrix_to_write() {
  NB_CHECK(buffer != nullptr, "[tensor] ({}, {}) has no host values", rows, cols);
  if (is_bf16) return Bf16Matrix{reinterpret_cast<std::uint16_t*>(buffer), rows, cols, cols};
  return nb::matrix(buffer, rows, cols);
}

ConstMatrix HostValues::matrix() const {
  NB_CHECK(buffer != nullptr && !is_bf16, "[tensor] ({}, {}) has no fp32 values on the host", rows,
           cols);
  return nb::matrix(static_cast<const float*>(buffer), rows, cols);
}

Matrix HostValues::matrix_to_write() {
  NB_CHECK(buffer != nullptr && !is_bf16, "[tensor] ({}, {}) has no fp32 values on the host", rows,
           cols);
  return nb::matrix(buffer, rows, cols);
}

Device& Tensor::device() const {
  NB_CHECK(!empty(), "[tensor] an empty tensor has no device");
  return *state_->device;
}

std::uint64_t Tensor::size_bytes() const {
  return static_cast<std::uint64_t>(count()) * storage_bytes(dtype());
}

namespace {

// Values that no op makes get their buffer when somebody touches them first.
void touch(HostValues& values, bool in_bf16) {
  if (values.buffer == nullptr && !values.is_recorded)
    values.device.make_host_buffer(values, in_bf16);
}

}  // namespace

HostValues* Tensor::ready(bool in_bf16) const {
  HostValues* values = Tensor::values().get();
  if (values == nullptr) return nullptr;
  if (values->is_pending) state_->device->finish_host();
  touch(*values, in_bf16);
  return values;
}

HostValues* Tensor::to_write(bool in_bf16) {
  HostValues* values = Tensor::values().get();
  if (values == nullptr) return nullptr;
  state_->device->finish_host();  // others may still have to read the values as they are
  touch(*values, in_bf16);
  ++values->changes;
  return values;
}

std::span<float> Tensor::host() {
  HostValues* v = to_write();
  if (v == nullptr || v->buffer == nullptr || v->is_bf16) return {};
  return {v->buffer, static_cast<std::size_t>(v->count())};
}

std::span<const float> Tensor::host() const {
  const HostValues* v = ready();
  if (v == nullptr || v->buffer == nullptr || v->is_bf16) return {};
  return {v->buffer, static_cast<std::size_t>(v->count())};
}

std::span<std::uint16_t> Tensor::bf16() {
  HostValues* v = to_write(true);
  if (v == nullptr || v->buffer == nullptr || !v->is_bf16) return {};
  return {reinterpret_cast<std::uint16_t*>(v->buffer), static_cast<std::size_t>(v->count())};
}

std::span<const std::uint16_t> Tensor::bf16() const {
  const HostValues* v = ready(true);
  if (v == nullptr || v->buffer == nullptr || !v->is_bf16) return {};
  return {reinterpret_cast<const std::uint16_t*>(v->buffer), static_cast<std::size_t>(v->count())};
}

ConstAnyMatrix Tensor::any_matrix() const {
  const HostValues* v = ready();
  NB_CHECK(v != nullptr, "[tensor] {} has no host values", name());
  return v->any_matrix();
}

Matrix Tensor::matrix() {
  HostValues* v = to_write();
  NB_CHECK(v != nullptr && v->buffer != nullptr && !v->is_bf16, "[tensor] {} has no host values",
           name());
  return v->matrix_to_write();
}

ConstMatrix Tensor::matrix() const {
  const HostValues* v = ready();
  NB_CHECK(v != nullptr && v->buffer != nullptr && !v->is_bf16, "[tensor] {} has no host values",
           name());
  return v->matrix();
}

std::uint64_t Tensor::changes() const { return values() == nullptr ? 0 : values()->changes; }

Tensor Tensor::values_only() const {
  Tensor other;
  if (empty()) return other;
  other.state_ = std::make_shared<State>(*state_);
  other.state_->block.reset();
  return other;
}

Tensor Tensor::with_values(std::shared_ptr<HostValues> values) const {
  Tensor other;
  other.state_ = std::make_shared<State>(*state_);
  other.state_->values = std::move(values);
  return other;
}

}  // namespace nb
