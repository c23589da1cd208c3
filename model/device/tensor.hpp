// Shape, and Tensor: a block of simulated device memory with, in execute mode, its values on the
// host (fp32 numbers that the dtype can represent). No arithmetic here. As in PyTorch, copies of a
// Tensor are the same tensor: the last one frees the block. All must die before the Device. Not
// thread-safe: one device, one thread.
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
class Tape;

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

// A tensor's values on the host, (rows, cols) of them. An op that was recorded makes them later
// (Device::host_queue); whoever reads a Tensor's values waits for that.
struct HostValues {
  HostValues(Device& of_device, std::int64_t row_count, std::int64_t col_count)
      : device(of_device), rows(row_count), cols(col_count) {}
  ~HostValues();
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;

  std::int64_t count() const { return rows * cols; }
  // NB_CHECK of all four: they are there, and matrix(): as fp32.
  ConstAnyMatrix any_matrix() const;
  AnyMatrix any_matrix_to_write();
  ConstMatrix matrix() const;
  Matrix matrix_to_write();

  Device& device;
  std::int64_t rows, cols;
  float* buffer = nullptr;  // of count() fp32 numbers, or bf16 ones; null: none yet, or no longer
  bool is_bf16 = false;
  bool is_lasting = false;    // of a tensor that stays
  bool is_recorded = false;   // an op makes them, or has: nobody else makes a buffer
  bool is_pending = false;    // an op that is recorded will write them
  std::int32_t slot = -1;     // its place in the program that runs now
  std::uint64_t changes = 0;  // see Tensor::changes
  // What somebody made out of the values, as packed weights: never compared or copied. Its owner
  // checks `changes`.
  struct Derived {
    virtual ~Derived() = default;
  };
  std::unique_ptr<Derived> derived;
};

class Tensor {
 public:
  Tensor() = default;  // empty: no block, no values

  bool empty() const { return state_ == nullptr; }
  Device& device() const;  // not of an empty one
  const Shape& shape() const { return empty() ? kNoShape : state_->shape; }
  DType dtype() const { return empty() ? DType::kFp32 : state_->dtype; }
  std::string_view name() const { return empty() ? std::string_view() : state_->name; }
  std::int64_t count() const { return shape().count(); }
  std::uint64_t size_bytes() const;  // count × storage_bytes(dtype), before the allocator rounds it

  // Execute mode: count() floats, 64-byte aligned, contents unspecified after allocate. Dry mode,
  // a tensor in bf16: empty. A const Tensor gives a read-only span. Reading waits for
  // what is recorded.
  std::span<float> host();
  std::span<const float> host() const;
  // count() values of two bytes, in execute mode, of a tensor that was first touched this way.
  // Other tensors: empty.
  std::span<std::uint16_t> bf16();
  std::span<const std::uint16_t> bf16() const;
  // Whatever the buffer holds; NB_CHECK fails where there is none.
  ConstAnyMatrix any_matrix() const;
  // (leading(), last()) view of the host buffer; NB_CHECK fails where there is none.
  Matrix matrix();
  ConstMatrix matrix() const;
  // The values themselves, ready or not; null on a dry device.
  const std::shared_ptr<HostValues>& values() const { return empty() ? kNoValues : state_->values; }

  // Counts the calls of host() and matrix() that could change the values (those of a Tensor that is
  // not const). Write through what such a call gave at once: nobody notices a later write.
  std::uint64_t changes() const;

  // The same values without the block: what the framework would free, and the host still wants.
  Tensor values_only() const;
  // The same block with other values: what an op in place leaves. Readers of the old ones that are
  // recorded still see those.
  Tensor with_values(std::shared_ptr<HostValues> values) const;
  bool has_block() const { return !empty() && state_->block.held(); }
  const BlockHandle& block() const { return state_->block; }
  // True after an op whose compiled lowering computes its output again in backward: ops that would
  // keep this tensor for backward then keep nothing.
  bool is_recomputed() const { return !empty() && state_->is_recomputed; }

 private:
  friend class Device;
  friend class Tape;
  struct State {
    Device* device = nullptr;
    Shape shape;
    DType dtype = DType::kFp32;
    std::string name;
    BlockHandle block;
    std::shared_ptr<HostValues> values;
    bool is_recomputed = false;
    std::uint64_t tape = 0;  // that recorded the op which made it; 0: none
    std::int32_t node = -1;  // there
  };
  static const Shape kNoShape;
  static const std::shared_ptr<HostValues> kNoValues;

  // After what is recorded, where it could matter; null: no values. in_bf16: of a buffer that is
  // not there yet.
  HostValues* ready(bool in_bf16 = false) const;
  HostValues* to_write(bool in_bf16 = false);

  std::shared_ptr<State> state_;
};

}  // namespace nb
