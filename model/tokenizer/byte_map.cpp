#include "model/tokenizer/byte_map.hpp"

#include <bit>
#include <cstring>

#include "harness/base/check.hpp"

namespace nb {
namespace {

// Tables stay at most half full.
std::size_t table_size(std::size_t expected) {
  return std::bit_ceil(expected * 2 < 16 ? std::size_t{16} : expected * 2);
}

std::uint64_t load(const char* data, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, data, size);
  return word;
}

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t h = bytes.size() * 0x9E3779B97F4A7C15ULL;
  const char* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; data += 8, left -= 8) {
    h = (h ^ load(data, 8)) * 0xD6E8FEB86659FD93ULL;
    h ^= h >> 32U;
  }
  if (left > 0) {
    h = (h ^ load(data, left)) * 0xD6E8FEB86659FD93ULL;
    h ^= h >> 32U;
  }
  h *= 0xD6E8FEB86659FD93ULL;
  return h ^ (h >> 29U);
}

ByteMap::ByteMap(std::size_t expected) : slots_(table_size(expected)) {}

std::uint32_t ByteMap::find(std::string_view key, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = static_cast<std::size_t>(hash) & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.value == kNone) return kNone;
    if (slot.hash == hash && slot.length == key.size() &&
        std::memcmp(slot.data, key.data(), key.size()) == 0)
      return slot.value;
  }
}

void ByteMap::insert(std::string_view key, std::uint64_t hash, std::uint32_t value) {
  NB_CHECK(key.size() < 0xFFFFFFFFU && value != kNone, "[byte_map] key or value too large");
  if ((size_ + 1) * 2 > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = static_cast<std::size_t>(hash) & mask;
  while (slots_[i].value != kNone) i = (i + 1) & mask;
  slots_[i] = {key.data(), static_cast<std::uint32_t>(key.size()), value, hash};
  ++size_;
}

void ByteMap::clear() {
  slots_.assign(slots_.size(), Slot{});
  size_ = 0;
}

void ByteMap::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.value == kNone) continue;
    std::size_t i = static_cast<std::size_t>(slot.hash) & mask;
    while (slots_[i].value != kNone) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

PairMap::PairMap(std::size_t expected) : slots_(table_size(expected)), mask_(slots_.size() - 1) {}

std::uint32_t& PairMap::at(std::uint32_t left, std::uint32_t right, std::uint32_t fresh) {
  if ((size_ + 1) * 2 > slots_.size()) grow();
  const std::uint64_t key = key_of(left, right);
  std::size_t i = mix(key) & mask_;
  while (slots_[i].value != kNone && slots_[i].key != key) i = (i + 1) & mask_;
  if (slots_[i].value == kNone) {
    slots_[i] = {key, fresh};
    ++size_;
  }
  return slots_[i].value;
}

void PairMap::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.value == kNone) continue;
    std::size_t i = mix(slot.key) & mask_;
    while (slots_[i].value != kNone) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

}  // namespace nb
