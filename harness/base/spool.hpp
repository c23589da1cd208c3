// A sequence of plain values that is appended to and then walked, in order and as often as wanted.
// Up to kSpoolBlock bytes stay in memory; the rest is in one nameless temporary file of the process
// (TMPDIR, else /tmp), so that what a command holds does not grow with the number of its items.
// Where no such file can be written, all stays in memory. Copies share what is in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace nb {

inline constexpr std::size_t kSpoolBlock = std::size_t{64} << 10U;  // bytes

// At most kSpoolBlock bytes that were put aside. Never changes; any thread may read it.
class SpooledBlock {
 public:
  explicit SpooledBlock(std::span<const std::byte> bytes);
  SpooledBlock(const SpooledBlock&) = delete;
  SpooledBlock& operator=(const SpooledBlock&) = delete;
  ~SpooledBlock();
  // `bytes`: as many as were put aside. A file that cannot be read back is a CheckFailure.
  void read(std::span<std::byte> bytes) const;

 private:
  std::int64_t place_ = -1;           // in the file, in blocks; -1: in memory
  std::vector<std::byte> in_memory_;  // empty where it is in the file
};

template <class T>
class Spool {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kSpoolBlock);

 public:
  void push_back(const T& value) {
    tail_.push_back(value);
    if (tail_.size() < kBlockValues) return;
    blocks_.push_back(std::make_shared<const SpooledBlock>(std::as_bytes(std::span(tail_))));
    tail_.clear();
  }
  std::size_t size() const { return blocks_.size() * kBlockValues + tail_.size(); }
  bool empty() const { return size() == 0; }
  // take(std::span<const T>), in order.
  template <class Take>
  void for_each_block(const Take& take) const {
    if (!blocks_.empty()) {
      std::vector<T> block(kBlockValues);
      for (const auto& one : blocks_) {
        one->read(std::as_writable_bytes(std::span(block)));
        take(std::span<const T>(block));
      }
    }
    if (!tail_.empty()) take(std::span<const T>(tail_));
  }
  // take(const T&), in order.
  template <class Take>
  void for_each(const Take& take) const {
    for_each_block([&](std::span<const T> block) {
      for (const T& value : block) take(value);
    });
  }

 private:
  static constexpr std::size_t kBlockValues = kSpoolBlock / sizeof(T);
  std::vector<std::shared_ptr<const SpooledBlock>> blocks_;
  std::vector<T> tail_;  // fewer than kBlockValues
};

}  // namespace nb
