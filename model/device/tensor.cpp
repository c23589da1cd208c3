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

Tensor::Tensor(Device* device, const Shape& shape, DType dtype, std::string_view name,
               BlockHandle block, float* host, bool is_halves)
    : device_(device),
      shape_(shape),
      dtype_(dtype),
      name_(name),
      block_(std::move(block)),
      host_(host),
      host_count_(host == nullptr || is_halves ? 0 : static_cast<std::size_t>(shape.count())) {}

Tensor::Tensor(Tensor&& other) noexcept { *this = std::move(other); }

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = std::exchange(other.device_, nullptr);
  shape_ = std::exchange(other.shape_, Shape());
  dtype_ = other.dtype_;
  name_ = std::move(other.name_);
  block_ = std::move(other.block_);
  host_ = std::exchange(other.host_, nullptr);
  host_count_ = std::exchange(other.host_count_, 0);
  changes_ = std::exchange(other.changes_, 0);
  derived_ = std::move(other.derived_);
  is_recomputed_ = std::exchange(other.is_recomputed_, false);
  return *this;
}

Tensor::~Tensor() { release(); }

void Tensor::release() noexcept {
  if (device_ == nullptr) return;
  block_.reset();
  derived_.reset();
  if (host_ != nullptr) device_->give_back_host(host_);
  device_ = nullptr;
  host_ = nullptr;
  host_count_ = 0;
}

std::uint64_t Tensor::size_bytes() const {
  return static_cast<std::uint64_t>(count()) * storage_bytes(dtype_);
}

std::span<std::uint16_t> Tensor::halves() {
  if (host_ == nullptr || host_count_ != 0) return {};
  ++changes_;
  return {reinterpret_cast<std::uint16_t*>(host_), static_cast<std::size_t>(count())};
}

std::span<const std::uint16_t> Tensor::halves() const {
  if (host_ == nullptr || host_count_ != 0) return {};
  return {reinterpret_cast<const std::uint16_t*>(host_), static_cast<std::size_t>(count())};
}

Matrix Tensor::matrix() {
  NB_CHECK(host_count_ > 0 || (host_ != nullptr && count() == 0), "[tensor] {} has no host values",
           name_);
  ++changes_;
  return nb::matrix(host_, shape_.leading(), shape_.last());
}

ConstMatrix Tensor::matrix() const {
  NB_CHECK(host_count_ > 0 || (host_ != nullptr && count() == 0), "[tensor] {} has no host values",
           name_);
  return nb::matrix(static_cast<const float*>(host_), shape_.leading(), shape_.last());
}

Halves Tensor::half_matrix() {
  return {halves().data(), shape_.leading(), shape_.last(), shape_.last()};
}

Numbers Tensor::numbers_to_write() {
  if (std::as_const(*this).halves().empty()) return matrix();
  return half_matrix();
}

ConstNumbers Tensor::numbers() const {
  if (halves().empty()) return matrix();
  ConstNumbers numbers;
  numbers.halves = halves().data();
  numbers.rows = shape_.leading();
  numbers.cols = numbers.stride = shape_.last();
  return numbers;
}

void Tensor::drop_block() { block_.reset(); }

}  // namespace nb
