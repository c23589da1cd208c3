// Hash maps of the encoder's hot loop: byte strings to ids, and id pairs to merged ids. Open
// addressing, linear probing, never shrinks. Iteration does not exist, so no order can leak. Not
// thread-safe to write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nb {

// Mixes eight bytes at a time; only speed depends on its quality.
std::uint64_t hash_bytes(std::string_view bytes);

// The keys' bytes belong to the caller and outlive the map.
class ByteMap {
 public:
  explicit ByteMap(std::size_t expected = 16);
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  std::uint32_t find(std::string_view key, std::uint64_t hash) const;
  std::uint32_t find(std::string_view key) const { return find(key, hash_bytes(key)); }
  void insert(std::string_view key, std::uint64_t hash, std::uint32_t value);  // key is new
  void insert(std::string_view key, std::uint32_t value) { insert(key, hash_bytes(key), value); }
  std::size_t size() const { return size_; }
  void clear();

 private:
  struct Slot {
    const char* data = nullptr;
    std::uint32_t length = 0;
    std::uint32_t value = kNone;  // kNone: free
    std::uint64_t hash = 0;
  };
  void grow();
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

class PairMap {
 public:
  explicit PairMap(std::size_t expected = 16);
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  std::uint32_t find(std::uint32_t left, std::uint32_t right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = mix(key) & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].value;
      if (slots_[i].value == kNone) return kNone;
    }
  }
  // The value of the pair; `fresh` is stored first if there is none.
  std::uint32_t& at(std::uint32_t left, std::uint32_t right, std::uint32_t fresh);
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0xFFFFFFFFFFFFFFFFULL;
    std::uint32_t value = kNone;  // kNone: free
  };
  static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32U | right;
  }
  static std::size_t mix(std::uint64_t key) {
    const std::uint64_t product = key * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(product ^ (product >> 32U));
  }
  void grow();
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t size_ = 0;
};

}  // namespace nb
