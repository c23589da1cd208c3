// Shape, and Tensor: a block of simulated device memory with, in execute mode, a host float buffer
// that holds its values (fp32 numbers that the dtype can represent). No arithmetic here. A Tensor
// is owned by one place, is move-only, and must die before its Device. Not thread-safe: one device,
// one thread.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/device/memory.hpp"
#include "model/tensor/dtype.hpp"
#include "model/tensor/view.hpp"

namespace nb {

class Device;

class Shape {
 public:
  static constexpr std::size_t kMaxRank = 6;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);
  explicit Shape(std::span<const std::int64_t> sizes);
  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const;  // i < rank, checked
  std::int64_t last() const;                     // 1 for a scalar
  std::int64_t count() const;                    // product; 1 for rank 0
  std::int64_t leading() const;                  // product of all but the last
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "(2, 8, 64)"

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  std::size_t rank_ = 0;
};

class Tensor {
 public:
  Tensor() = default;  // empty: no block, no buffer
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  bool empty() const { return device_ == nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::string_view name() const { return name_; }
  std::int64_t count() const { return shape_.count(); }
  std::uint64_t size_bytes() const;  // count × storage_bytes(dtype), before the allocator rounds it

  // Execute mode: count() floats, 64-byte aligned, contents unspecified after allocate. Dry mode
  // and HostBuffer::kNone: empty. A const Tensor gives a read-only span.
  std::span<float> host() {
    ++changes_;
    return {host_, host_count_};
  }
  std::span<const float> host() const { return {host_, host_count_}; }
  // HostBuffer::kHalves: count() values of two bytes (in execute mode); host() and matrix() have
  // none. Other tensors: empty.
  std::span<std::uint16_t> halves();
  std::span<const std::uint16_t> halves() const;
  Halves half_matrix();  // as matrix(); no data where there are none
  // Whatever the buffer holds; NB_CHECK fails where there is none.
  ConstNumbers numbers() const;
  Numbers numbers_to_write();  // counts as a change
  // (leading(), last()) view of the host buffer; NB_CHECK fails where there is none.
  Matrix matrix();
  ConstMatrix matrix() const;

  // Counts the calls of host() and matrix() that could change the values (those of a Tensor that is
  // not const). Write through what such a call gave at once: nobody notices a later write.
  std::uint64_t changes() const { return changes_; }
  // What somebody made out of the values, as packed weights: lives as long as the tensor, is never
  // compared or copied. Its owner checks changes().
  struct Derived {
    virtual ~Derived() = default;
  };
  std::unique_ptr<Derived>& derived() const { return derived_; }

  // The framework would free this tensor now; the host's arithmetic still wants its values. Frees
  // the simulated block (unless a SavedBlocks holds it too), keeps the buffer. Call it on every
  // activation when its forward function ends: what the software stack keeps for backward stays
  // held by SavedBlocks.
  void drop_block();
  bool has_block() const { return block_.held(); }
  // True after an op whose compiled lowering computes its output again in backward: ops that would
  // keep this tensor for backward then keep nothing.
  bool is_recomputed() const { return is_recomputed_; }
  const BlockHandle& block() const { return block_; }

 private:
  friend class Device;
  Tensor(Device* device, const Shape& shape, DType dtype, std::string_view name, BlockHandle block,
         float* host, bool is_halves);
  void release() noexcept;

  Device* device_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kFp32;
  std::string name_;
  BlockHandle block_;
  float* host_ = nullptr;
  std::size_t host_count_ = 0;  // floats; 0 where the buffer holds halves
  std::uint64_t changes_ = 0;
  mutable std::unique_ptr<Derived> derived_;
  mutable bool is_recomputed_ = false;  // bookkeeping of Device::run on a const output
};

}  // namespace nb
